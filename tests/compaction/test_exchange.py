"""Rows on their way between tasks: none is lost, and a task has one file open for all ranges."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hakiri.compaction.exchange import Pieces, Scatter, by_range, gathered
from hakiri.compaction.ordering import Ranges

SCHEMA = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string())), ("note", pa.string())])


def row(number: int) -> dict[str, Any]:
    return {"id": number, "tags": [f"t{number}"] if number % 3 else None, "note": "n" * (number % 7)}


def scattered(
    folder: Path, stem: str, numbers: list[int], bounds: list[int], bytes_at_once: int = 1 << 20
) -> Pieces:
    scatter = Scatter(
        folder=folder,
        stem=stem,
        schema=SCHEMA,
        ranges=Ranges(pa.table({"id": pa.array(bounds, pa.int64())})),
        bytes_at_once=bytes_at_once,
    )
    rows = pa.Table.from_pylist([row(number) for number in numbers], SCHEMA)
    for batch in rows.to_batches(max_chunksize=50):
        scatter.write(batch)
    return scatter.finish()


@pytest.mark.parametrize("bytes_at_once", [1, 2000, 1 << 20])
def test_every_row_comes_to_the_range_that_it_belongs_to(tmp_path: Path, bytes_at_once: int) -> None:
    chance = random.Random(bytes_at_once)
    numbers = [[chance.randrange(1000) for _ in range(500)] for _ in range(3)]
    bounds = [0, 100, 250, 251, 999, 2000]

    pieces = [
        scattered(tmp_path, f"{task}-0", some, bounds, bytes_at_once) for task, some in enumerate(numbers)
    ]
    ranges = by_range(pieces)

    found = {
        number: sorted(gathered(some, SCHEMA).to_pylist(), key=lambda each: each["id"])
        for number, (some, _) in ranges.items()
    }
    every = sorted(number for some in numbers for number in some)
    edges = [-1, *bounds, 3000]
    assert found == {
        place: [row(number) for number in every if first <= number < last]
        for place, (first, last) in enumerate(pairwise(edges))
        if any(first <= number < last for number in every)
    }
    assert {number: count for number, (_, count) in ranges.items()} == {
        number: len(rows) for number, rows in found.items()
    }


def test_a_task_writes_one_file_for_all_of_a_thousand_ranges(tmp_path: Path) -> None:
    pieces = scattered(tmp_path, "0-0", [*range(1000)], [*range(1, 1000)])

    assert [*tmp_path.iterdir()] == [Path(pieces.path)]
    assert pieces.rows == dict.fromkeys(range(1000), 1)


def test_a_task_without_rows_writes_no_file(tmp_path: Path) -> None:
    pieces = scattered(tmp_path, "0-0", [], [1, 2])

    assert by_range([pieces]) == {}
    assert [*tmp_path.iterdir()] == []
    assert gathered((), SCHEMA).schema == SCHEMA
