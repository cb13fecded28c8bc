"""Few new rows into a large snapshot: the files that they do not concern stay, and the rows are right."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS, PIPELINE, T0, open_workshop

from hakiri.compaction.matching import Wanted
from hakiri.compaction.partitions import ByAge, ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.core.ids import ChunkId
from hakiri.store.snapshots import SnapshotManifest

SCHEMA = pa.schema(
    [("id", pa.int64()), ("repo", pa.string()), ("at", pa.timestamp("us", "UTC")), ("note", pa.string())]
)
START = datetime(2026, 1, 1, tzinfo=UTC)
SMALL = 40_000  # bytes a range: some thousand rows make several files
ROWS = 1500


def row(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "repo": None if chance.random() < 0.02 else f"r{chance.randrange(6)}",
        "at": START + timedelta(hours=chance.randrange(24 * 90)),
        "note": f"{chance.random()}",
    }


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(each[name] for name in SCHEMA.names) for each in rows), key=itemgetter(0, 3))


def seen(bench: Bench) -> list[tuple[Any, ...]]:
    return sorted(bench.rows(), key=itemgetter(0, 3))


def filled(bench: Bench, chance: random.Random, *key: str) -> list[dict[str, Any]]:
    rows = [row(chance, number) for number in range(ROWS)]
    bench.land(rows, SCHEMA, *key)
    return rows


def paths(manifest: SnapshotManifest) -> set[str]:
    return {file.path for file in manifest.files}


LAYOUTS = {
    "by key": TableLayout(),
    "by other columns": TableLayout(cluster_by=("repo", "at")),
    "by value": TableLayout(cluster_by=("at",), partitioning=ByValue("repo")),
    "by month": TableLayout(cluster_by=("at",), partitioning=ByValue("at", "month")),
    "by age": TableLayout(cluster_by=("at",), partitioning=ByAge("at", "recent_30d", START)),
}


@pytest.mark.spec("HC-030")
@pytest.mark.spec("HC-036")
@pytest.mark.proof
@pytest.mark.parametrize("has_key", [True, False], ids=["key", "no key"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_merges_again_and_again_give_what_a_naive_table_has(
    tmp_path: Path, layout: str, has_key: bool
) -> None:
    chance = random.Random(layout)
    key = ("id",) if has_key else ()
    with open_workshop(tmp_path / "store") as workshop:
        bench = Bench(workshop)
        rows = filled(bench, chance, *key)
        known = {each["id"]: each for each in rows}
        laid_out = LAYOUTS[layout]
        if not has_key and layout == "by key":
            laid_out = TableLayout(cluster_by=("id",))
        before = bench.compacted(laid_out, bytes_a_range=SMALL)
        assert len(before.files) > 1
        kept = 0
        for turn in range(5):
            if layout == "by age":
                since = START + timedelta(days=10 * turn)
                laid_out = TableLayout(cluster_by=("at",), partitioning=ByAge("at", "recent_30d", since))
            some = [
                row(chance, number) for number in chance.sample(range(ROWS + 500), chance.choice([1, 40]))
            ]
            if has_key:
                gone = chance.sample(sorted(known), 1)
                bench.land([*some, *({"id": number, "_op": "delete"} for number in gone)], SCHEMA, "id")
                known = {**known, **{each["id"]: each for each in some}}
                known = {number: each for number, each in known.items() if number not in gone}
                rows = list(known.values())
            else:
                bench.land(some, SCHEMA)
                rows += some
            assert seen(bench) == told(rows)

            done = bench.compact(laid_out, bytes_a_range=SMALL)

            assert done is not None
            assert seen(bench) == told(rows)
            assert done.manifest.rows == len(rows)
            assert done.files_kept == len(paths(done.manifest) & paths(before))
            kept += done.files_kept
            before = done.manifest
        assert kept > 0
        files_in_order(bench, before)


def files_in_order(bench: Bench, manifest: SnapshotManifest) -> None:
    data = bench.workshop.layout.data_folder(ORDERS)
    for file in manifest.files:
        stored = pq.read_table(data / file.path, columns=list(manifest.cluster_by)).to_pylist()
        values = [tuple((value is None, value) for value in each.values()) for each in stored]
        assert values == sorted(values), file.path
    assert len(manifest.files) < 60


@pytest.mark.spec("HC-036")
@pytest.mark.spec("HC-051")
def test_only_the_partitions_that_new_rows_touch_are_written_again(bench: Bench) -> None:
    layout = TableLayout(cluster_by=("at",), partitioning=ByValue("repo"))
    filled(bench, random.Random(1), "id")
    first = bench.compacted(layout)
    touched = {"id": ROWS + 1, "repo": "r3", "at": START, "note": "new"}
    bench.land([touched], SCHEMA, "id")

    done = bench.compact(layout)

    assert done is not None
    again = {file.partition for file in done.manifest.files if file.path not in paths(first)}
    assert again == {"r3"}
    assert done.files_kept == len(first.files) - 1
    assert done.bytes_read < sum(file.bytes for file in first.files) / 2


@pytest.mark.spec("HC-036")
def test_a_row_that_moves_to_another_partition_leaves_the_one_where_it_was(bench: Bench) -> None:
    layout = TableLayout(partitioning=ByValue("repo"))
    rows = filled(bench, random.Random(2), "id")
    first = bench.compacted(layout)
    moved = next(each for each in rows if each["repo"] == "r1") | {"repo": "brand new"}
    bench.land([moved], SCHEMA, "id")

    done = bench.compact(layout)

    assert done is not None
    again = {file.partition for file in done.manifest.files if file.path not in paths(first)}
    assert again == {"r1", "brand new"}
    assert seen(bench) == told([moved if each["id"] == moved["id"] else each for each in rows])


@pytest.mark.spec("HC-052")
def test_rows_that_have_become_old_leave_the_partition_of_recent_ones(bench: Bench) -> None:
    rows = filled(bench, random.Random(3), "id")

    def layout(since: datetime) -> TableLayout:
        return TableLayout(cluster_by=("at",), partitioning=ByAge("at", "recent_30d", since))

    bench.compacted(layout(START + timedelta(days=30)))
    bench.land([rows[0]], SCHEMA, "id")
    since = START + timedelta(days=60)
    manifest = bench.compacted(layout(since))

    counts = {
        name: sum(file.rows for file in manifest.files if file.partition == name)
        for name in ("older", "recent_30d")
    }
    recent = sum(each["at"] >= since for each in rows)
    assert counts == {"older": ROWS - recent, "recent_30d": recent}
    assert seen(bench) == told(rows)


def test_without_partitions_files_of_other_ranges_stay(bench: Bench) -> None:
    layout = TableLayout()
    rows = filled(bench, random.Random(4), "id")
    first = bench.compacted(layout, bytes_a_range=SMALL)
    bench.land([rows[-1] | {"note": "again"}, row(random.Random(5), ROWS + 7)], SCHEMA, "id")

    done = bench.compact(layout, bytes_a_range=SMALL)

    assert done is not None
    assert len(first.files) > 3
    assert done.files_kept == len(first.files) - 1


def test_rows_of_claims_that_were_replaced_are_taken_out_of_the_files_that_have_them(bench: Bench) -> None:
    chance = random.Random(6)
    layout = TableLayout(partitioning=ByValue("repo"))
    first = bench.land([row(chance, n) | {"repo": "r0"} for n in range(500)], SCHEMA)
    bench.land([row(chance, n) | {"repo": "r1"} for n in range(500)], SCHEMA)
    before = bench.compacted(layout)
    bench.workshop.catalog.chunks.supersede(PIPELINE, [ChunkId(first)], "again", T0)
    bench.workshop.work([row(chance, 1) | {"repo": "r2"}], SCHEMA)
    bench.workshop.publish()
    rows = seen(bench)

    manifest = bench.compacted(layout)

    assert seen(bench) == rows
    assert len(rows) == 501
    assert {file.partition: file.rows for file in manifest.files} == {"r1": 500, "r2": 1}
    assert len(paths(manifest) & paths(before)) == 1


def test_another_order_or_a_full_one_writes_everything_anew(bench: Bench) -> None:
    rows = filled(bench, random.Random(7), "id")
    layout = TableLayout(cluster_by=("at",), partitioning=ByValue("repo"))
    bench.compacted(layout)
    bench.land([rows[0]], SCHEMA, "id")
    for other in (
        TableLayout(cluster_by=("note",), partitioning=ByValue("repo")),
        TableLayout(cluster_by=("note",), partitioning=ByValue("at", "month")),
    ):
        done = bench.compact(other, is_full=False)
        assert done is not None
        assert done.files_kept == 0
        bench.land([rows[0]], SCHEMA, "id")
    done = bench.compact(other, is_full=True)
    assert done is not None
    assert done.files_kept == 0
    assert seen(bench) == told(rows)


def test_files_that_stay_keep_the_schema_that_they_were_written_in(bench: Bench) -> None:
    rows = filled(bench, random.Random(8), "id")
    layout = TableLayout(partitioning=ByValue("repo"))
    bench.compacted(layout)
    wider = SCHEMA.append(pa.field("stars", pa.int32()))
    new = {**row(random.Random(9), ROWS), "repo": "r0", "stars": 5}
    bench.land([new], wider, "id")

    manifest = bench.compacted(layout)

    assert {file.schema_version for file in manifest.files} == {1, 2}
    assert sorted(bench.rows(), key=repr) == sorted(
        [*((*one, None) for one in told(rows)), tuple(new.values())], key=repr
    )


def test_a_key_column_that_became_wider_has_another_order_and_everything_is_written_anew(
    bench: Bench,
) -> None:
    schema = pa.schema([("id", pa.int32()), ("name", pa.string())])
    bench.land([{"id": n, "name": f"n{n % 3}"} for n in range(1000)], schema, "id")
    layout = TableLayout(partitioning=ByValue("name"))
    bench.compacted(layout)
    bench.land([{"id": 2**40, "name": "n0"}], pa.schema([("id", pa.int64()), ("name", pa.string())]), "id")

    done = bench.compact(layout)

    assert done is not None
    assert (done.files_kept, done.manifest.rows) == (0, 1001)


@pytest.mark.parametrize("seed", range(20))
def test_keys_are_found_whatever_they_are_made_of(seed: int) -> None:
    chance = random.Random(seed)
    kinds = chance.sample(
        [
            lambda: chance.choice([None, *range(8)]),
            lambda: chance.choice([None, "", "a", "b", "äö"]),
            lambda: START + timedelta(days=chance.randrange(5)),
            lambda: chance.choice([True, False]),
        ],
        chance.randint(1, 3),
    )
    types = {"c0": None, "c1": None, "c2": None}
    keys, rows = ([tuple(kind() for kind in kinds) for _ in range(size)] for size in (12, 200))
    names = list(types)[: len(kinds)]
    wanted, given = (
        pa.table({name: [each[place] for each in some] for place, name in enumerate(names)})
        for some in (keys + rows[:1], rows)
    )
    given = given.cast(wanted.schema)

    found = Wanted(wanted).found_in(given)

    assert found.tolist() == [each in {*keys, rows[0]} for each in rows]
