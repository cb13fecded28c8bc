"""The past of restored tables, when the catalog was lost and made anew from the tree."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.rebuilding import planned, rebuild_catalog
from tests.store.test_checking import checked
from tests.store.workshop import ORDERS, PIPELINE, T0, open_workshop

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.compaction.collecting import Collector
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.steps import Step
from hakiri.store.errors import PastGone
from hakiri.store.files import LocalFiles
from hakiri.store.known_tables import known_table
from hakiri.store.layout import StoreLayout
from hakiri.store.past import state_at, withdrawn
from hakiri.store.rebuild.errors import TreeBroken
from hakiri.store.views import view_sql

KEPT = timedelta(days=1)
LAID_OUT = TableLayout(retain=KEPT)
KEYS = pytest.mark.parametrize("key", [("id",), ()], ids=["key", "no key"])


def person(number: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"n{number}"}]


def ids_at(bench: Bench, at: datetime) -> list[int]:
    """What `--at` shows."""
    state = state_at(bench.workshop.layout, bench.workshop.catalog, ORDERS, at)
    with duckdb.connect() as reader:
        reader.execute(view_sql(state))
        return [number for (number,) in reader.execute("SELECT id FROM orders ORDER BY id").fetchall()]


def ids(bench: Bench) -> list[int]:
    bench.workshop.publish()
    return [number for number, _ in bench.rows()]


def made_anew(bench: Bench) -> None:
    rebuild_catalog(bench.workshop, bench.clock.now())
    assert bench.workshop.catalog.check() == ()


def lost_chunks(bench: Bench) -> list[int]:
    known = known_table(bench.workshop.catalog, ORDERS)
    assert known is not None
    return [int(one.chunk) for one in withdrawn(known.contents)]


def collect(bench: Bench) -> None:
    Collector(
        catalog=bench.workshop.catalog, layout=bench.workshop.layout, clock=bench.clock, files=LocalFiles()
    ).collect(KEPT, tables=(ORDERS,))


@pytest.mark.spec("HC-043")
@KEYS
@pytest.mark.parametrize("is_compacted", [True, False], ids=["compacted", "not compacted"])
def test_every_moment_before_and_after_a_restore_is_seen_as_before(
    bench: Bench, key: tuple[str, ...], is_compacted: bool
) -> None:
    moments = []
    for number in (1, 2, 3):
        bench.land(person(number), SCHEMA, *key)
        if is_compacted:
            bench.compacted(LAID_OUT)
        moments.append(bench.pass_time())
    bench.restore(moments[0], LAID_OUT)
    moments.append(bench.pass_time())
    bench.land(person(4), SCHEMA, *key)
    bench.compacted(LAID_OUT)
    moments.append(bench.pass_time())
    before = [ids_at(bench, at) for at in moments]
    lost = lost_chunks(bench)

    made_anew(bench)

    assert [ids_at(bench, at) for at in moments] == before == [[1], [1, 2], [1, 2, 3], [1], [1, 4]]
    assert lost_chunks(bench) == lost == [2, 3]
    bench.workshop.publish()
    assert checked(bench.workshop).findings == ()
    bench.restore(moments[2], LAID_OUT)
    assert ids(bench) == [1, 2, 3]
    bench.pass_time()
    made_anew(bench)
    assert [ids_at(bench, at) for at in moments] == before
    assert ids(bench) == [1, 2, 3]


@KEYS
def test_a_restore_whose_snapshot_was_collected_is_still_known_by_what_came_after(
    bench: Bench, key: tuple[str, ...]
) -> None:
    bench.land(person(1), SCHEMA, *key)
    first = bench.pass_time()
    bench.land(person(2), SCHEMA, *key)
    second = bench.pass_time()
    bench.restore(first, LAID_OUT)
    third = bench.pass_time(KEPT / 2)
    bench.land(person(3), SCHEMA, *key)
    bench.compacted(LAID_OUT)
    fourth = bench.pass_time(KEPT / 4)
    bench.restore(second, LAID_OUT)  # keeps the files of the first two for longer
    bench.pass_time(KEPT - KEPT / 8)
    collect(bench)

    with pytest.raises(PastGone):
        ids_at(bench, third)

    made_anew(bench)

    assert len(bench.workshop.catalog.snapshots.all(ORDERS)) == 2
    moments = (first, second, third, fourth)
    assert [ids_at(bench, at) for at in moments] == [[1], [1, 2], [1], [1, 3]]
    assert ids(bench) == [1, 2]


@KEYS
def test_an_attempt_that_never_landed_is_not_taken_for_a_withdrawn_one(
    bench: Bench, key: tuple[str, ...]
) -> None:
    workshop = bench.workshop
    bench.land(person(1), SCHEMA, *key)
    first = bench.pass_time()
    bench.land(person(2), SCHEMA, *key)
    workshop.catalog.chunks.plan(PIPELINE, "lost", [NewChunk(table=ORDERS, predicate="{}")], T0)
    attempt = workshop.claim()
    workshop.write(attempt, person(3), SCHEMA, *key)  # and its process died
    workshop.catalog.queue.give_back(attempt, T0)
    workshop.catalog.chunks.skip(PIPELINE, [attempt.chunk], T0)
    bench.land(person(4), SCHEMA, *key)
    last = bench.pass_time()
    bench.restore(first, LAID_OUT)

    made_anew(bench)

    assert [int(chunk.chunk) for chunk in workshop.chunks()] == [1, 2, 4]
    assert [ids_at(bench, at) for at in (first, last)] == [[1], [1, 2, 4]]


@pytest.mark.spec("HC-044")
@KEYS
@pytest.mark.parametrize("step", [Step.DATA_RENAMED, Step.SIDECARS_RENAMED, Step.COMMITTED, Step.PUBLISHED])
def test_a_restore_that_no_reader_saw_is_not_done_by_a_rebuild(
    bench: Bench, tmp_path: Path, key: tuple[str, ...], step: Step
) -> None:
    bench.land(person(1), SCHEMA, *key)
    bench.compacted(LAID_OUT)
    bench.pass_time()
    bench.land(person(2), SCHEMA, *key)
    bench.pass_time()

    def reached(now: Step) -> None:
        if now is step:  # what a process leaves that dies here
            shutil.copytree(bench.workshop.layout.root, tmp_path / "copy")

    bench.restore(T0, LAID_OUT, reached=reached)

    with open_workshop(tmp_path / "copy") as workshop:
        copy = Bench(workshop, bench.clock, _runs=1000)
        workshop.plans = iter(range(1000, 2000))
        made_anew(copy)

        assert ids(copy) == ([1] if step is Step.PUBLISHED else [1, 2])
        copy.land(person(3), SCHEMA, *key)
        copy.compacted(LAID_OUT)
        made_anew(copy)
        assert ids(copy) == ([1, 3] if step is Step.PUBLISHED else [1, 2, 3])


def test_a_restore_that_something_was_made_from_counts_whatever_the_view_shows(bench: Bench) -> None:
    bench.land(person(1), SCHEMA, "id")
    bench.pass_time()
    bench.land(person(2), SCHEMA, "id")
    bench.pass_time()
    view = bench.workshop.layout.view_file(ORDERS)
    shown = view.read_bytes()
    bench.restore(T0, LAID_OUT)
    bench.land(person(3), SCHEMA, "id")
    bench.compacted(LAID_OUT)
    view.write_bytes(shown)

    made_anew(bench)

    assert ids(bench) == [1, 3]


def test_where_a_restored_snapshot_is_damaged_what_it_withdrew_does_not_come_back(bench: Bench) -> None:
    bench.land(person(1), SCHEMA, "id")
    before = bench.compacted(LAID_OUT)
    at = bench.pass_time()
    bench.land(person(2), SCHEMA, "id")
    bench.pass_time()
    bench.restore(at, LAID_OUT)
    row = bench.workshop.catalog.snapshots.current(ORDERS)
    assert row is not None
    layout = StoreLayout(bench.workshop.layout.root)
    (file,) = layout.snapshot_folder(ORDERS, row.snapshot).glob("*.parquet")
    file.unlink()
    assert layout.snapshot_folder(ORDERS, before.snapshot).exists()

    with pytest.raises(TreeBroken, match="is missing") as raised:
        planned(layout, T0)

    assert [problem.path for problem in raised.value.problems] == [layout.relative(file)]
