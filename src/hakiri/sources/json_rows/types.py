"""Types of columns as people write them, such as `array<struct<sku:string>>`, and as Arrow has them.

| text                | Arrow        | takes from JSON                                                    |
|---------------------|--------------|--------------------------------------------------------------------|
| `bigint`, `int`     | int64, int32 | whole numbers in its range, without fraction or exponent           |
| `double`            | float64      | numbers; whole ones if a float64 is equal to them                  |
| `decimal(p,s)`      | decimal128   | numbers, and texts like `12.50`, if no digit is lost               |
| `boolean`           | bool         | true and false                                                     |
| `string`, `json`    | string       | texts as they are, everything else as its JSON text                |
| `date`              | date32       | texts like `2026-01-31`                                            |
| `timestamp`         | µs in UTC    | ISO 8601 texts; without an offset it is UTC, a date is its midnight |
| `binary`            | binary       | base64, in the standard alphabet and with its padding              |
| `struct<a:bigint>`  | struct       | objects; a name with signs in it stands in backticks               |
| `array<bigint>`     | list         | lists                                                              |
| `map<string,bigint>`| map          | objects, whatever their names                                      |

Null fits everywhere. Nothing else is ever converted: `"12"` is no bigint, and 1700000000 no timestamp.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hakiri.core.grammar.text import BadText, Reader
from hakiri.sources.contract import EXTRA_COLUMN

MOST_LEVELS = 32  # Arrow refuses to send types of more than 64; nobody reads a column of 32
TIMESTAMP = pa.timestamp("us", tz="UTC")
KIND = "column type"
HINT = "write a type like `bigint`, `timestamp`, `decimal(10,2)`, `array<string>` or `struct<a:bigint>`"
_MOST_DIGITS = 38
_PLAIN = MappingProxyType(
    {
        "bigint": pa.int64(),
        "int": pa.int32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "json": pa.string(),
        "date": pa.date32(),
        "timestamp": TIMESTAMP,
        "binary": pa.binary(),
    }
)
_NESTED = ("decimal", "struct", "array", "map")
_TYPE_WAS_EXPECTED = f"one of {', '.join((*_PLAIN, *_NESTED))}"
_ENDS_OF_NAME = frozenset(":,<>()` \t\n")
_BLANKS = " \t\n"


def parse_type(text: str) -> pa.DataType:
    """The Arrow type that the text names, in any case of letters; raises BadText with the position."""
    reader = Reader(KIND, text, hint=HINT)
    found = _read_type(reader, level=1)
    if not reader.is_at_end:
        raise reader.refusal("the end")
    return found


def declared_schema(columns: Mapping[str, str]) -> pa.Schema:
    """The schema of columns that are declared by name; raises BadText."""
    if EXTRA_COLUMN in columns:
        raise BadText(
            "column name",
            EXTRA_COLUMN,
            position=0,
            expected="a name that is not taken",
            hint="rename the column",
        )
    return pa.schema([pa.field(name, parse_type(text)) for name, text in columns.items()])


def type_text(kind: pa.DataType) -> str:
    """The type as people write it, or as Arrow does if it is none of ours."""
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{_name_text(field.name)}:{type_text(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{type_text(kind.value_type)}>"
    if pa.types.is_map(kind) and kind.key_type == pa.string():
        return f"map<string,{type_text(kind.item_type)}>"
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    plain = TIMESTAMP if is_moment(kind) else kind
    return next((text for text, known in _PLAIN.items() if known == plain), str(kind))


def is_moment(kind: pa.DataType) -> bool:
    """Whether it is a point in time, in microseconds; the zone says only how it is shown."""
    return bool(pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None)


def _name_text(name: str) -> str:
    is_plain = name and _ENDS_OF_NAME.isdisjoint(name)
    return name if is_plain else f"`{name.replace('`', '``')}`"


def _read_type(reader: Reader, *, level: int) -> pa.DataType:
    _skip_blanks(reader)
    start = reader.position
    if level > MOST_LEVELS:
        raise reader.refusal(f"at most {MOST_LEVELS} levels")
    name = reader.take_letters().lower()
    found: Any
    if name in _PLAIN:
        found = _PLAIN[name]
    elif name == "decimal":
        found = _read_decimal(reader)
    elif name == "array":
        _expect(reader, "<")
        found = pa.list_(_read_type(reader, level=level + 1))
        _expect(reader, ">")
    elif name == "map":
        found = _read_map(reader, level=level)
    elif name == "struct":
        found = _read_struct(reader, level=level)
    else:
        raise reader.refusal(_TYPE_WAS_EXPECTED, at=start if name else None)
    _skip_blanks(reader)
    return found


def _read_decimal(reader: Reader) -> pa.DataType:
    _expect(reader, "(")
    precision = _read_number(reader, smallest=1, largest=_MOST_DIGITS)
    _expect(reader, ",")
    scale = _read_number(reader, smallest=0, largest=precision)
    _expect(reader, ")")
    return pa.decimal128(precision, scale)


def _read_number(reader: Reader, *, smallest: int, largest: int) -> int:
    _skip_blanks(reader)
    start = reader.position
    digits = reader.take_digits(at_most=len(str(_MOST_DIGITS)))
    if not digits:
        raise reader.refusal("a number")
    if not smallest <= int(digits) <= largest:
        raise reader.refusal(f"a number from {smallest} to {largest}", at=start)
    _skip_blanks(reader)
    return int(digits)


def _read_map(reader: Reader, *, level: int) -> pa.DataType:
    _expect(reader, "<")
    _skip_blanks(reader)
    start = reader.position
    if reader.take_letters().lower() != "string":
        raise reader.refusal("string, since names in JSON are texts", at=start)
    _skip_blanks(reader)
    _expect(reader, ",")
    found = pa.map_(pa.string(), _read_type(reader, level=level + 1))
    _expect(reader, ">")
    return found


def _read_struct(reader: Reader, *, level: int) -> pa.DataType:
    _expect(reader, "<")
    fields: dict[str, pa.DataType] = {}
    while True:
        _skip_blanks(reader)
        start = reader.position
        name = _read_name(reader)
        if name in fields:
            raise reader.refusal("a name that is not taken", at=start)
        _skip_blanks(reader)
        _expect(reader, ":")
        fields[name] = _read_type(reader, level=level + 1)
        if reader.take_character(">"):
            return pa.struct(list(fields.items()))
        if not reader.take_character(","):
            raise reader.refusal("`,` or `>`")


def _read_name(reader: Reader) -> str:
    start = reader.position
    if not reader.take_character("`"):
        while not reader.is_at_end and reader.next_character not in _ENDS_OF_NAME:
            reader.position += 1
        if reader.position == start:
            raise reader.refusal("a name")
        return reader.text[start : reader.position]
    while True:
        while not reader.is_at_end and reader.next_character != "`":
            reader.position += 1
        if not reader.take_character("`"):
            raise reader.refusal("a closing backtick")
        if not reader.take_character("`"):  # two of them stand for one in the name
            return reader.text[start + 1 : reader.position - 1].replace("``", "`")


def _expect(reader: Reader, sign: str) -> None:
    if not reader.take_character(sign):
        raise reader.refusal(f"`{sign}`")


def _skip_blanks(reader: Reader) -> None:
    while reader.take_character(_BLANKS):
        pass
