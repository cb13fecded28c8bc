"""What fits a column, and what it is there; by Arrow at once and value by value alike."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.json_rows.oracle import moment

from hakiri.sources.json_rows import parse_type, settle
from hakiri.sources.json_rows.values import MISFIT, rule_for

TIMESTAMP = pa.timestamp("us", tz="UTC")
NEARLY_ISO = st.from_regex(
    r"(000[01]|2024|9999)-(0[0-9]|1[0-3])-(0[0-9]|3[0-2])"
    r"([Tt ](0[0-9]|2[0-5])(:([0-5][0-9]|60)(:([0-5][0-9]|60)(\.[0-9]{0,8})?)?)?)?"
    r"([Zz]|[+-](0[0-9]|2[0-5]|99)(:?([0-5][0-9]|6[0-9])?)?)?",
    fullmatch=True,
)
NEARLY_DECIMAL = st.from_regex(r"[+-]?0{0,2}[0-9]{0,9}\.?[0-9]{0,4}(e[0-9])?", fullmatch=True)


def settled(value: object, kind: pa.DataType) -> Any:
    """The value in its column, or MISFIT if it went to `_extra` instead."""
    batch = settle([{"field": value}], pa.schema([("field", kind)]), with_extra=True)
    cell, extra = batch["field"][0].as_py(), batch["_extra"][0].as_py()
    assert cell is None or extra is None
    return cell if extra is None else MISFIT


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("bigint", -(2**63), -(2**63)),
        ("int", 2**31 - 1, 2**31 - 1),
        ("double", 1, 1.0),
        ("double", 2**53, 2.0**53),
        ("double", 2**60, 2.0**60),
        ("double", Decimal(10**20), 1e20),
        ("double", Decimal("0.10000000000000001"), 0.1),
        ("boolean", False, False),
        ("string", "a", "a"),
        ("string", "", ""),
        ("string", 1, "1"),
        ("string", 1.0, "1.0"),
        ("string", True, "true"),
        ("string", 2**64 - 1, "18446744073709551615"),
        ("string", Decimal(10**30), "1" + "0" * 30),
        ("string", {"b": [1, "é"], "a": None}, '{"b":[1,"é"],"a":null}'),
        ("string", [], "[]"),
        ("date", "2026-01-31", date(2026, 1, 31)),
        ("date", "0001-01-01", date(1, 1, 1)),
        ("timestamp", "2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("timestamp", "2026-01-31 10:00:00+02:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("timestamp", "2026-01-31t10:00:00.5-0930", datetime(2026, 1, 31, 19, 30, 0, 500_000, tzinfo=UTC)),
        ("timestamp", "2026-01-31T10:00:00.123456000Z", datetime(2026, 1, 31, 10, 0, 0, 123_456, tzinfo=UTC)),
        ("timestamp", "2026-01-31T10:00:00", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("timestamp", "2026-01-31T10:00", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("timestamp", "2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("timestamp", "9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("decimal(5,2)", 12, Decimal("12.00")),
        ("decimal(5,2)", 12.5, Decimal("12.50")),
        ("decimal(5,2)", "-999.99", Decimal("-999.99")),
        ("decimal(5,2)", "1.50000", Decimal("1.50")),
        ("decimal(5,2)", f"1.{'0' * 60}", Decimal("1.00")),
        ("decimal(5,2)", 1e2, Decimal("100.00")),
        ("decimal(38,0)", Decimal(10**37), Decimal(10**37)),
        ("decimal(38,38)", "-0.00000000000000000000000000000000000001", Decimal("-1e-38")),
        ("binary", "aGk=", b"hi"),
        ("binary", "", b""),
        ("struct<a:bigint>", {}, {"a": None}),
        ("struct<a:bigint>", {"a": 1}, {"a": 1}),
        ("array<bigint>", [1, None], [1, None]),
        ("map<string,bigint>", {"b": 1, "a": None}, [("b", 1), ("a", None)]),
        ("map<string,bigint>", {}, []),
    ],
)
def test_a_value_that_fits_stands_in_its_column(text: str, value: object, expected: object) -> None:
    assert settled(value, parse_type(text)) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("bigint", 1.0),
        ("bigint", True),
        ("bigint", "1"),
        ("bigint", 2**63),
        ("bigint", Decimal(2**64)),
        ("int", 2**31),
        ("int", -(2**31) - 1),
        ("double", 2**53 + 1),
        ("double", Decimal("1e400")),
        ("double", Decimal(10**400)),
        ("double", Decimal(10**30 + 1)),
        ("double", "1.5"),
        ("double", True),
        ("boolean", 0),
        ("boolean", "true"),
        ("date", "2026-02-30"),
        ("date", "2026-01-31T00:00:00Z"),
        ("date", "0000-01-01"),
        ("date", "20260131"),
        ("date", "２０２６-01-31"),
        ("date", 20260131),
        ("timestamp", 1_700_000_000),
        ("timestamp", 1.7e9),
        ("timestamp", ""),
        ("timestamp", "yesterday"),
        ("timestamp", "2026-01-31T10:00:00.1234567Z"),
        ("timestamp", "2026-01-31T24:00:00Z"),
        ("timestamp", "2026-01-31T23:59:60Z"),
        ("timestamp", "2026-01-31T10:00:00+24:00"),
        ("timestamp", "2026-01-31T10:00:00\n"),
        ("timestamp", "2026-01-31T10.5Z"),
        ("timestamp", "2026-01-31Z"),
        ("timestamp", "0000-12-31T00:00:00Z"),
        ("timestamp", "0001-01-01T00:00:00+01:00"),
        ("timestamp", "9999-12-31T23:59:59-01:00"),
        ("decimal(5,2)", "12.345"),
        ("decimal(5,2)", 12.345),
        ("decimal(5,2)", 1000),
        ("decimal(5,2)", True),
        ("decimal(5,2)", "1e2"),
        ("decimal(5,2)", "+1"),
        ("decimal(5,2)", "007"),
        ("decimal(5,2)", ".5"),
        ("decimal(5,2)", "1."),
        ("decimal(5,2)", "NaN"),
        ("decimal(5,2)", Decimal("1e400")),
        ("binary", "aGk"),
        ("binary", "aGl="),
        ("binary", "aG k="),
        ("binary", "é"),
        ("binary", 1),
        ("struct<a:bigint>", [1]),
        ("struct<a:bigint>", "{}"),
        ("array<bigint>", {}),
        ("array<bigint>", 1),
        ("map<string,bigint>", [["a", 1]]),
    ],
)
def test_a_value_that_does_not_fit_is_no_other_one(text: str, value: object) -> None:
    assert settled(value, parse_type(text)) is MISFIT


@settings(deadline=None)
@given(NEARLY_ISO)
def test_arrow_reads_moments_as_the_rule_does(text: str) -> None:
    expected = rule_for(TIMESTAMP)(text)

    assert settled(text, TIMESTAMP) == (MISFIT if expected is MISFIT else moment(expected))


@settings(deadline=None)
@given(NEARLY_ISO)
def test_arrow_reads_days_as_the_rule_does(text: str) -> None:
    assert settled(text, pa.date32()) == rule_for(pa.date32())(text)


@settings(deadline=None)
@given(NEARLY_DECIMAL)
def test_arrow_reads_decimals_as_the_rule_does(text: str) -> None:
    kind = pa.decimal128(8, 2)

    assert settled(text, kind) == rule_for(kind)(text)


@settings(deadline=None)
@given(
    st.datetimes(
        min_value=datetime(2, 1, 1),  # noqa: DTZ001 - the strategy wants it so
        timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    ).filter(lambda found: found.year < 9999)
)
def test_every_moment_that_python_writes_is_that_moment(written: datetime) -> None:
    assert settled(written.isoformat(), TIMESTAMP) == written
