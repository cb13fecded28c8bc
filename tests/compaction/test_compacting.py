"""Compactions of small tables: the same rows before and after, whatever the table is like."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS, PIPELINE, T0

from hakiri.catalog.contract.lineage import EdgeKind
from hakiri.compaction.errors import ColumnsDisagree, ColumnsNotSortable, ValuesWouldBeLost
from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout, recipe_of
from hakiri.compaction.row_files import batches, written
from hakiri.compaction.selecting import input_files
from hakiri.store.rows import HIDDEN_FIELDS
from hakiri.store.snapshots import SnapshotManifest


def files_of(bench: Bench, manifest: SnapshotManifest) -> list[pa.Table]:
    data = bench.workshop.layout.data_folder(ORDERS)
    return [pq.read_table(data / file.path) for file in manifest.files]


def people(*numbers: int, name: str = "n") -> list[dict[str, Any]]:
    return [{"id": number, "name": f"{name}{number}"} for number in numbers]


@pytest.mark.spec("HC-011")
@pytest.mark.spec("HC-030")
def test_of_each_key_the_newest_row_is_kept(bench: Bench) -> None:
    bench.land(people(3, 1, 2), SCHEMA, "id")
    bench.land(people(2, 4, name="later "), SCHEMA, "id")
    before = bench.rows()

    manifest = bench.compacted()

    assert bench.rows() == before == [(1, "n1"), (2, "later 2"), (3, "n3"), (4, "later 4")]
    (stored,) = files_of(bench, manifest)
    assert stored.column("id").to_pylist() == [1, 2, 3, 4]
    assert (manifest.rows_read, manifest.rows) == (5, 4)


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        ((), ("id",), [(1, "b"), (2, "a")]),
        (("id", "name"), ("id",), [(1, "b"), (2, "a")]),
        (("id", "name"), ("name", "id"), [(1, "a"), (1, "b"), (2, "a")]),
        (("id", "name"), (), [(1, "a"), (1, "b"), (2, "a")]),
    ],
)
@pytest.mark.parametrize("has_more", [False, True])
@pytest.mark.spec("HC-014")
def test_a_snapshot_made_before_the_key_changed_is_seen_by_the_new_one(
    bench: Bench,
    before: tuple[str, ...],
    after: tuple[str, ...],
    seen: list[tuple[int, str]],
    has_more: bool,
) -> None:
    bench.land([{"id": 1, "name": "a"}, {"id": 2, "name": "a"}, {"id": 1, "name": "b"}], SCHEMA, *before)
    bench.compacted()
    bench.workshop.evolve(SCHEMA, *after)
    bench.workshop.publish()
    if has_more:
        bench.land([{"id": 9, "name": "z"}], SCHEMA, *after)
        seen = [*seen, (9, "z")]

    assert bench.rows() == seen
    bench.compact()
    assert bench.rows() == seen


@pytest.mark.spec("HC-011")
@pytest.mark.spec("HC-029")
def test_only_what_is_newer_than_the_snapshot_is_folded_into_the_next(bench: Bench) -> None:
    bench.land(people(1, 2, 3), SCHEMA, "id")
    first = bench.compacted()
    assert bench.compact() is None

    bench.land([*people(2, name="new "), {"id": 3, "_op": "delete"}], SCHEMA, "id")
    between = bench.rows()
    second = bench.compacted()

    assert bench.rows() == between == [(1, "n1"), (2, "new 2")]
    assert (second.base, second.rows_read) == (first.snapshot, 5)
    assert second.frontier > first.frontier


@pytest.mark.spec("HC-029")
def test_a_full_one_rewrites_all_of_it(bench: Bench) -> None:
    bench.land(people(1, 2), SCHEMA, "id")
    first = bench.compacted()

    again = bench.compacted(is_full=True)

    assert again.base == first.snapshot
    assert bench.rows() == [(1, "n1"), (2, "n2")]


@pytest.mark.spec("HC-030")
def test_a_table_without_a_key_keeps_every_row(bench: Bench) -> None:
    bench.land(people(1, 1, 2))
    bench.land(people(1))

    manifest = bench.compacted()
    bench.land(people(2))

    assert bench.rows() == [(1, "n1"), (1, "n1"), (1, "n1"), (2, "n2"), (2, "n2")]
    assert (manifest.rows_read, manifest.rows) == (4, 4)


def test_what_was_read_again_hides_the_rows_that_it_replaces_in_a_snapshot(bench: Bench) -> None:
    first, _ = bench.land(people(1, 2)), bench.land(people(3))
    bench.compacted()

    bench.workshop.catalog.chunks.supersede(PIPELINE, [first], "again", T0)  # type: ignore[list-item]
    bench.workshop.publish()
    assert bench.rows() == [(1, "n1"), (2, "n2"), (3, "n3")]
    bench.workshop.work(people(1, name="again "), SCHEMA)
    bench.workshop.publish()
    assert bench.rows() == [(1, "again 1"), (3, "n3")]

    bench.compacted()
    assert bench.rows() == [(1, "again 1"), (3, "n3")]
    assert bench.compact() is None


def test_a_complete_pass_takes_the_place_of_the_one_in_the_snapshot(bench: Bench) -> None:
    bench.land(people(1, 2), pass_number=1, pass_size=1)
    bench.compacted()
    bench.land(people(7), pass_number=2, pass_size=2)
    assert bench.compact() is None
    assert bench.rows() == [(1, "n1"), (2, "n2")]

    bench.land(people(8), pass_number=2, pass_size=2)
    assert bench.rows() == [(7, "n7"), (8, "n8")]

    bench.compacted()
    assert bench.rows() == [(7, "n7"), (8, "n8")]


def test_a_pass_that_is_not_complete_is_left_to_its_own_files(bench: Bench) -> None:
    bench.land(people(1), pass_number=1, pass_size=2)
    bench.land(people(9), pass_number=2, pass_size=2)
    assert bench.compact() is None

    bench.land(people(2), pass_number=1, pass_size=2)
    assert bench.rows() == [(1, "n1"), (2, "n2")]
    manifest = bench.compacted()
    assert len(manifest.left_out) == 1
    assert bench.rows() == [(1, "n1"), (2, "n2")]


def test_nothing_is_folded_that_an_earlier_claim_may_still_come_before(bench: Bench) -> None:
    workshop = bench.workshop
    bench.land(people(1), SCHEMA, "id")
    workshop.catalog.chunks.supersede(PIPELINE, [workshop.chunks()[0].chunk], "again", T0)
    slow = workshop.claim()
    bench.land([{"id": 1, "_op": "delete"}], SCHEMA, "id")

    done = bench.compact()
    assert done is not None
    assert done.waiting == 1
    workshop.commit(slow, workshop.write(slow, people(1, name="slow "), SCHEMA, "id"), None)
    workshop.publish()
    assert bench.rows() == []

    bench.compacted()
    assert bench.rows() == []


@pytest.mark.spec("HC-031")
@pytest.mark.spec("HC-032")
def test_rows_of_every_schema_come_into_the_newest_one(bench: Bench) -> None:
    inner = pa.struct([("a", pa.int32()), ("b", pa.string())])
    bench.land(
        [{"id": 1, "n": 1, "s": {"a": 1, "b": "x"}}],
        pa.schema([("id", pa.int64()), ("n", pa.int32()), ("s", inner)]),
        "id",
    )
    wider = pa.struct(
        [
            pa.field("first", pa.int64(), metadata={"hakiri.was": '["a"]'}),
            pa.field("b", pa.string()),
            pa.field("c", pa.float64()),
        ]
    )
    new = pa.schema(
        [
            ("id", pa.int64()),
            pa.field("number", pa.int64(), metadata={"hakiri.was": '["n"]'}),
            ("s", wider),
            ("more", pa.string()),
        ]
    )
    bench.land(
        [{"id": 2, "number": 2**40, "s": {"first": 2**40, "b": "y", "c": 0.5}, "more": "m"}], new, "id"
    )
    before = bench.rows()

    manifest = bench.compacted()

    assert bench.rows() == before
    assert before[0] == (1, 1, {"first": 1, "b": "x", "c": None}, None)
    (stored,) = files_of(bench, manifest)
    assert stored.schema.field("number").type == pa.int64()
    assert stored.schema.field("s").type.field("first").type == pa.int64()


@pytest.mark.spec("HC-033")
def test_a_value_that_todays_type_cannot_hold_stops_it(bench: Bench) -> None:
    bench.land([{"id": 1, "v": 2**53 + 1}], pa.schema([("id", pa.int64()), ("v", pa.int64())]), "id")
    bench.land([{"id": 2, "v": 1.0}], pa.schema([("id", pa.int64()), ("v", pa.float64())]), "id")

    with pytest.raises(ValuesWouldBeLost, match="column `v`"):
        bench.compact()

    assert bench.workshop.catalog.snapshots.current(ORDERS) is None
    assert not list(bench.workshop.layout.data_folder(ORDERS).glob("snapshot*"))


@pytest.mark.spec("HC-034")
@pytest.mark.parametrize("bytes_a_range", [1 << 30, 20_000])
def test_rows_are_sorted_by_the_columns_that_are_asked_for(bench: Bench, bytes_a_range: int) -> None:
    schema = pa.schema([("id", pa.int64()), ("repo", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {
            "id": n * 7919 % 500,
            "repo": None if n % 11 == 0 else f"r{n % 7}",
            "at": start + timedelta(hours=n % 97),
        }
        for n in range(1000)
    ]
    for some in range(4):
        bench.land(rows[some * 250 : some * 250 + 250], schema, "id")
    before = bench.rows()

    manifest = bench.compacted(TableLayout(cluster_by=("repo", "at")), bytes_a_range=bytes_a_range)

    assert bench.rows() == before
    assert len(manifest.files) > 1 or bytes_a_range > 20_000
    stored = pa.concat_tables(files_of(bench, manifest)).select(["repo", "at", "id"]).to_pylist()
    ordered = sorted(stored, key=lambda row: (row["repo"] is None, row["repo"] or "", row["at"], row["id"]))
    assert stored == ordered


@pytest.mark.spec("HC-034")
def test_without_columns_to_sort_by_the_key_decides_or_the_time_of_ingestion(bench: Bench) -> None:
    bench.land(people(2, 1), SCHEMA, "id")
    assert bench.compacted().cluster_by == ("id",)


def test_a_column_without_an_order_is_refused(bench: Bench) -> None:
    bench.land(
        [{"id": 1, "tags": ["a"]}], pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string()))]), "id"
    )

    with pytest.raises(ColumnsNotSortable, match="its values have no order"):
        bench.compact(TableLayout(cluster_by=("tags",)))
    with pytest.raises(ColumnsNotSortable, match="it has no such column"):
        bench.compact(TableLayout(cluster_by=("nope",)))


@pytest.mark.spec("HC-026")
@pytest.mark.spec("HC-041")
def test_the_catalog_knows_the_runs_that_were_folded(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    bench.land(people(2), SCHEMA, "id")
    runs = tuple(sorted(str(chunk.run) for chunk in bench.workshop.chunks()))

    manifest = bench.compacted()

    catalog = bench.workshop.catalog
    current = catalog.snapshots.current(ORDERS)
    assert current is not None
    assert (current.snapshot, current.includes_runs, current.rows) == (manifest.snapshot, runs, 2)
    parents = catalog.lineage.parents(manifest.run)
    assert [(edge.parent, edge.kind) for edge in parents] == [(run, EdgeKind.COMPACTION) for run in runs]
    view = bench.workshop.layout.view_file(ORDERS).read_text()
    assert f"-- Snapshot: {manifest.snapshot}\n" in view
    assert "/runs/" not in view


@pytest.mark.spec("HC-042")
def test_what_was_folded_may_go_after_its_time_and_not_before(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    folded = {
        str(path.relative_to(bench.workshop.layout.root))
        for path in bench.workshop.layout.root.rglob("part-*")
    }

    bench.compacted(TableLayout(retain=timedelta(days=3)))

    garbage = bench.workshop.catalog.garbage
    assert garbage.due(T0 + timedelta(days=3) - timedelta(microseconds=1)) == ()
    assert {file.path for file in garbage.due(T0 + timedelta(days=3))} == folded


def test_empty_tables_and_unknown_ones_need_nothing(bench: Bench) -> None:
    assert bench.compact() is None
    bench.land([], SCHEMA, "id")
    bench.compact()
    assert bench.rows() == []


@pytest.mark.parametrize("name", ["_partition", "_PARTITION", "__partition", "_label"])
@pytest.mark.parametrize(
    "laid_out", [TableLayout(), TableLayout(partitioning=ByValue("id"))], ids=["whole", "partitioned"]
)
def test_a_column_may_be_called_as_a_compaction_calls_its_own(
    bench: Bench, name: str, laid_out: TableLayout
) -> None:
    schema = pa.schema([("id", pa.int64()), (name, pa.int64()), ("_partition_by", pa.int64())])
    for turn in range(2):  # the second is a merge, where there are partitions
        rows = [{"id": number, name: number + turn, "_partition_by": 0} for number in (turn, 7)]
        bench.land(rows, schema, "id")
        before = bench.rows()

        manifest = bench.compacted(laid_out)

        assert bench.rows() == before
        for file in files_of(bench, manifest):
            assert file.column_names == [*schema.names, *(each.name for each in HIDDEN_FIELDS)]


def test_rows_are_partitioned_by_a_column_that_is_called_as_a_compaction_calls_its_own(bench: Bench) -> None:
    schema = pa.schema([("id", pa.int64()), ("_partition", pa.string())])
    bench.land([{"id": 1, "_partition": "b"}, {"id": 2, "_partition": "a"}], schema, "id")
    before = bench.rows()

    manifest = bench.compacted(TableLayout(cluster_by=("_partition",), partitioning=ByValue("_partition")))

    assert [file.partition for file in manifest.files] == ["a", "b"]
    assert bench.rows() == before


def test_a_file_that_was_written_without_a_column_of_the_table_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    bench.land(people(1), SCHEMA, "id")
    chosen = bench.compactor().choose(ORDERS)
    assert chosen is not None
    recipe = recipe_of(chosen.schema, bench.workshop.catalog.schemas.log(ORDERS), TableLayout())
    whole = recipe.conformer()
    inputs = input_files(chosen.selection, bench.workshop.layout)
    rows = pa.Table.from_batches([rows for _, rows in batches(inputs, whole)])
    fewer = whole.only({*whole.schema.names} - {"name"}).schema

    with pytest.raises(ColumnsDisagree, match="a file was written without `name`"):
        list(written(rows, np.arange(1), recipe, schema=fewer, folder=tmp_path, parts=[0]))
