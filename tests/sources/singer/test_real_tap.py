"""A tap from the package index, made with the Singer SDK by somebody else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from tests.sources.singer.lab import connected, read, rows

from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows.types import TIMESTAMP
from hakiri.sources.singer import SingerConnector

# Every test starts several processes.
pytestmark = pytest.mark.proof
MONDAY, TUESDAY = 1_767_600_000, 1_767_690_000


def write(path: Path, records: list[dict[str, object]], at: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    os.utime(path, (at, at))


@pytest.fixture
def tap(tmp_path: Path) -> SingerConnector:
    """`tap-jsonl` over a folder, found beside this Python; its paths start at the project's folder."""
    orders = [
        {"id": 1, "name": "é", "price": 1.5, "about": {"a": [1]}, "at": "2026-01-01T00:00:00Z", "tags": [1]},
        {"id": 2, "name": None, "price": 2, "about": {"b": None}, "at": "2026-01-02T00:00:00Z", "tags": []},
    ]
    write(tmp_path / "data" / "first.jsonl", orders, MONDAY)
    config = {"path": "data/*.jsonl", "stream_name": "orders", "primary_keys": ["id"]}
    return connected(tmp_path, {"tap": "tap-jsonl", "config": config})


@pytest.mark.spec("HP-150")
@pytest.mark.spec("HP-024")
def test_a_real_tap_tells_of_its_streams(tap: SingerConnector) -> None:
    (orders,) = tap.discover()

    columns = {
        "id": pa.int64(),
        "name": pa.string(),
        "price": pa.float64(),
        "about": pa.string(),
        "at": TIMESTAMP,
        "tags": pa.list_(pa.string()),
        "_sdc_last_modified": TIMESTAMP,
        "_sdc_filename": pa.string(),
        "_sdc_stream": pa.string(),
        "_extra": pa.string(),
    }
    assert orders.schema == pa.schema(columns)
    assert (orders.name, orders.primary_key) == ("orders", ("id",))
    assert orders.cursor_fields == ("_sdc_last_modified",)


@pytest.mark.spec("HP-150")
@pytest.mark.spec("HP-027")
def test_a_real_tap_goes_on_from_its_state(tap: SingerConnector, tmp_path: Path) -> None:
    first = read(tap, "orders")
    write(tmp_path / "data" / "second.jsonl", [{"id": 3, "name": "new"}], TUESDAY)

    second = read(tap, "orders", cursor=json.loads(json.dumps(first[-1].cursor)))
    third = read(tap, "orders", cursor=json.loads(json.dumps(second[-1].cursor)))

    assert [(row["id"], row["name"], row["about"], row["tags"]) for row in rows(first)] == [
        (1, "é", '{"a":[1]}', ["1"]),
        (2, None, '{"b":null}', []),
    ]
    assert 3 in [row["id"] for row in rows(second)]
    # The SDK gives rows at the bookmark once more, since more of them may have come; keys make them one.
    assert {row["id"] for row in rows([*first, *second, *third])} == {1, 2, 3}


def test_a_real_tap_that_is_told_nonsense_says_so(tmp_path: Path) -> None:
    with pytest.raises(PermanentFailure, match=r"`tap-jsonl` failed with code 1: .*TypeError: expected str"):
        connected(tmp_path, {"tap": "tap-jsonl", "config": {"path": 7}}).discover()
