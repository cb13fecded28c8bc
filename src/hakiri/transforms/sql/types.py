"""Spark's names of types (`bigint`, `array<struct<a: int>>`) as the types of a plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.nodes import messages
from hakiri.transforms.sql.tokens import Kind

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import DataType

_DIGITS = re.compile(r"[0-9]{1,9}")
_SIMPLE = {
    "BIGINT": "long",
    "BINARY": "binary",
    "BOOLEAN": "boolean",
    "BYTE": "byte",
    "DATE": "date",
    "DOUBLE": "double",
    "FLOAT": "float",
    "INT": "integer",
    "INTEGER": "integer",
    "LONG": "long",
    "REAL": "float",
    "SHORT": "short",
    "SMALLINT": "short",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_LTZ": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "TINYINT": "byte",
    "VARIANT": "variant",
    "VOID": "null",
}
_DECIMALS = frozenset({"DEC", "DECIMAL", "NUMERIC"})
_TEXTS = {"CHAR": "char", "CHARACTER": "char", "VARCHAR": "var_char"}
MOST_DIGITS = 38
_DEFAULT_DIGITS = 10
_TIME_DIGITS = 6
YEAR_MONTH_FIELDS = ("YEAR", "MONTH")
DAY_TIME_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")


def read_type(cursor: Cursor) -> DataType:
    """The type that begins here."""
    if not cursor.at_name():
        cursor.unexpected("a type")
    cursor.deeper()
    token = cursor.take()
    made: DataType = messages().DataType()
    if token.word in _SIMPLE:
        getattr(made, _SIMPLE[token.word]).SetInParent()
        if cursor.at_symbol("("):
            cursor.fail(f"`{token.text}` takes no length", "leave out the parentheses")
    elif token.word == "STRING":
        made.string.collation = "UTF8_BINARY"
        if cursor.at_word("COLLATE"):
            cursor.fail("collations are not supported in types", "write `string`")
    elif token.word in _DECIMALS:
        _set_decimal(cursor, made)
    elif token.word in _TEXTS:
        cursor.expect_symbol("(")
        getattr(made, _TEXTS[token.word]).length = _whole_number(cursor)
        cursor.expect_symbol(")")
    elif token.word == "TIME":
        made.time.precision = _in_parentheses(cursor, _TIME_DIGITS)
    elif token.word == "INTERVAL":
        _set_interval(cursor, made)
    elif token.word in {"ARRAY", "MAP", "STRUCT"}:
        _set_nested(cursor, made, token.word)
    else:
        cursor.fail(
            f"`{token.value}` is not a type", "name a type of Spark's, such as `string` or `bigint`", token
        )
    cursor.shallower()
    return made


def _set_decimal(cursor: Cursor, made: DataType) -> None:
    precision, scale = _DEFAULT_DIGITS, 0
    if cursor.accept_symbol("("):
        token = cursor.token
        precision = _whole_number(cursor)
        if cursor.accept_symbol(","):
            scale = _whole_number(cursor)
        cursor.expect_symbol(")")
        if precision > MOST_DIGITS or scale > precision:
            cursor.fail(
                f"`decimal({precision}, {scale})` is not possible",
                f"give at most {MOST_DIGITS} digits, and at most as many behind the point",
                token,
            )
    made.decimal.scale, made.decimal.precision = scale, precision


def _set_interval(cursor: Cursor, made: DataType) -> None:
    fields = YEAR_MONTH_FIELDS if cursor.at_word(*YEAR_MONTH_FIELDS) else DAY_TIME_FIELDS
    first = cursor.accept_word(*fields)
    if not first:
        made.calendar_interval.SetInParent()
        return
    token = cursor.token
    last = cursor.expect_word(*fields) if cursor.accept_word("TO") else first
    start, end = fields.index(first), fields.index(last)
    if end < start or (last == first and cursor.before() is not token and token.word == "TO"):
        cursor.fail(f"an interval cannot go from {first} to {last}", "name the larger unit first", token)
    kind = made.year_month_interval if fields is YEAR_MONTH_FIELDS else made.day_time_interval
    kind.start_field, kind.end_field = start, end


def _set_nested(cursor: Cursor, made: DataType, word: str) -> None:
    if word == "STRUCT" and cursor.accept_symbol("<>"):
        made.struct.SetInParent()
        return
    cursor.expect_symbol("<")
    if word == "ARRAY":
        made.array.element_type.CopyFrom(read_type(cursor))
        made.array.contains_null = True
    elif word == "MAP":
        made.map.key_type.CopyFrom(read_type(cursor))
        cursor.expect_symbol(",")
        made.map.value_type.CopyFrom(read_type(cursor))
        made.map.value_contains_null = True
    else:
        made.struct.SetInParent()
        while not cursor.at_symbol(">"):
            _add_field(cursor, made)
            if not cursor.accept_symbol(","):
                break
    cursor.expect_symbol(">")


def _add_field(cursor: Cursor, made: DataType) -> None:
    name = cursor.expect_name("a field's name")
    cursor.accept_symbol(":")
    field = made.struct.fields.add(name=name)
    field.data_type.CopyFrom(read_type(cursor))
    field.nullable = not cursor.accept_words("NOT", "NULL")
    if cursor.at_word("COMMENT"):
        cursor.fail("comments are not supported in types", "remove the comment")


def _in_parentheses(cursor: Cursor, default: int) -> int:
    if not cursor.accept_symbol("("):
        return default
    token, number = cursor.token, _whole_number(cursor)
    cursor.expect_symbol(")")
    if number > _TIME_DIGITS:
        cursor.fail(f"a time has at most {_TIME_DIGITS} digits", f"write `time({_TIME_DIGITS})`", token)
    return number


def _whole_number(cursor: Cursor) -> int:
    if cursor.token.kind is not Kind.NUMBER or not _DIGITS.fullmatch(cursor.token.text):
        cursor.unexpected("a whole number")
    return int(cursor.take().text)
