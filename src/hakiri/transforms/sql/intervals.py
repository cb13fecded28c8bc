"""Interval literals: `INTERVAL 3 DAYS`, `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '1 02' DAY TO HOUR`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.nodes import expression
from hakiri.transforms.sql.tokens import Kind, Token
from hakiri.transforms.sql.types import DAY_TIME_FIELDS, YEAR_MONTH_FIELDS

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

_SECOND = 1_000_000
_MONTHS = {"YEAR": 12, "MONTH": 1}
_MICROSECONDS = {
    "WEEK": 7 * 86_400 * _SECOND,
    "DAY": 86_400 * _SECOND,
    "HOUR": 3_600 * _SECOND,
    "MINUTE": 60 * _SECOND,
    "SECOND": _SECOND,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_FIELD = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_UNITS = (*YEAR_MONTH_FIELDS, *_MICROSECONDS)
_LONGEST_WORD = 24

# What stands between two units in a string such as '1 02:03:04.5', and how large each may be.
_MARKS = {"YEAR": "-", "DAY": " ", "HOUR": ":", "MINUTE": ":"}
_LIMITS = {"MONTH": 11, "HOUR": 23, "MINUTE": 59, "SECOND": 59}
_HINT = "write it as `INTERVAL 3 DAYS` or `INTERVAL '1-2' YEAR TO MONTH`"


def at_interval(cursor: Cursor) -> bool:
    following = cursor.ahead()
    is_sign = following.kind is Kind.SYMBOL and following.text in {"+", "-"}
    value = cursor.ahead(2) if is_sign else following
    return cursor.at_word("INTERVAL") and value.kind in {Kind.NUMBER, Kind.STRING}


def read_interval(cursor: Cursor) -> Expression:
    """The literal that begins with the word INTERVAL."""
    start = cursor.take()
    if cursor.token.kind is Kind.STRING and _unit(cursor.ahead()) is None:
        return _from_words(cursor, cursor.take())
    sign, value = _signed_value(cursor)
    unit = _unit(cursor.token) or cursor.unexpected("a unit such as `DAY`")
    cursor.take()
    if cursor.accept_word("TO"):
        last = _unit(cursor.token)
        if last is None:
            cursor.unexpected("a unit such as `DAY`")
        cursor.take()
        return _from_pattern(cursor, value, sign, unit, last)
    parts = [(sign, value, unit)]
    while cursor.token.kind in {Kind.NUMBER, Kind.STRING} or cursor.at_symbol("+", "-"):
        if not at_value(cursor):
            break
        sign, value = _signed_value(cursor)
        following = _unit(cursor.token) or cursor.unexpected("a unit such as `DAY`")
        cursor.take()
        parts.append((sign, value, following))
    return _sum(cursor, start, [(sign, value.value, unit) for sign, value, unit in parts])


def at_value(cursor: Cursor) -> bool:
    """Whether a number and a unit follow, and not, after the interval, an operator and something else."""
    offset = 1 if cursor.at_symbol("+", "-") else 0
    is_value = cursor.ahead(offset).kind in {Kind.NUMBER, Kind.STRING}
    return is_value and _unit(cursor.ahead(offset + 1)) is not None


def negated(node: Expression) -> Expression | None:
    """The same interval backwards; None if the node is no interval literal."""
    kind = node.literal.WhichOneof("literal_type") if node.HasField("literal") else None
    if kind not in {"day_time_interval", "year_month_interval"}:
        return None
    turned = expression()
    turned.CopyFrom(node)
    setattr(turned.literal, kind, -getattr(node.literal, kind))
    return turned


def _unit(token: Token) -> str | None:
    word = token.word
    if word in _UNITS:
        return word
    return word[:-1] if word.endswith("S") and word[:-1] in _UNITS else None


def _signed_value(cursor: Cursor) -> tuple[int, Token]:
    sign = 1
    if cursor.at_symbol("+", "-"):
        sign = -1 if cursor.take().text == "-" else 1
    if cursor.token.kind not in {Kind.NUMBER, Kind.STRING}:
        cursor.unexpected("a number")
    return sign, cursor.take()


def _from_words(cursor: Cursor, token: Token) -> Expression:
    words = token.value.upper().split()
    if words[:1] == ["INTERVAL"]:
        del words[0]
    parts = []
    for number, unit in zip(words[::2], words[1::2], strict=False):
        singular = unit.removesuffix("S") if unit.removesuffix("S") in _UNITS else unit
        parts.append((1, number, singular))
    if len(words) % 2 or not words or any(unit not in _UNITS for _, _, unit in parts):
        cursor.fail(f"`{token.value[:_LONGEST_WORD]}` is no interval", _HINT, token)
    return _sum(cursor, token, parts)


def _sum(cursor: Cursor, at: Token, parts: list[tuple[int, str, str]]) -> Expression:
    units = [unit for _, _, unit in parts]
    is_months = all(unit in _MONTHS for unit in units)
    if not is_months and any(unit in _MONTHS for unit in units):
        cursor.fail(
            "an interval cannot have months and days at once", "add two intervals one after the other", at
        )
    total = 0
    for sign, text, unit in parts:
        number = text.strip()
        if not _NUMBER.fullmatch(number) or ("." in number and unit != "SECOND"):
            cursor.fail(f"`{text[:_LONGEST_WORD]}` is no number of {unit.lower()}s", _HINT, at)
        # Spark cuts digits behind the microsecond off.
        total += sign * int(Decimal(number) * (_MONTHS if is_months else _MICROSECONDS)[unit])
    return _literal(cursor, at, total, [_FIELD.get(unit, unit) for unit in units])


def _from_pattern(cursor: Cursor, value: Token, sign: int, first: str, last: str) -> Expression:
    fields = YEAR_MONTH_FIELDS if first in YEAR_MONTH_FIELDS else DAY_TIME_FIELDS
    if first not in fields or last not in fields or fields.index(first) >= fields.index(last):
        cursor.fail(f"an interval cannot go from {first} to {last}", "name the larger unit first", value)
    units = fields[fields.index(first) : fields.index(last) + 1]
    found = re.fullmatch("".join(_pattern(units)), value.value.strip(), re.ASCII)
    if value.kind is not Kind.STRING or found is None:
        cursor.fail(f"`{value.text[:_LONGEST_WORD]}` is no interval from {first} to {last}", _HINT, value)
    if found[1] == "-":
        sign = -sign
    total = 0
    for number, unit in zip(found.groups()[1:], units, strict=True):
        if unit != first and Decimal(number) >= _LIMITS[unit] + 1:
            cursor.fail(f"`{number}` is too large for {unit.lower()}s", _HINT, value)
        total += int(Decimal(number) * (_MONTHS if fields is YEAR_MONTH_FIELDS else _MICROSECONDS)[unit])
    return _literal(cursor, value, sign * total, list(units))


def _pattern(units: tuple[str, ...]) -> Iterator[str]:
    yield "([+-])?"
    for unit in units:
        yield r"(\d{1,2}(?:\.\d{1,9})?)" if unit == "SECOND" and len(units) > 1 else r"(\d{1,9})"
        if unit != units[-1]:
            yield _MARKS[unit]


def _literal(cursor: Cursor, at: Token, total: int, units: list[str]) -> Expression:
    is_months = units[0] in YEAR_MONTH_FIELDS
    fields = YEAR_MONTH_FIELDS if is_months else DAY_TIME_FIELDS
    bits = 32 if is_months else 64
    if not -(1 << (bits - 1)) <= total < 1 << (bits - 1):
        cursor.fail("the interval is too long", "write a shorter one", at)
    node = expression()
    start, end = min(map(fields.index, units)), max(map(fields.index, units))
    if is_months:
        node.literal.year_month_interval = total
    else:
        node.literal.day_time_interval = total
    # Spark takes a literal without a type for one of all units, as DataFrames send it.
    if end - start < len(fields) - 1:
        made = node.literal.data_type
        kind = made.year_month_interval if is_months else made.day_time_interval
        kind.start_field, kind.end_field = start, end
    return node
