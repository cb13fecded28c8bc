"""A catalog made of the tree: what counts of what lies there, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.compaction.bench import Bench
from tests.store.rebuilding import KEPT, planned, rebuild_catalog
from tests.store.workshop import NODE, ORDERS, PIPELINE, T0, TTL, Workshop, open_workshop

from hakiri.catalog.contract.chunks import ChunkStatus, NewChunk
from hakiri.compaction.collecting import Collector
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, RunId
from hakiri.store.files import LocalFiles
from hakiri.store.manifests import AttemptManifest, seal
from hakiri.store.rebuild.errors import TreeBroken

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with open_workshop(tmp_path) as workshop:
        workshop.catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        yield workshop


@pytest.fixture
def bench(workshop: Workshop) -> Bench:
    return Bench(workshop)


def row(number: int, name: str = "a") -> dict[str, object]:
    return {"id": number, "name": name}


def sealed(workshop: Workshop, number: int, *key: str) -> AttemptManifest:
    """An attempt that wrote everything, and whose process died before it told the catalog."""
    workshop.catalog.chunks.plan(PIPELINE, f"lost {number}", [NewChunk(table=ORDERS, predicate="{}")], T0)
    attempt = workshop.claim()
    manifest = workshop.write(attempt, [row(number)], SCHEMA, *key)
    workshop.catalog.queue.give_back(attempt, T0)
    return manifest


def made_anew(workshop: Workshop) -> list[tuple[object, ...]]:
    """What a reader sees after the catalog was lost and made anew, with no promise broken."""
    rebuild_catalog(workshop, T0)
    assert workshop.catalog.check() == ()
    workshop.publish()
    return workshop.query("SELECT id, name FROM orders ORDER BY ALL")


@pytest.mark.parametrize("key", [(), ("id",)])
def test_of_several_attempts_at_a_chunk_only_the_last_counts(
    workshop: Workshop, key: tuple[str, ...]
) -> None:
    sealed(workshop, 1, *key)

    workshop.work([row(1, "again")], SCHEMA, *key)

    assert made_anew(workshop) == [(1, "again")]
    (chunk,) = workshop.chunks()
    assert (chunk.attempts, chunk.seq) == (2, 2)


@pytest.mark.parametrize("key", [(), ("id",)])
def test_one_that_was_sealed_and_never_committed_does_not_count_once_a_snapshot_was_made_without_it(
    bench: Bench, workshop: Workshop, key: tuple[str, ...]
) -> None:
    workshop.land([row(1)], SCHEMA, *key)
    lost = sealed(workshop, 2, *key)
    workshop.catalog.chunks.skip(PIPELINE, [lost.chunk], T0)
    workshop.land([row(3)], SCHEMA, *key)
    snapshot = bench.compacted()
    assert snapshot.held == ((1, 3),)

    found = planned(workshop.layout, T0)

    assert [each.attempt.chunk for each in found.tables[0].left_out] == [lost.chunk]
    assert made_anew(workshop) == [(1, "a"), (3, "a")]
    assert [chunk.chunk for chunk in workshop.chunks()] == [1, 3]
    workshop.land([row(4)], SCHEMA, *key)
    assert workshop.chunks()[-1].chunk == 4


def test_of_a_replacement_that_is_not_whole_nothing_counts_in_a_table_without_a_key(
    workshop: Workshop,
) -> None:
    for number in (1, 2):
        workshop.land([row(number)], SCHEMA)
    two = [NewChunk(table=ORDERS, predicate="{}")] * 2
    workshop.catalog.chunks.supersede(PIPELINE, [ChunkId(1), ChunkId(2)], "cut anew", T0, into=two)
    workshop.work([row(1, "new")], SCHEMA)

    assert made_anew(workshop) == [(1, "a"), (2, "a")]
    assert [chunk.status for chunk in workshop.chunks()] == [ChunkStatus.DONE] * 2


def test_one_that_is_whole_has_taken_the_place_of_the_others(workshop: Workshop) -> None:
    for number in (1, 2):
        workshop.land([row(number)], SCHEMA)
    two = [NewChunk(table=ORDERS, predicate="{}")] * 2
    workshop.catalog.chunks.supersede(PIPELINE, [ChunkId(1), ChunkId(2)], "cut anew", T0, into=two)
    for number in (1, 2):
        workshop.work([row(number, "new")], SCHEMA)
    before = workshop.chunks()

    assert made_anew(workshop) == [(1, "new"), (2, "new")]
    assert workshop.chunks() == before
    assert [chunk.superseded_by for chunk in before] == [4, 4, None, None]


@pytest.mark.spec("HC-026")
def test_which_run_came_from_which_is_told_by_what_was_read_again_and_by_snapshots(
    bench: Bench, workshop: Workshop
) -> None:
    workshop.land([row(1)], SCHEMA)
    workshop.catalog.chunks.supersede(PIPELINE, [ChunkId(1)], "RT-481", T0)
    workshop.work([row(1, "new")], SCHEMA)
    first, again = (chunk.run or RunId("") for chunk in workshop.chunks())
    snapshot = bench.compacted()

    made_anew(workshop)

    lineage = workshop.catalog.lineage
    assert [(edge.parent, edge.kind, edge.reason) for edge in lineage.parents(again)] == [
        (first, "rewind", "RT-481")
    ]
    assert {(edge.parent, edge.kind) for edge in lineage.parents(snapshot.run)} == {
        (first, "compaction"),
        (again, "compaction"),
    }
    (known,) = workshop.catalog.snapshots.all(ORDERS)
    assert set(known.includes_runs) == {first, again}
    run = workshop.catalog.runs.get(snapshot.run)
    assert run is not None
    assert run.pipeline == "compaction:orders"


def test_what_a_snapshot_replaced_is_still_collected_when_its_time_has_come(
    bench: Bench, workshop: Workshop
) -> None:
    for number in range(3):
        workshop.land([row(number)], SCHEMA, "id")
    bench.compacted()
    workshop.land([row(7)], SCHEMA, "id")
    bench.compacted()
    far = T0 + timedelta(days=1000)
    doomed = {file.path for file in workshop.catalog.garbage.due(far)}
    before = made_anew(workshop)
    collector = Collector(
        catalog=workshop.catalog, layout=workshop.layout, clock=bench.clock, files=LocalFiles()
    )

    assert collector.collect(KEPT).deleted == ()
    bench.clock.advance(KEPT + timedelta(seconds=1))
    gone = collector.collect(KEPT)

    assert {file.path for file in gone.deleted} == doomed
    assert made_anew(workshop) == before


def test_a_snapshot_keeps_its_sidecars_and_without_one_of_them_the_one_before_is_in_force(
    bench: Bench, workshop: Workshop
) -> None:
    workshop.land([row(1)], SCHEMA, "id")
    first = bench.compacted()
    workshop.land([row(2)], SCHEMA, "id")
    second = bench.compacted()
    sidecars = workshop.catalog.snapshots.sidecars(second.snapshot)
    assert sidecars

    assert made_anew(workshop) == [(1, "a"), (2, "a")]
    assert workshop.catalog.snapshots.sidecars(second.snapshot) == sidecars
    manifest = workshop.layout.index_folder(ORDERS, sidecars[0].index) / f"snapshot={second.snapshot}"
    (manifest / "_manifest.json").unlink()

    assert made_anew(workshop) == [(1, "a"), (2, "a")]
    assert workshop.catalog.snapshots.current_id(ORDERS) == first.snapshot


def test_manifests_of_the_first_format_count_and_what_they_do_not_tell_is_told(workshop: Workshop) -> None:
    workshop.catalog.chunks.plan(PIPELINE, "one", [NewChunk(table=ORDERS, predicate="{}")], T0)
    attempt = workshop.claim()
    manifest = workshop.write(attempt, [row(1)], SCHEMA)
    step = workshop._step(SCHEMA, (), ORDERS)
    seal(workshop.layout, [replace(manifest, commit=None)])
    workshop.commit(attempt, replace(manifest, commit=None), step)
    workshop.publish()

    found = planned(workshop.layout, T0)

    assert found.without_commit == {ORDERS: 1}
    assert made_anew(workshop) == [(1, "a")]


def test_two_attempts_with_one_claim_are_of_two_stores_and_no_catalog_is_made_of_them(
    workshop: Workshop,
) -> None:
    workshop.land([row(1)], SCHEMA)
    ours = AttemptManifest.parse(workshop.chunks()[0].manifest or "")
    seal(workshop.layout, [replace(ours, run=RunId("run-of-others"), chunk=ChunkId(2), files=())])

    with pytest.raises(TreeBroken) as caught:
        planned(workshop.layout, T0)

    assert f"has claim 1, and so has `{ours.place}`" in str(caught.value)


def test_claims_go_on_above_all_that_any_file_tells(workshop: Workshop) -> None:
    workshop.land([row(1)], SCHEMA)
    lost = sealed(workshop, 2)

    rebuild_catalog(workshop, T0)

    workshop.catalog.chunks.plan(PIPELINE, "next", [NewChunk(table=ORDERS, predicate="{}")], T0)
    attempt = workshop.catalog.queue.claim(PIPELINE, RunId("run-9"), NODE, T0, ttl=TTL)
    assert attempt is not None
    assert attempt.seq > lost.seq
    assert attempt.chunk > lost.chunk
