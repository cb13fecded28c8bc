"""Rows that do not fit, in words: what is shown of them, and what is not."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.store.workshop import STAMP, shape_of

from hakiri.pipelines.runtime.sinks import AttemptSinks, Report
from hakiri.sources.errors import BadRecord
from hakiri.sources.rejects import Reject, row_text

MISFIT = Reject(problem="is no int64", row='{"amount":"n/a","mail":"a@b"}', column="amount", value="n/a")


def test_of_a_value_only_the_beginning_is_told() -> None:
    long = Reject(problem="is no date", row="{}", column="day", value="x" * 41)

    assert long.reason == f"`day` has `{'x' * 39}…`, which is no date"


def test_a_row_is_json_whatever_its_fields_are() -> None:
    fields = {
        "price": Decimal("1E+2"),
        "bytes": b"\x00\xff",
        "day": date(2026, 5, 11),
        "at": datetime(2026, 5, 11, 8, tzinfo=UTC),
        "none": None,
        "nested": [{"a": Decimal("1.50")}],
    }

    assert json.loads(row_text(fields)) == {
        "price": "100",
        "bytes": "00ff",
        "day": "2026-05-11",
        "at": "2026-05-11T08:00:00+00:00",
        "none": None,
        "nested": [{"a": "1.50"}],
    }


def test_a_row_of_a_file_has_its_name_and_its_numbers_as_they_were() -> None:
    reject = Reject(problem="x", row='{"n":1234567890123456789012345678901234567890.10}')

    assert reject.of_file('a "b".jsonl').row == (
        '{"_file":"a \\"b\\".jsonl","n":1234567890123456789012345678901234567890.10}'
    )


def test_an_error_without_its_value_is_the_same_otherwise() -> None:
    error = BadRecord("orders", "is no int64", column="amount", value="n/a", remedy="mend it")

    hidden = error.without_value()

    assert str(hidden) == "a row of `orders` does not fit: `amount` has a value that is no int64"
    assert hidden.hint == error.hint == 'mend it, or set `on_bad_row = "quarantine"` for the table'


@pytest.mark.parametrize(
    ("redacted", "reject", "reason", "row"),
    [
        ("mail", MISFIT, "`amount` has `n/a`, which is no int64", {"amount": "n/a"}),
        ("amount", MISFIT, "`amount` has a value that is no int64", {"mail": "a@b"}),
        (
            "user",
            Reject(problem="is no int64", row='{"user":{"age":"x"},"id":1}', column="user.age", value="x"),
            "`user.age` has a value that is no int64",
            {"id": 1},
        ),
        (
            "a.b",
            Reject(problem="is no int64", row='{"a.b":["x"],"id":1}', column="a\\.b[0]", value="x"),
            "`a\\.b[0]` has a value that is no int64",
            {"id": 1},
        ),
        ("mail", Reject(problem="it is no JSON object", row='{"_line":"a@b"}'), "it is no JSON object", {}),
    ],
)
def test_nothing_is_kept_of_a_redacted_column(
    tmp_path: Path, redacted: str, reject: Reject, reason: str, row: dict[str, object]
) -> None:
    shape = shape_of(pa.schema([("id", pa.int64())]))
    sink = AttemptSinks(
        folders=(str(tmp_path),), stamps=(STAMP,), shape=shape, redacted=frozenset({redacted})
    )(0)

    sink.set_aside([reject])
    (file,) = Report.parse(sink.finish()).quarantine

    (kept,) = pq.read_table(tmp_path / file.name).to_pylist()
    assert (kept["_reason"], json.loads(kept["_row"])) == (reason, row)
