"""From the body of an answer to rows."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hakiri.core.nearest import nearest
from hakiri.sources.json_rows.errors import NoRecords
from hakiri.sources.json_rows.paths import field_path, names_in
from hakiri.sources.json_rows.settling import settle
from hakiri.sources.json_rows.texts import DIGITS_OF_DOUBLE, parse_json

_HINT = "check the record path; it names the fields on the way to the list of records, as in `data.items`"
_WORDS: Mapping[type, str] = MappingProxyType(
    {
        type(None): "null",
        bool: "true or false",
        int: "a number",
        float: "a number",
        Decimal: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
)


def settle_page(
    page: bytes, schema: pa.Schema, *, record_path: str = "", with_extra: bool = True
) -> pa.RecordBatch:
    """The records of a JSON document as rows; raises what `parse_json`, `records_at` and `settle` raise."""
    document = parse_json(page, keep_digits=needs_digits(schema))
    return settle(records_at(document, record_path), schema, with_extra=with_extra)


def needs_digits(schema: pa.Schema) -> bool:
    """Whether a page must be parsed with `keep_digits`: a decimal column holds more than a float64 does."""
    return any(_needs_digits(field.type) for field in schema)


def records_at(document: Any, path: str) -> list[dict[str, Any]]:
    """The records at a dotted path (see `paths`); the empty path is the document itself.

    They are a list of objects, or one object that counts as one record, or null for none. Raises NoRecords
    if they are anything else, or if the path leads nowhere.
    """
    found, walked = document, None
    for name in names_in(path):
        if type(found) is not dict:
            place = "the document" if walked is None else f"`{walked}`"
            raise NoRecords(path, f"{place} is {_WORDS[type(found)]}, not an object", hint=_HINT)
        if name not in found:
            meant = nearest(name, found)
            hint = f"did you mean `{field_path(walked, meant)}`?" if meant else _HINT
            raise NoRecords(path, f"there is no `{field_path(walked, name)}`", hint=hint)
        found, walked = found[name], field_path(walked, name)
    if found is None:
        return []
    if type(found) is dict:
        return [found]
    if type(found) is not list:
        raise NoRecords(path, f"it is {_WORDS[type(found)]}, not a list of objects", hint=_HINT)
    if not set(map(type, found)) <= {dict}:
        number, item = next((n, item) for n, item in enumerate(found, start=1) if type(item) is not dict)
        raise NoRecords(path, f"item {number} of the list is {_WORDS[type(item)]}, not an object", hint=_HINT)
    return found


def _needs_digits(kind: pa.DataType) -> bool:
    if pa.types.is_decimal128(kind):
        return bool(kind.precision > DIGITS_OF_DOUBLE)
    return any(_needs_digits(kind.field(number).type) for number in range(kind.num_fields))
