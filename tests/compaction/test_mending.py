"""Snapshots that were damaged, and are folded once more from what they were made of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.compaction.bench import SCHEMA, Bench, run_here
from tests.store.test_checking import checked
from tests.store.workshop import NODE, ORDERS, PIPELINE, T0

from hakiri.catalog.contract.snapshots import DoomedFile
from hakiri.compaction.claims import Claims
from hakiri.compaction.collecting import Collector
from hakiri.compaction.compacting import Compacted
from hakiri.compaction.errors import CompactionUnderWay, FilesDamaged, TableMoved
from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun
from hakiri.compaction.steps import Step
from hakiri.compaction.verify_tasks import VerifyTask
from hakiri.core.ids import ChunkId
from hakiri.store.checking.findings import Severity
from hakiri.store.files import LocalFiles
from hakiri.store.snapshots import SnapshotManifest

KEPT = timedelta(days=1)
LAID_OUT = TableLayout(retain=KEPT)
BY_NAME = TableLayout(retain=KEPT, partitioning=ByValue("name"))
KEYS = pytest.mark.parametrize("key", [("id",), ()], ids=["key", "no key"])


def flip_a_byte(path: Path) -> None:
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


DAMAGES = pytest.mark.parametrize("damage", [flip_a_byte, cut_off, Path.unlink], ids=lambda one: one.__name__)


def people(*numbers: int, name: str = "n") -> list[dict[str, Any]]:
    return [{"id": number, "name": f"{name}{number}"} for number in numbers]


def files_of(bench: Bench, manifest: SnapshotManifest) -> list[Path]:
    return [bench.workshop.layout.data_folder(ORDERS) / file.path for file in manifest.files]


def run_files(bench: Bench, chunk: int) -> list[Path]:
    runs = bench.workshop.layout.data_folder(ORDERS) / "runs"
    return sorted(runs.glob(f"*/*/chunk-{chunk}/*/part-*.parquet"))


def mended(bench: Bench, laid_out: TableLayout = LAID_OUT, **how: Any) -> Compacted:
    done = bench.compact(laid_out, is_full=True, **how)
    assert done is not None
    return done


def collect(bench: Bench) -> None:
    Collector(
        catalog=bench.workshop.catalog, layout=bench.workshop.layout, clock=bench.clock, files=LocalFiles()
    ).collect(KEPT, tables=(ORDERS,))


def insist_on_whole(bench: Bench) -> None:
    """A collection takes away at once what is damaged, and then there is nothing to find."""
    collect(bench)
    assert [one for one in checked(bench.workshop).findings if one.severity is not Severity.LITTER] == []


def advice(bench: Bench) -> str:
    """What a check says to do about the snapshot."""
    found = checked(bench.workshop).findings
    (one,) = [each for each in found if each.severity is Severity.DAMAGE and "snapshot=" in each.path]
    return one.advice


@pytest.mark.spec("HC-044")
@KEYS
@DAMAGES
@pytest.mark.parametrize("laid_out", [LAID_OUT, BY_NAME], ids=["one file", "partitions"])
def test_a_damaged_snapshot_is_folded_once_more_from_its_runs(
    bench: Bench, key: tuple[str, ...], damage: Callable[[Path], None], laid_out: TableLayout
) -> None:
    bench.land(people(1, 2, 3), SCHEMA, *key)
    bench.land(people(2, name="new "), SCHEMA, *key)
    snapshot = bench.compacted(laid_out)
    bench.land(people(4), SCHEMA, *key)
    before = bench.rows()
    file = files_of(bench, snapshot)[0]
    damage(file)
    assert "`hakiri context compact --full orders`, and no `hakiri context gc` before" in advice(bench)

    done = mended(bench, laid_out)

    assert done.mended == (bench.workshop.layout.relative(file),)
    assert bench.rows() == before
    insist_on_whole(bench)
    assert bench.rows() == before


@pytest.mark.spec("HC-044")
@DAMAGES
@pytest.mark.parametrize("size", [1 << 30, 500], ids=["at once", "in ranges"])
@pytest.mark.parametrize(
    ("laid_out", "key"),
    [(LAID_OUT, ("id",)), (LAID_OUT, ()), (BY_NAME, ("id",))],
    ids=["key", "no key", "key and partitions"],
)
def test_no_compaction_takes_a_damaged_file_for_what_was_written(
    bench: Bench, key: tuple[str, ...], damage: Callable[[Path], None], laid_out: TableLayout, size: int
) -> None:
    bench.land(people(1, 2, 3), SCHEMA, *key)
    bench.land(people(2, name="new "), SCHEMA, *key)
    snapshot = bench.compacted(laid_out)
    bench.land(people(2, 4, name="newest "), SCHEMA, *key)
    before = bench.rows()
    number = next(place for place, file in enumerate(snapshot.files) if file.partition in (None, "new 2"))
    file = files_of(bench, snapshot)[number]
    damage(file)

    done = bench.compact(laid_out, bytes_a_range=size)

    assert done is not None
    assert done.mended == (bench.workshop.layout.relative(file),)
    assert bench.rows() == before
    insist_on_whole(bench)


@KEYS
@DAMAGES
def test_a_run_that_was_damaged_before_it_was_folded_is_told_and_not_folded(
    bench: Bench, key: tuple[str, ...], damage: Callable[[Path], None]
) -> None:
    bench.land(people(1), SCHEMA, *key)
    first = bench.compacted(LAID_OUT)
    bench.land(people(2), SCHEMA, *key)
    (file,) = run_files(bench, 2)
    damage(file)

    with pytest.raises(FilesDamaged) as raised:
        bench.compact(LAID_OUT)

    assert raised.value.damaged == (bench.workshop.layout.relative(file),)
    assert raised.value.lost == {PIPELINE: [ChunkId(2)]}
    assert bench.workshop.catalog.snapshots.current_id(ORDERS) == first.snapshot
    assert not [*bench.workshop.layout.data_folder(ORDERS).glob("*.staging")]


@KEYS
def test_runs_that_are_gone_are_had_from_the_snapshot_before(bench: Bench, key: tuple[str, ...]) -> None:
    bench.land(people(1, 2), SCHEMA, *key)
    first = bench.compacted(LAID_OUT)
    bench.pass_time(KEPT)
    collect(bench)
    assert run_files(bench, 1) == []
    bench.land([{"id": 1, "_op": "delete"} if key else {"id": 9, "name": "n9"}, *people(2)], SCHEMA, *key)
    second = bench.compacted(LAID_OUT)
    before = bench.rows()
    flip_a_byte(files_of(bench, second)[0])
    assert "--full orders`, and no" in advice(bench)

    mended(bench)

    assert bench.rows() == before
    assert all(path.exists() for path in files_of(bench, first))
    insist_on_whole(bench)


def test_a_snapshot_whose_runs_are_whole_beside_a_damaged_one_before_it_is_made_of_runs_alone(
    bench: Bench,
) -> None:
    bench.land(people(1, 2), SCHEMA, "id")
    first = bench.compacted(LAID_OUT)
    bench.land(people(3), SCHEMA, "id")
    second = bench.compacted(LAID_OUT)
    for path in (*files_of(bench, first), *files_of(bench, second)):
        flip_a_byte(path)

    done = mended(bench)

    assert done.mended == (bench.workshop.layout.relative(files_of(bench, second)[0]),)
    assert bench.rows() == [(1, "n1"), (2, "n2"), (3, "n3")]


def test_what_was_read_again_or_withdrawn_since_does_not_come_back(bench: Bench) -> None:
    catalog = bench.workshop.catalog
    bench.land(people(1))
    bench.land(people(2))
    at = bench.pass_time()
    bench.land(people(3))
    bench.compacted(LAID_OUT)
    bench.restore(at, LAID_OUT)
    catalog.chunks.supersede(PIPELINE, [ChunkId(1)], "again", T0)
    bench.workshop.work(people(1, name="again "), SCHEMA)
    bench.workshop.publish()
    before = bench.rows()
    row = catalog.snapshots.current(ORDERS)
    assert row is not None
    files_of(bench, SnapshotManifest.parse(row.manifest))[0].unlink()

    mended(bench)

    assert bench.rows() == before == [(1, "again 1"), (2, "n2")]
    insist_on_whole(bench)


def test_a_deleted_row_does_not_come_back_with_a_snapshot_that_holds_too_little(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    first = bench.pass_time()
    bench.land(people(2), SCHEMA, "id")
    bench.land([{"id": 2, "_op": "delete"}], SCHEMA, "id")
    second = bench.pass_time()
    bench.restore(first, LAID_OUT)
    bench.pass_time()
    bench.restore(second, LAID_OUT)
    row = bench.workshop.catalog.snapshots.current(ORDERS)
    assert row is not None
    flip_a_byte(files_of(bench, SnapshotManifest.parse(row.manifest))[0])

    mended(bench)

    assert bench.rows() == [(1, "n1")]


def test_what_is_lost_is_told_with_what_can_be_done_in_a_table_with_a_key(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    first = bench.compacted(LAID_OUT)
    bench.pass_time()
    bench.land(people(2), SCHEMA, "id")
    bench.land(people(3), SCHEMA, "id")
    second = bench.compacted(LAID_OUT)
    (file,) = files_of(bench, second)
    file.unlink()
    flip_a_byte(run_files(bench, 2)[0])
    run_files(bench, 3)[0].unlink()
    assert "put it back from a copy of the store; nothing else has all of its rows" in advice(bench)

    with pytest.raises(FilesDamaged) as raised:
        mended(bench)

    error = raised.value
    path = bench.workshop.layout.relative(file)
    assert str(error) == (
        f"table `orders` cannot be written anew without `{path}`, which is damaged or gone: nothing else has "
        "the rows of chunks 2, 3 of pipeline `shop`"
    )
    assert error.hint == (
        "put back from a copy of the store what is damaged; or run `hakiri context restore orders --at "
        f"{first.snapshot}`, which makes the table what it was then; with `--reread` what came since is "
        "planned to be pulled again"
    )
    assert bench.workshop.catalog.snapshots.current_id(ORDERS) == second.snapshot
    assert list(bench.workshop.layout.data_folder(ORDERS).glob("*.staging")) == []

    bench.restore(dict(bench.workshop.catalog.snapshots.commits(ORDERS))[first.snapshot], LAID_OUT)

    assert bench.rows() == [(1, "n1")]


def test_chunks_that_are_read_again_take_the_place_of_lost_ones_in_a_table_without_a_key(
    bench: Bench,
) -> None:
    bench.land(people(1))
    bench.land(people(2))
    snapshot = bench.compacted(LAID_OUT)
    flip_a_byte(files_of(bench, snapshot)[0])
    run_files(bench, 1)[0].unlink()

    with pytest.raises(
        FilesDamaged, match="nothing else has the rows of chunk 1 of pipeline `shop`"
    ) as raised:
        mended(bench)

    assert "; or run `hakiri backfill rewind shop --table orders --from … --to …" in raised.value.hint
    assert "restore" not in raised.value.hint
    bench.workshop.catalog.chunks.supersede(PIPELINE, [ChunkId(1)], "damaged", T0)
    bench.workshop.work(people(1, name="again "), SCHEMA)
    mended(bench)
    assert bench.rows() == [(1, "again 1"), (2, "n2")]
    insist_on_whole(bench)


def test_a_damaged_run_that_is_not_folded_yet_is_not_folded(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    bench.compacted(LAID_OUT)
    bench.land(people(2), SCHEMA, "id")
    flip_a_byte(run_files(bench, 2)[0])

    with pytest.raises(
        FilesDamaged, match=r"chunk-2/.* is damaged or gone: nothing else has the rows of chunk 2"
    ):
        mended(bench)


def test_a_store_that_is_whole_is_written_anew_from_its_snapshot(bench: Bench) -> None:
    bench.land(people(1, 2), SCHEMA, "id")
    bench.compacted(LAID_OUT)
    for path in run_files(bench, 1):
        path.unlink()

    done = mended(bench)

    assert (done.mended, bench.rows()) == ((), [(1, "n1"), (2, "n2")])


@pytest.mark.spec("HC-042")
def test_a_collection_meanwhile_leaves_what_is_read(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    snapshot = bench.compacted(LAID_OUT)
    before = bench.rows()
    flip_a_byte(files_of(bench, snapshot)[0])
    bench.pass_time(KEPT)  # what was folded may go from now on
    seen: list[DoomedFile] = []

    def run_tasks(tasks: Any) -> Any:
        reports = run_here(tasks)
        if isinstance(tasks[0], VerifyTask) and not reports[0].paths:
            collect(bench)
            seen.extend(bench.workshop.catalog.garbage.due(T0 + 10 * KEPT))
        return reports

    mended(bench, run_tasks=run_tasks)

    assert [file.reason for file in seen] == ["folded into a snapshot"]
    assert bench.rows() == before


def test_only_one_mends_and_who_comes_too_late_changes_nothing(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    snapshot = bench.compacted(LAID_OUT)
    before = bench.rows()
    flip_a_byte(files_of(bench, snapshot)[0])
    claims = Claims(catalog=bench.workshop.catalog, clock=bench.clock, node=NODE)
    refused: list[type[Exception]] = []

    def work(**how: Any) -> Compacted | None:
        return CompactionRun(
            compactor=bench.compactor(**how), table=ORDERS, laid_out=LAID_OUT, is_full=True, claims=claims
        ).work(bench.new_run())

    def meanwhile(step: Step) -> None:
        if step is Step.FOLDED:
            with pytest.raises(CompactionUnderWay) as raised:
                work()
            refused.append(raised.type)

    assert work(reached=meanwhile) is not None
    assert refused == [CompactionUnderWay]
    assert bench.rows() == before

    def overtaken(step: Step) -> None:
        if step is Step.FOLDED:
            bench.compact(LAID_OUT, is_full=True)

    with pytest.raises(TableMoved):
        bench.compact(LAID_OUT, is_full=True, reached=overtaken)
    assert bench.rows() == before
    insist_on_whole(bench)
