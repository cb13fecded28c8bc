from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from hakiri.cli.values import json_value, shown_cell

AT = datetime(2026, 1, 31, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "as_json", "as_cell"),
    [
        (None, None, "∅"),
        (True, True, "true"),
        (2**63, 2**63, "9223372036854775808"),
        (1.5, 1.5, "1.5"),
        (float("nan"), "nan", "nan"),
        (float("-inf"), "-inf", "-inf"),
        ("", "", ""),
        ("null", "null", "null"),
        ("Ünï ✓", "Ünï ✓", "Ünï ✓"),
        ("two\nlines", "two\nlines", "two⏎lines"),
        ("\x1b[2Jgone\t\x07\x9b", "\x1b[2Jgone\t\x07\x9b", "␛[2Jgone␉␇\ufffd"),
        (Decimal("1.50"), "1.50", "1.50"),
        (Decimal("0E-8"), "0.00000000", "0.00000000"),
        (Decimal("1.00E-7"), "0.000000100", "0.000000100"),
        (Decimal("-1E+3"), "-1000", "-1000"),
        (AT, "2026-01-31T08:30:00Z", "2026-01-31 08:30:00+00:00"),
        (AT.astimezone(timezone(timedelta(hours=2))), "2026-01-31T08:30:00Z", "2026-01-31 10:30:00+02:00"),
        (AT.replace(tzinfo=None), "2026-01-31T08:30:00", "2026-01-31 08:30:00"),
        (date(2026, 1, 31), "2026-01-31", "2026-01-31"),
        (time(8, 30), "08:30:00", "08:30:00"),
        (timedelta(days=1, seconds=2), "1 day, 0:00:02", "1 day, 0:00:02"),
        (b"\x00\xff", "AP8=", "AP8="),
        ([1, None, "é"], [1, None, "é"], '[1, null, "é"]'),
        ((Decimal("1.5"),), ["1.5"], '["1.5"]'),
        ({"at": AT, "b": b"\x00"}, {"at": "2026-01-31T08:30:00Z", "b": "AA=="}, None),
        ({1: {"x": [float("inf")]}}, {"1": {"x": ["inf"]}}, '{"1": {"x": ["inf"]}}'),
    ],
)
def test_a_value_is_shown_to_programs_and_to_people(value: Any, as_json: Any, as_cell: str | None) -> None:
    assert json_value(value) == as_json
    assert json.loads(json.dumps(json_value(value), allow_nan=False)) == as_json
    if as_cell is not None:
        assert shown_cell(value) == as_cell


def test_a_cell_never_has_a_second_line() -> None:
    assert "\n" not in shown_cell({"text": "two\nlines", "many": ["a\nb"]})
