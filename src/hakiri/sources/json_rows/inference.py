"""The columns of JSON records of which nothing is known but a sample.

Objects are structs, lists are lists, texts stay texts, whole numbers are int64 and others float64. Fields
keep their names, and the order in which they were first seen. What a sample leaves open is closed by rule,
since neither Parquet nor Spark can write a column without a type:

- a field that was only ever null, and an object that never had a field, are `string` and hold JSON text;
- a list that never had an item with a type is `array<string>`;
- whole numbers beyond 64 bits, and numbers beyond a float64 such as 1e400, are `string`: their digits;
- what is nested deeper than 32 levels is `string` and holds JSON text.

A field with several types is settled by `MixedTypes`:

- `widen`: whole numbers and others are `double` where that is exact (none of the whole numbers is beyond 2 to
  the power of 53), and whatever else clashes is `string`: texts as they are, everything else as JSON text;
- `string`: every clash is `string`;
- `quarantine`: the type that was seen first stays, and what does not fit it goes to the column `_extra`.

Null clashes with nothing. But for the order of fields, and for `quarantine`, the order of records is of no
consequence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from hakiri.sources.contract import EXTRA_COLUMN
from hakiri.sources.json_rows.types import MOST_LEVELS

MixedTypes: TypeAlias = Literal["widen", "string", "quarantine"]

_LARGEST_EXACT = 2**53
_SMALLEST_INT64, _LARGEST_INT64 = -(2**63), 2**63 - 1


class Kind(Enum):
    """What a value in JSON can be; null is nothing."""

    FLAG = "flag"
    WHOLE = "whole number that a float64 holds"
    LONG = "whole number that an int64 holds"
    NUMBER = "number with a fraction"
    HUGE = "number that neither holds"
    TEXT = "text"
    OBJECT = "object"
    LIST = "list"


_KIND_OF_CLASS: Mapping[type, Kind] = MappingProxyType(
    {bool: Kind.FLAG, float: Kind.NUMBER, str: Kind.TEXT, dict: Kind.OBJECT, list: Kind.LIST}
)
_TYPE_OF_KIND: Mapping[Kind, pa.DataType] = MappingProxyType(
    {
        Kind.FLAG: pa.bool_(),
        Kind.WHOLE: pa.int64(),
        Kind.LONG: pa.int64(),
        Kind.NUMBER: pa.float64(),
        Kind.HUGE: pa.string(),
        Kind.TEXT: pa.string(),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What was seen in one place of the records."""

    first: Kind | None = None
    kinds: frozenset[Kind] = frozenset()
    fields: Mapping[str, Shape] = field(default_factory=dict)
    items: Shape | None = None

    def merge(self, later: Shape) -> Shape:
        return Shape(
            first=self.first or later.first,
            kinds=self.kinds | later.kinds,
            fields={
                name: _merged(self.fields.get(name), later.fields.get(name))
                for name in dict.fromkeys((*self.fields, *later.fields))
            },
            items=_merged(self.items, later.items) if self.items or later.items else None,
        )


@dataclass(frozen=True, slots=True)
class SchemaSketch:
    """What is known of records so far. Sketches of several pages, joined in their order, are that of all."""

    record: Shape = field(default_factory=Shape)

    def add(self, records: Iterable[dict[str, Any]]) -> SchemaSketch:
        """The sketch of these records after those already seen."""
        return SchemaSketch(self.record.merge(_shape_of(list(records), level=0)))

    def merge(self, later: SchemaSketch) -> SchemaSketch:
        return SchemaSketch(self.record.merge(later.record))

    def schema(self, mixed: MixedTypes = "widen", *, declared: pa.Schema | None = None) -> pa.Schema:
        """The columns. Declared ones have their declared type, and stand last if they were not seen.

        A field that is called `_extra` gets no column of that name: it is kept inside of the real one.
        """
        types = {name: _type_of(shape, mixed) for name, shape in self.record.fields.items()}
        if declared is not None:
            types |= {column.name: column.type for column in declared}
        return pa.schema([pa.field(name, kind) for name, kind in types.items() if name != EXTRA_COLUMN])


def infer_schema(
    records: Iterable[dict[str, Any]], *, mixed: MixedTypes = "widen", declared: pa.Schema | None = None
) -> pa.Schema:
    """The columns of these records, all of which fit them, unless `mixed` is `quarantine`."""
    return SchemaSketch().add(records).schema(mixed, declared=declared)


def _merged(earlier: Shape | None, later: Shape | None) -> Shape:
    if earlier is None or later is None:
        return earlier or later or Shape()
    return earlier.merge(later)


def _shape_of(values: Sequence[Any], *, level: int) -> Shape:
    by_class = _by_class(values)
    kinds = list(dict.fromkeys(chain.from_iterable(_kinds_of(cls, found) for cls, found in by_class.items())))
    if level >= MOST_LEVELS:
        return Shape(first=kinds[0] if kinds else None, kinds=frozenset(kinds))
    objects, lists = by_class.get(dict, ()), by_class.get(list)
    return Shape(
        first=kinds[0] if kinds else None,
        kinds=frozenset(kinds),
        fields={
            name: _shape_of([fields[name] for fields in objects if name in fields], level=level + 1)
            for name in dict.fromkeys(chain.from_iterable(objects))
        },
        items=None if lists is None else _shape_of(list(chain.from_iterable(lists)), level=level + 1),
    )


def _by_class(values: Sequence[Any]) -> dict[type, Sequence[Any]]:
    """The values that are not null, by the class they are of, in the order in which the classes appear."""
    classes = dict.fromkeys(map(type, values))
    if len(classes) == 1:
        found: dict[type, Sequence[Any]] = dict.fromkeys(classes, values)
    else:
        found = {cls: [value for value in values if type(value) is cls] for cls in classes}
    found.pop(type(None), None)
    return found


def _kinds_of(cls: type, values: Sequence[Any]) -> Iterable[Kind]:
    """The kinds of values of one class, that of the first value first."""
    if cls is int:
        # A look at both ends spares a look at each.
        is_small = min(values) >= -_LARGEST_EXACT and max(values) <= _LARGEST_EXACT
        return (Kind.WHOLE,) if is_small else dict.fromkeys(map(_kind_of_whole, values))
    if cls is Decimal:
        return dict.fromkeys(map(_kind_of_decimal, values))
    return (_KIND_OF_CLASS[cls],)


def _kind_of_whole(number: int) -> Kind:
    if -_LARGEST_EXACT <= number <= _LARGEST_EXACT:
        return Kind.WHOLE
    return Kind.LONG if _SMALLEST_INT64 <= number <= _LARGEST_INT64 else Kind.HUGE


def _kind_of_decimal(number: Decimal) -> Kind:
    is_whole = number.as_tuple().exponent == 0
    return Kind.HUGE if is_whole or math.isinf(float(number)) else Kind.NUMBER


def _type_of(shape: Shape, mixed: MixedTypes) -> pa.DataType:
    if shape.first is None:
        return pa.string()
    types = {kind: _type_of_kind(kind, shape, mixed) for kind in shape.kinds}
    if mixed == "quarantine" or len(set(types.values())) == 1:
        return types[shape.first]
    if mixed == "widen" and shape.kinds == {Kind.WHOLE, Kind.NUMBER}:
        return pa.float64()
    return pa.string()


def _type_of_kind(kind: Kind, shape: Shape, mixed: MixedTypes) -> pa.DataType:
    if kind is Kind.OBJECT:
        types = {name: _type_of(field, mixed) for name, field in shape.fields.items()}
        return pa.struct(list(types.items())) if types else pa.string()
    if kind is Kind.LIST:
        return pa.list_(pa.string() if shape.items is None else _type_of(shape.items, mixed))
    return _TYPE_OF_KIND[kind]
