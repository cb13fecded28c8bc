"""JSON Schemas as taps write them, as columns.

| schema                                          | Arrow                                             |
|-------------------------------------------------|---------------------------------------------------|
| `integer`                                       | int64; decimal if its bounds say that it is wider |
| `number`                                        | float64                                           |
| `number` with `multipleOf`, `singer.decimal`    | decimal128                                        |
| `boolean`                                       | bool                                              |
| `string`                                        | string                                            |
| `string` of format `date-time`, `date`          | timestamp in UTC, date32; other formats: string   |
| `object` with `properties`                      | struct                                            |
| `object` with a schema as `additionalProperties`| map                                               |
| `array`                                         | list; of texts, if nothing is said of its items   |
| anything else                                   | string that holds JSON text                       |

A null beside other types says nothing, since every column may be null. Several types, in a list or by
`anyOf`, `oneOf` and `allOf`, are one if they are equal, float64 if they are numbers, a struct of all fields
if they are objects, and string otherwise. A schema never makes a row fail: misfits go to `_extra`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from hakiri.sources.contract import EXTRA_COLUMN
from hakiri.sources.json_rows.types import MOST_LEVELS, TIMESTAMP

MOST_DIGITS = 38
# What a decimal is of which neither bounds nor places are known, as in Spark.
USUAL_PLACES = 18
_INT64 = (-(2**63), 2**63 - 1)
_DECIMAL_FORMATS = frozenset({"singer.decimal", "x-singer.decimal"})
_FORMATS: Mapping[str, pa.DataType] = {"date-time": TIMESTAMP, "date": pa.date32()}
_JSON_TEXT = pa.string()
_BRANCHES = ("anyOf", "oneOf", "allOf")


def columns_of(schema: Any, wanted: Iterable[str] | None = None) -> pa.Schema:
    """The columns of a stream's schema, in its order; with `wanted`, those of these names alone.

    Names that differ in case alone would be one column to Spark: the first has it, the others go to `_extra`.
    """
    return pa.schema(_Reader(schema).columns(None if wanted is None else frozenset(wanted)))


class _Part(NamedTuple):
    """A schema without references and choices, and the references that led to it."""

    schema: Mapping[str, Any]
    followed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the schemas inside one document, to which references point."""

    document: Any

    def columns(self, wanted: frozenset[str] | None) -> list[pa.Field]:
        parts = self._parts(self.document, ())
        return [
            field
            for field in self._fields(parts, level=0)
            if field.name != EXTRA_COLUMN and (wanted is None or field.name in wanted)
        ]

    def _fields(self, parts: Sequence[_Part], *, level: int) -> list[pa.Field]:
        """The properties of all these schemas; one that several of them have is any of what they say."""
        properties: dict[str, list[_Part]] = {}
        for part in parts:
            for name, schema in _properties(part.schema).items():
                properties.setdefault(name, []).extend(self._parts(schema, part.followed))
        fields: dict[str, pa.Field] = {}
        for name, found in properties.items():
            if name.casefold() not in fields:
                fields[name.casefold()] = pa.field(name, self._type_of(found, level=level + 1))
        return list(fields.values())

    def _type_of(self, parts: Sequence[_Part], *, level: int) -> pa.DataType:
        if level > MOST_LEVELS:
            return _JSON_TEXT
        types = [kind for part in parts for kind in self._types_in(part, level)]
        structs = [part for part in parts if _properties(part.schema)]
        if structs:
            types.append(pa.struct(self._fields(structs, level=level)))
        return _joined(types)

    def _parts(self, schema: Any, followed: tuple[str, ...]) -> list[_Part]:
        """All the schemas that a schema may be, or is made of."""
        if not isinstance(schema, Mapping):
            return []
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in followed:
                return []  # it holds itself, so it has no end
            return self._parts(self._referred(reference), (*followed, reference))
        branches = [branch for key in _BRANCHES for branch in _listed(schema.get(key))]
        found = [part for branch in branches for part in self._parts(branch, followed)]
        return found if branches and not _properties(schema) else [_Part(schema, followed), *found]

    def _referred(self, reference: str) -> Any:
        """What a reference inside the document points to; None for one that leads out of it, or nowhere."""
        here = self.document if reference.startswith("#") else None
        for step in reference.removeprefix("#").split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            here = here.get(name) if isinstance(here, Mapping) else None
        return here

    def _types_in(self, part: _Part, level: int) -> list[pa.DataType]:
        """The types that a schema names, but for null and for objects whose properties it knows."""
        known = {"null", "object"} if _properties(part.schema) else {"null"}
        said = [name for name in _listed(part.schema.get("type")) if isinstance(name, str)]
        names = [name for name in said if name not in known]
        return [self._plain_type(name, part, level) for name in names]

    def _plain_type(self, name: str, part: _Part, level: int) -> pa.DataType:
        match name:
            case "boolean":
                kind = pa.bool_()
            case "integer":
                kind = _whole_type(part.schema)
            case "number":
                kind = _number_type(part.schema)
            case "string":
                kind = _text_type(part.schema)
            case "object":
                kind = self._map_type(part, level)
            case "array":
                # A list of schemas is one for each place.
                items = _listed(part.schema.get("items"))
                kind = pa.list_(_joined([self._inner(item, part, level) for item in items]))
            case _:
                kind = _JSON_TEXT
        return kind

    def _map_type(self, part: _Part, level: int) -> pa.DataType:
        others = part.schema.get("additionalProperties")
        if isinstance(others, Mapping) and others:
            return pa.map_(pa.string(), self._inner(others, part, level))
        return _JSON_TEXT

    def _inner(self, schema: Any, part: _Part, level: int) -> pa.DataType:
        return self._type_of(self._parts(schema, part.followed), level=level + 1)


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _joined(types: Sequence[pa.DataType]) -> pa.DataType:
    distinct = list(dict.fromkeys(types))
    if len(distinct) == 1:
        return distinct[0]
    if distinct and set(distinct) <= {pa.int64(), pa.float64()}:
        return pa.float64()
    return _JSON_TEXT


def _whole_type(schema: Mapping[str, Any]) -> pa.DataType:
    low, high = _bound(schema, "Minimum"), _bound(schema, "Maximum")
    is_wide = (low is not None and low.value < _INT64[0]) or (high is not None and high.value > _INT64[1])
    return _decimal(_digits_before_point(low, high), 0) if is_wide else pa.int64()


def _number_type(schema: Mapping[str, Any]) -> pa.DataType:
    step = _number(schema.get("multipleOf"))
    if step is None or step <= 0:
        return _decimal_by_format(schema) if schema.get("format") in _DECIMAL_FORMATS else pa.float64()
    exponent = step.normalize().as_tuple().exponent
    places = max(0, -exponent) if isinstance(exponent, int) else 0
    return _decimal(_digits_before_point(_bound(schema, "Minimum"), _bound(schema, "Maximum")), places)


def _text_type(schema: Mapping[str, Any]) -> pa.DataType:
    form = schema.get("format")
    if form in _DECIMAL_FORMATS:
        return _decimal_by_format(schema)
    return _FORMATS.get(form, pa.string()) if isinstance(form, str) else pa.string()


def _decimal_by_format(schema: Mapping[str, Any]) -> pa.DataType:
    precision, scale = schema.get("precision"), schema.get("scale")
    if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision:
        return _decimal(precision - scale, scale)
    if schema.get("multipleOf") is not None:
        return _number_type({**schema, "format": None})
    return _decimal(None, None)


def _decimal(digits: int | None, places: int | None) -> pa.DataType:
    """A decimal with so many digits before and after the point, or the widest that leaves room for both."""
    if places is None:
        places = USUAL_PLACES
    if digits is not None and digits + places <= MOST_DIGITS:
        return pa.decimal128(max(1, digits + places), places)
    # Half of the digits stay before the point, if it is not known how many are needed or they are too many.
    return pa.decimal128(MOST_DIGITS, min(places, USUAL_PLACES))


class _Bound(NamedTuple):
    value: Decimal
    is_exclusive: bool

    @property
    def digits(self) -> int:
        """How many digits the numbers inside of it have before the point."""
        is_power_of_ten = self.value.normalize().as_tuple().digits == (1,)
        return max(0, self.value.adjusted() + (0 if self.is_exclusive and is_power_of_ten else 1))


def _bound(schema: Mapping[str, Any], name: Literal["Minimum", "Maximum"]) -> _Bound | None:
    plain, exclusive = _number(schema.get(name.lower())), schema.get(f"exclusive{name}")
    if (alone := _number(exclusive)) is not None:
        return _Bound(alone, is_exclusive=True)
    # In older drafts it is a flag beside the bound.
    return None if plain is None else _Bound(plain, is_exclusive=exclusive is True)


def _digits_before_point(low: _Bound | None, high: _Bound | None) -> int | None:
    return None if low is None or high is None else max(low.digits, high.digits)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]
