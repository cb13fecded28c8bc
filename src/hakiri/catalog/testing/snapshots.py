"""Tests of `catalog.snapshots`."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import AuditEntry, NewEntry
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import LeaseLost, MissingSidecars, SnapshotExists, SnapshotStale
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    HOUR,
    KEYS,
    MINUTE,
    OTHER_TABLE,
    PIPELINE,
    SNAPSHOT,
    T0,
    TABLE,
    VECTORS,
    at_once,
    claimed,
    committed,
    done,
    doomed,
    edge,
    planned,
    sidecar,
    snapshot_of,
    step,
    tried,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all
from hakiri.core.ids import ChunkId, PipelineId, SnapshotId

EDGE = edge(2, 1, reason="folded")
ENTRY = NewEntry(
    by="operator:ada",
    action="restore",
    pipeline=PIPELINE,
    table=TABLE,
    before=' {"a": 1}',
    after="«ü»",
    reason="a bad\nimport",
)
LATER = SnapshotId("2026-05-11T09-00-00Z-node-anna")


def everything(catalog: Catalog) -> object:
    """All that a snapshot's commit can change."""
    return (
        catalog.snapshots.current(TABLE),
        catalog.snapshots.all(TABLE),
        catalog.snapshots.get(SNAPSHOT),
        catalog.snapshots.sidecars(SNAPSHOT),
        catalog.snapshots.revision(TABLE),
        catalog.garbage.due(T0 + HOUR),
        catalog.lineage.parents(EDGE.child),
        catalog.audit.page(),
    )


class SnapshotContract(Contract):
    """A snapshot is seen with all it needs, or not at all."""

    def test_a_table_has_no_snapshot_at_first(self, catalog: Catalog) -> None:
        assert catalog.snapshots.current(TABLE) is None
        assert catalog.snapshots.all(TABLE) == ()
        assert catalog.snapshots.get(SNAPSHOT) is None
        assert catalog.snapshots.sidecars(SNAPSHOT) == ()
        assert catalog.snapshots.revision(TABLE) == 0

    def test_a_committed_snapshot_is_the_current_one(self, catalog: Catalog) -> None:
        snapshot = snapshot_of(0)

        catalog.snapshots.commit(snapshot, T0)

        assert catalog.snapshots.current(TABLE) == snapshot
        assert catalog.snapshots.current_id(TABLE) == SNAPSHOT
        assert catalog.snapshots.current_id(OTHER_TABLE) is None
        assert catalog.snapshots.get(SNAPSHOT) == snapshot
        assert catalog.snapshots.all(TABLE) == (snapshot,)
        assert catalog.snapshots.current(OTHER_TABLE) is None

    def test_the_frontier_is_the_next_number_while_nobody_works(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        before = catalog.snapshots.frontier(TABLE)

        landed = committed(catalog)

        assert before == landed.seq
        assert catalog.snapshots.frontier(TABLE) == claimed(catalog).seq

    def test_the_frontier_waits_for_the_earliest_claim_that_may_still_land(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        slow = claimed(catalog)
        committed(catalog)

        assert catalog.snapshots.frontier(TABLE) == slow.seq
        assert catalog.snapshots.frontier(OTHER_TABLE) > slow.seq

        catalog.queue.give_back(slow, T0)

        assert catalog.snapshots.frontier(TABLE) > slow.seq
        with pytest.raises(LeaseLost):
            catalog.queue.commit(slow, done(), T0)

    def test_nothing_lands_below_a_frontier_while_many_work(self, opener: Opener) -> None:
        workers, chunks = 4, 10
        pipelines = [PipelineId(f"pipeline-{number}") for number in range(workers)]
        landed: set[int] = set()
        asked: list[tuple[int, set[int]]] = []
        with opener.open() as catalog:
            for pipeline in pipelines:
                planned(catalog, chunks, pipeline)

        def work(number: int) -> None:
            with opener.open() as catalog:
                for _ in range(chunks):
                    attempt = claimed(catalog, pipeline=pipelines[number])
                    catalog.queue.commit(attempt, done(), T0)
                    landed.add(attempt.seq)

        def ask() -> None:
            with opener.open() as catalog:
                for _ in range(chunks):
                    frontier = catalog.snapshots.frontier(TABLE)
                    known = {chunk.seq for chunk in catalog.chunks.landed(TABLE)}
                    asked.append((frontier, {seq for seq in known if seq is not None and seq < frontier}))

        at_once(lambda number: work(number) if number < workers else ask(), workers + 1)

        for frontier, below in asked:
            assert below == {seq for seq in landed if seq < frontier}

    @pytest.mark.spec("AD-005")
    @pytest.mark.spec("AD-020")
    @upholds(Invariant.ATOMIC_SNAPSHOTS)
    def test_a_snapshot_whose_sidecars_are_not_durable_is_refused(self, catalog: Catalog) -> None:
        catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
        catalog.snapshots.note_sidecar(sidecar(VECTORS, LATER), T0)
        before = everything(catalog)

        with pytest.raises(MissingSidecars) as raised:
            catalog.snapshots.commit(
                snapshot_of(0, indexes=(KEYS, VECTORS)), T0, [doomed("a")], edges=[EDGE], entries=[ENTRY]
            )

        assert raised.value.missing == (VECTORS,)
        assert everything(catalog) == before

    @pytest.mark.spec("AD-005")
    @pytest.mark.spec("AD-020")
    def test_a_snapshot_is_seen_at_once_after_its_commit_and_never_before(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        snapshot = snapshot_of(0, indexes=(VECTORS, KEYS))
        with opener.open() as other:
            catalog.snapshots.note_sidecar(sidecar(VECTORS), T0)
            catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
            assert other.snapshots.current(TABLE) is None
            assert other.snapshots.get(SNAPSHOT) is None

            catalog.snapshots.commit(snapshot, T0)

            assert other.snapshots.current(TABLE) == snapshot
            assert other.snapshots.sidecars(SNAPSHOT) == (sidecar(KEYS), sidecar(VECTORS))

    def test_sidecars_come_by_index(self, catalog: Catalog) -> None:
        catalog.snapshots.note_sidecar(sidecar(VECTORS), T0)
        catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
        catalog.snapshots.note_sidecar(sidecar(KEYS, LATER), T0)

        assert catalog.snapshots.sidecars(SNAPSHOT) == (sidecar(KEYS), sidecar(VECTORS))

    def test_a_sidecar_that_was_built_again_is_noted_anew(self, catalog: Catalog) -> None:
        catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
        rebuilt = replace(sidecar(KEYS), manifest_hash="sha256:other", bytes=1)

        catalog.snapshots.note_sidecar(rebuilt, T0 + MINUTE)

        assert catalog.snapshots.sidecars(SNAPSHOT) == (rebuilt,)

    def test_a_snapshot_of_an_older_revision_is_refused(self, catalog: Catalog) -> None:
        catalog.schemas.record(step(0), PIPELINE, T0)
        before = everything(catalog)

        with pytest.raises(SnapshotStale) as raised:
            catalog.snapshots.commit(snapshot_of(0), T0, [doomed("a")], edges=[EDGE], entries=[ENTRY])

        assert (raised.value.based_on, raised.value.revision) == (0, catalog.snapshots.revision(TABLE))
        assert everything(catalog) == before

    @pytest.mark.spec("HC-026")
    def test_what_it_was_made_of_and_who_wanted_it_come_with_a_snapshot(self, catalog: Catalog) -> None:
        catalog.snapshots.commit(snapshot_of(0), T0 + MINUTE, edges=[EDGE], entries=[ENTRY, ENTRY])

        assert catalog.lineage.parents(EDGE.child) == (EDGE,)
        first, second = reversed(catalog.audit.page())
        assert (first, second.number) == (
            AuditEntry(
                number=1,
                at=T0 + MINUTE,
                by=ENTRY.by,
                action=ENTRY.action,
                pipeline=ENTRY.pipeline,
                table=ENTRY.table,
                before=ENTRY.before,
                after=ENTRY.after,
                reason=ENTRY.reason,
            ),
            2,
        )

    def test_an_entry_by_nobody_keeps_a_snapshot_from_being_committed(self, catalog: Catalog) -> None:
        before = everything(catalog)

        with pytest.raises(ValueError, match="decides nothing"):
            catalog.snapshots.commit(snapshot_of(0), T0, entries=[replace(ENTRY, by="somebody")])

        assert everything(catalog) == before

    def test_the_same_snapshot_twice_is_one_commit(self, catalog: Catalog) -> None:
        catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
        snapshot = snapshot_of(0, indexes=(KEYS,))
        catalog.snapshots.commit(snapshot, T0, [doomed("a")], edges=[EDGE], entries=[ENTRY])
        catalog.garbage.forget([doomed("a").path], T0)
        before = everything(catalog)

        catalog.snapshots.commit(snapshot, T0 + MINUTE, [doomed("a")], edges=[EDGE], entries=[ENTRY])

        assert everything(catalog) == before
        assert catalog.snapshots.commits(TABLE) == ((SNAPSHOT, T0),)

    def test_another_snapshot_of_the_same_id_is_refused(self, catalog: Catalog) -> None:
        catalog.snapshots.commit(snapshot_of(0), T0)
        before = everything(catalog)

        revision = catalog.snapshots.revision(TABLE)
        for other in (replace(snapshot_of(revision), rows=1), snapshot_of(0, table=OTHER_TABLE)):
            with pytest.raises(SnapshotExists):
                catalog.snapshots.commit(other, T0)

        assert everything(catalog) == before
        assert catalog.snapshots.current(OTHER_TABLE) is None

    def test_the_current_snapshot_is_the_one_committed_last(self, catalog: Catalog) -> None:
        first = snapshot_of(0, snapshot=LATER)
        catalog.snapshots.commit(first, T0)
        # Made on a node whose clock is behind.
        second = snapshot_of(catalog.snapshots.revision(TABLE), created_at=T0 - HOUR)

        catalog.snapshots.commit(second, T0 - HOUR)

        assert catalog.snapshots.current(TABLE) == second
        assert catalog.snapshots.all(TABLE) == (first, second)
        assert catalog.snapshots.commits(TABLE) == ((LATER, T0), (SNAPSHOT, T0 - HOUR))
        assert catalog.snapshots.commits(OTHER_TABLE) == ()

    def test_the_files_that_a_snapshot_replaces_are_doomed_with_it(self, catalog: Catalog) -> None:
        drops = [doomed("b", T0 + MINUTE), doomed("a", T0 + MINUTE)]

        catalog.snapshots.commit(snapshot_of(0), T0, drops)

        assert catalog.garbage.due(T0) == ()
        assert catalog.garbage.due(T0 + MINUTE) == (drops[1], drops[0])

    def test_the_revision_grows_when_a_tables_past_changes(self, catalog: Catalog) -> None:
        revisions = [catalog.snapshots.revision(TABLE)]

        planned(catalog, 1)
        committed(catalog)
        assert catalog.snapshots.revision(TABLE) == revisions[-1], (
            "a run adds to the past, it changes nothing"
        )

        catalog.schemas.record(step(0), PIPELINE, T0)
        revisions.append(catalog.snapshots.revision(TABLE))
        catalog.chunks.supersede(PIPELINE, [ChunkId(1)], "rewind", T0)
        revisions.append(catalog.snapshots.revision(TABLE))
        catalog.snapshots.commit(snapshot_of(revisions[-1]), T0, [doomed("a")])
        revisions.append(catalog.snapshots.revision(TABLE))
        catalog.garbage.forget([doomed("a").path], T0)
        revisions.append(catalog.snapshots.revision(TABLE))

        assert revisions == sorted(set(revisions))
        assert catalog.snapshots.revision(OTHER_TABLE) == 0

    @upholds(Invariant.ATOMIC_SNAPSHOTS)
    def test_of_many_snapshots_of_one_revision_at_once_one_is_committed(self, catalog: Catalog) -> None:
        candidates = [snapshot_of(0, snapshot=SnapshotId(f"snapshot {number}")) for number in range(8)]

        outcomes = at_once(lambda n: tried(lambda: catalog.snapshots.commit(candidates[n], T0)))

        assert sum(outcome is None for outcome in outcomes) == 1
        assert sum(isinstance(outcome, SnapshotStale) for outcome in outcomes) == len(outcomes) - 1
        assert catalog.snapshots.all(TABLE) == (candidates[outcomes.index(None)],)

    @pytest.mark.spec("AD-005")
    @upholds(Invariant.ATOMIC_SNAPSHOTS)
    def test_no_reader_ever_sees_a_snapshot_without_its_sidecars(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        is_over = threading.Event()

        def write() -> None:
            for number in range(10):
                snapshot = SnapshotId(f"snapshot {number}")
                for index in (KEYS, VECTORS):
                    catalog.snapshots.note_sidecar(sidecar(index, snapshot), T0)
                revision = catalog.snapshots.revision(TABLE)
                catalog.snapshots.commit(
                    snapshot_of(revision, snapshot=snapshot, indexes=(KEYS, VECTORS)), T0
                )

        def read(handle: Catalog) -> None:
            seen = 0
            while not is_over.is_set():
                snapshots = handle.snapshots.all(TABLE)
                assert len(snapshots) >= seen
                seen = len(snapshots)
                if current := handle.snapshots.current(TABLE):
                    assert len(handle.snapshots.sidecars(current.snapshot)) == 2

        def take_part(number: int) -> None:
            if number:
                read((catalog, other)[number % 2])
                return
            try:
                write()
            finally:
                is_over.set()

        with opener.open() as other:
            at_once(take_part, threads=4)

        assert len(catalog.snapshots.all(TABLE)) == 10

    @pytest.mark.spec("AD-005")
    @upholds(Invariant.ATOMIC_SNAPSHOTS)
    def test_the_store_takes_no_snapshot_apart(self, catalog: Catalog, vandal: Vandal) -> None:
        catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
        snapshot = snapshot_of(0, indexes=(KEYS,))
        catalog.snapshots.commit(snapshot, T0)
        lacking = snapshot_of(9, snapshot=LATER, indexes=(KEYS,))

        refuses_all(
            [
                lambda: vandal.insert_snapshot(lacking),
                lambda: vandal.change_snapshot(snapshot),
                lambda: vandal.delete_snapshot(snapshot),
                lambda: vandal.delete_sidecars(snapshot),
            ],
            lambda: everything(catalog),
        )
