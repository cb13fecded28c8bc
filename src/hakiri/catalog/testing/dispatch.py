"""Every chunk is done once, by however many workers, whatever becomes of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkTally
from hakiri.catalog.testing.base import Opener
from hakiri.catalog.testing.interference import ALL_CHUNKS, Disturber, Watcher, most_at_once
from hakiri.catalog.testing.samples import PIPELINE, T0, TTL, planned
from hakiri.catalog.testing.seeds import SeededContract, telling
from hakiri.catalog.testing.workers import Deed, Job, Journal, Processes, work_as_threads
from hakiri.core.clock import FixedClock, SystemClock
from hakiri.core.cursors import CursorKind

WORKERS = 100
CHUNKS = 1000
KILLABLE_WORKERS = 12
KILLING_CHUNKS = 300
LEASED_CHUNKS = 50
CAPPED_CHUNKS = 200
CAP = 4
HASTE: dict[str, Any] = {"ttl": timedelta(seconds=0.3), "longest_work_seconds": 0.04}


class DispatchContract(SeededContract):
    """At most one worker a chunk and attempt; exactly one commit a chunk."""

    @pytest.fixture
    def job(self, opener: Opener, tmp_path: Path) -> Job:
        """A thousand chunks for workers whose clock stands still."""
        return Job(
            opener=opener,
            journal=Journal(tmp_path / "journal.tsv"),
            pipeline=PIPELINE,
            clock=FixedClock(T0),
            ttl=TTL,
        )

    @pytest.mark.spec("AD-003")
    @pytest.mark.spec("AD-017")
    @pytest.mark.spec("HP-117")
    @pytest.mark.spec("HP-128")
    @pytest.mark.parametrize("handles", [1, 10])
    def test_a_hundred_threads_do_a_thousand_chunks_once(
        self, catalog: Catalog, opener: Opener, job: Job, handles: int
    ) -> None:
        planned(catalog, CHUNKS)

        with ExitStack() as stack:
            others = [stack.enter_context(opener.open()) for _ in range(handles - 1)]
            work_as_threads(job, WORKERS, [catalog, *others])

        assert_done_at_first_try(catalog, job.journal, CHUNKS)

    @pytest.mark.spec("AD-003")
    @pytest.mark.spec("AD-017")
    @pytest.mark.spec("HP-117")
    @pytest.mark.spec("HP-128")
    def test_a_hundred_processes_do_a_thousand_chunks_once(self, catalog: Catalog, job: Job) -> None:
        planned(catalog, CHUNKS)

        with Processes(job) as processes:
            start = processes.event()
            for number in range(WORKERS):
                processes.start(f"process-{number}", start)
            start.set()
            exit_codes = processes.join()

        assert exit_codes == [0] * WORKERS
        assert_done_at_first_try(catalog, job.journal, CHUNKS)

    @pytest.mark.spec("AD-003")
    @pytest.mark.spec("HP-125")
    @pytest.mark.spec("HP-128")
    def test_workers_are_killed_and_every_chunk_is_still_done_once(
        self, catalog: Catalog, job: Job, seed: int
    ) -> None:
        planned(catalog, KILLING_CHUNKS)

        with telling(seed):
            killed = work_and_kill(catalog, replace(job, clock=SystemClock(), **HASTE), seed)

            assert_done_once(catalog, job.journal, killed, KILLING_CHUNKS)
            attempts = [chunk.attempts for chunk in catalog.chunks.page(PIPELINE, limit=ALL_CHUNKS)]
            assert max(attempts) > 1, "no chunk was ever taken over"

    @pytest.mark.spec("AD-003")
    @pytest.mark.spec("HP-125")
    def test_holders_of_the_lease_are_killed_and_no_fence_goes_back(
        self, catalog: Catalog, job: Job, seed: int
    ) -> None:
        planned(catalog, LEASED_CHUNKS, kind=CursorKind.OPAQUE_TOKEN)
        leased = replace(job, clock=SystemClock(), needs_lease=True, **HASTE)

        with telling(seed):
            killed = work_and_kill(catalog, leased, seed)

            assert_done_once(catalog, job.journal, killed, LEASED_CHUNKS)
            claims = sorted(job.journal.entries(Deed.CLAIMED), key=lambda entry: entry.seq)
            fences = [entry.fence for entry in claims]
            assert fences == sorted(fences)
            assert 0 < fences[0] < fences[-1]
            committed = {(entry.chunk, entry.place) for entry in job.journal.entries(Deed.COMMITTED)}
            assert committed.isdisjoint(begun_too_late(job.journal))

    @pytest.mark.spec("HP-129")
    def test_no_more_chunks_are_worked_on_at_once_than_allowed(
        self, catalog: Catalog, opener: Opener, job: Job
    ) -> None:
        planned(catalog, CAPPED_CHUNKS)
        capped = replace(job, clock=SystemClock(), parallelism=CAP, longest_work_seconds=0.02)

        with (
            Processes(capped) as processes,
            opener.open() as other,
            Watcher(other, PIPELINE, capped.clock) as watcher,
        ):
            for number in range(KILLABLE_WORKERS):
                processes.start(f"process-{number}")
            exit_codes = processes.join()

        begun, ended = job.journal.entries(Deed.CLAIMED), job.journal.entries(Deed.COMMITTING)
        assert exit_codes == [0] * KILLABLE_WORKERS
        assert watcher.findings == []
        assert 1 < watcher.most_worked_on <= CAP
        assert 1 < most_at_once(begun, ended) <= CAP
        assert_done_at_first_try(catalog, job.journal, CAPPED_CHUNKS)


def work_and_kill(catalog: Catalog, job: Job, seed: int) -> set[str]:
    """Have processes do all chunks while some are killed; nothing goes backwards. Who was killed."""
    with (
        job.opener.open() as other,
        Watcher(other, PIPELINE, job.clock) as watcher,
        Processes(job) as processes,
    ):
        for number in range(KILLABLE_WORKERS):
            processes.start(f"process-{number}")
        disturber = Disturber(processes, catalog, job, seed)
        disturber.disturb_until_done()
        exit_codes = processes.join()
    assert watcher.findings == []
    assert set(exit_codes) == {0}
    assert disturber.killed
    return disturber.killed


def begun_too_late(journal: Journal) -> set[tuple[int, str]]:
    """The commits that began when someone else had worked under a later lease already."""
    fence, late = 0, set()
    for entry in journal.entries(Deed.CLAIMED, Deed.COMMITTING):  # in the order in which they were written
        if entry.deed is Deed.COMMITTING and entry.fence < fence:
            late.add((entry.chunk, entry.place))
        fence = max(fence, entry.fence)
    return late


def assert_done_at_first_try(catalog: Catalog, journal: Journal, count: int) -> None:
    """Every chunk was claimed once and committed once, by the same worker, and the catalog says so too."""
    claims, commits = journal.entries(Deed.CLAIMED), journal.entries(Deed.COMMITTED)
    chunks = catalog.chunks.page(PIPELINE, limit=ALL_CHUNKS)
    assert sorted(entry.chunk for entry in claims) == [*range(1, count + 1)]
    assert {(entry.chunk, entry.place) for entry in commits} == {
        (entry.chunk, entry.place) for entry in claims
    }
    assert len(commits) == count
    assert {(chunk.chunk, chunk.winning_attempt) for chunk in chunks} == {
        (entry.chunk, entry.place) for entry in commits
    }
    assert {entry.number for entry in claims} == {1}
    assert catalog.chunks.tally(PIPELINE) == ChunkTally(done=count, rows=count, bytes=count)
    assert catalog.check() == ()


def assert_done_once(catalog: Catalog, journal: Journal, killed: set[str], count: int) -> None:
    """Every chunk has one winner, its last attempt; a winner that did not tell of its commit was killed."""
    chunks = catalog.chunks.page(PIPELINE, limit=ALL_CHUNKS)
    claims, commits = journal.entries(Deed.CLAIMED), journal.entries(Deed.COMMITTED)
    told = {entry.chunk: entry.place for entry in commits}
    begun = {(entry.chunk, entry.place) for entry in journal.entries(Deed.COMMITTING)}
    untold = [chunk for chunk in chunks if chunk.chunk not in told]

    assert len(chunks) == count
    assert len(told) == len(commits), "a chunk was committed twice"
    assert {(chunk.chunk, chunk.winning_attempt) for chunk in chunks if chunk.chunk in told} == {
        *told.items()
    }
    assert {(chunk.chunk, chunk.winning_attempt) for chunk in untold} <= begun
    assert {(chunk.winning_attempt or "").partition("/")[0] for chunk in untold} <= killed
    assert all((chunk.winning_attempt or "").endswith(f"/attempt-{chunk.attempts}") for chunk in chunks)

    by_seq = sorted(claims, key=lambda entry: entry.seq)
    assert len({entry.seq for entry in claims}) == len(claims)
    assert len({(entry.chunk, entry.number) for entry in claims}) == len(claims), "an attempt was given twice"
    for chunk in chunks:
        numbers = [entry.number for entry in by_seq if entry.chunk == chunk.chunk]
        assert numbers == sorted(numbers)
        assert max(numbers, default=0) <= chunk.attempts
    tally = catalog.chunks.tally(PIPELINE)
    assert tally == ChunkTally(done=count, rows=count, bytes=sum(chunk.attempts for chunk in chunks))
    assert catalog.check() == ()
