"""Strings, binaries, dates and times as literals of a plan."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.nodes import converted, expression, messages
from hakiri.transforms.sql.tokens import Kind

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

TYPED = frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "X"})
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]*")
_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MOST_HOURS = 18


def text_literal(value: str) -> Expression:
    node = expression()
    node.literal.string = value
    return node


def truth_literal(*, value: bool) -> Expression:
    node = expression()
    node.literal.boolean = value
    return node


def whole_literal(value: int) -> Expression:
    node = expression()
    node.literal.integer = value
    return node


def null_literal() -> Expression:
    node = expression()
    node.literal.null.null.SetInParent()
    return node


def read_string(cursor: Cursor) -> str:
    """The string here; strings that stand next to each other are one."""
    if cursor.token.kind is not Kind.STRING:
        cursor.unexpected("a string")
    parts = []
    while cursor.token.kind is Kind.STRING:
        parts.append(cursor.take().value)
    return "".join(parts)


def read_typed(cursor: Cursor) -> Expression:
    """`DATE '…'` and its kin: a word, then one string."""
    word = cursor.take().word
    text = cursor.token.value.strip()
    node = {
        "DATE": _date,
        "TIME": _time,
        "TIMESTAMP": _timestamp,
        "TIMESTAMP_LTZ": _timestamp,
        "TIMESTAMP_NTZ": _local_timestamp,
        "X": _binary,
    }[word](cursor, text)
    cursor.take()
    return node


def _binary(cursor: Cursor, text: str) -> Expression:
    if not _HEX.fullmatch(text):
        cursor.fail(f"`X'{text}'` has other letters than 0–9 and A–F", "write hexadecimal digits")
    node = expression()
    node.literal.binary = bytes.fromhex("0" * (len(text) % 2) + text)
    return node


def _date(cursor: Cursor, text: str) -> Expression:
    found = _DATE.match(text)
    rest = text[found.end() :] if found else text
    day = _day(found) if found else None
    if day is None or (rest and not (found and found[3] and rest[0] in " T")):
        cursor.fail(f"`{text}` is no date", "write it as `DATE '2026-01-31'`")
    node = expression()
    node.literal.date = (day - _EPOCH_DAY).days
    return node


def _time(cursor: Cursor, text: str) -> Expression:
    found = _CLOCK.fullmatch(text)
    clock = _clock(found) if found and not (found[4] and len(found[4]) > 6) else None  # noqa: PLR2004
    if clock is None:
        cursor.fail(f"`{text}` is no time of day", "write it as `TIME '23:59:59'`")
    node = expression()
    node.literal.time.precision = 6
    node.literal.time.nano = (clock // _MICROSECOND) * 1000
    return node


def _timestamp(cursor: Cursor, text: str) -> Expression:
    """With an offset an instant; without one, the time that the session's zone makes of it when it runs."""
    moment, zone = _moment(cursor, text)
    node = expression()
    if not zone:
        node.literal.string = text
        to = messages().DataType()
        to.timestamp.SetInParent()
        return converted(node, to)
    offset = _offset(zone)
    if offset is None:
        cursor.fail(
            f"the time zone `{zone}` is not supported in a literal",
            "write an offset such as `+02:00` or `Z`, or use to_timestamp",
        )
    node.literal.timestamp = (moment.replace(tzinfo=timezone(offset)) - _EPOCH) // _MICROSECOND
    return node


def _local_timestamp(cursor: Cursor, text: str) -> Expression:
    moment, zone = _moment(cursor, text)
    if zone:
        cursor.fail("a TIMESTAMP_NTZ has no time zone", "remove the zone, or write TIMESTAMP")
    node = expression()
    node.literal.timestamp_ntz = (moment.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
    return node


def _moment(cursor: Cursor, text: str) -> tuple[datetime, str]:
    """Date and time as written, without a zone, and the zone behind them."""
    found = _DATE.match(text)
    day = _day(found) if found else None
    clock, zone = timedelta(), ""
    if found and day is not None and (rest := text[found.end() :]):
        seen = _CLOCK.match(rest, 1) if found[3] and rest[0] in " T" else None
        moved = _clock(seen) if seen else None
        if seen is None or moved is None:
            day = None
        else:
            clock, zone = moved, rest[seen.end() :].strip()
    if day is None:
        cursor.fail(f"`{text}` is no timestamp", "write it as `TIMESTAMP '2026-01-31 23:59:59'`")
    return datetime(day.year, day.month, day.day) + clock, zone  # noqa: DTZ001  # the zone is the caller's


def _day(found: re.Match[str]) -> date | None:
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None


def _clock(found: re.Match[str]) -> timedelta | None:
    hours, minutes, seconds = int(found[1]), int(found[2]), int(found[3] or 0)
    if hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004
        return None
    # Spark cuts digits behind the microsecond off.
    micros = int(f"{found[4] or ''}000000"[:6])
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)


def _offset(zone: str) -> timedelta | None:
    if zone in {"Z", "UTC", "GMT", "UT"}:
        return timedelta()
    found = _OFFSET.fullmatch(zone)
    if found is None or int(found[2]) > _MOST_HOURS or int(found[3] or 0) > 59:  # noqa: PLR2004
        return None
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return offset if found[1] == "+" else -offset
