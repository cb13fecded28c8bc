"""Every chunk is done once on every backend, by threads, by processes, and by processes that are killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.memory_catalog import ClaimsBeforeLocking, IgnoresTheCap, MemoryCatalog
from tests.support.seeds import chosen_seed

from hakiri.catalog.testing import Opener, UrlOpener
from hakiri.catalog.testing.dispatch import DispatchContract, assert_done_at_first_try
from hakiri.catalog.testing.interference import most_at_once
from hakiri.catalog.testing.samples import PIPELINE, TTL, planned
from hakiri.catalog.testing.workers import Deed, Job, Journal, work_as_threads
from hakiri.core.clock import SystemClock

# Two thousand durable writes by a hundred processes: seconds on a quiet machine, more on a busy one.
pytestmark = [pytest.mark.proof, pytest.mark.timeout(180)]
CHUNKS = 60
WORKERS = 12
CAP = 2


class SeededDispatch(DispatchContract):
    @pytest.fixture
    def seed(self) -> int:
        return chosen_seed()


class TestSqliteDispatch(SeededDispatch):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return UrlOpener(url="sqlite:///meta.sqlite", project="dispatch", base=tmp_path)


class TestPostgresDispatch(SeededDispatch):
    @pytest.fixture
    def opener(self, tmp_path: Path, postgres_url: str) -> Opener:
        return UrlOpener(url=postgres_url, project="dispatch", base=tmp_path)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """For threads, which open nothing themselves."""
    return Job(
        opener=UrlOpener(url="sqlite:///unused.sqlite", project="dispatch", base=tmp_path),
        journal=Journal(tmp_path / "journal.tsv"),
        pipeline=PIPELINE,
        clock=SystemClock(),
        ttl=TTL,
        longest_work_seconds=0.005,
        most_idle_looks=5,  # a broken catalog may forget a chunk, and nobody would ever do it
    )


def worked(catalog: MemoryCatalog, job: Job) -> None:
    """Have threads do all chunks of the catalog."""
    handle = catalog.handle()
    planned(handle, CHUNKS)
    work_as_threads(job, WORKERS, [handle])


def test_a_catalog_that_gives_every_chunk_to_one_worker_passes(job: Job) -> None:
    catalog = MemoryCatalog()

    worked(catalog, job)

    assert_done_at_first_try(catalog.handle(), job.journal, CHUNKS)


def test_a_catalog_that_gives_a_chunk_to_two_workers_is_found_out(job: Job) -> None:
    catalog = ClaimsBeforeLocking()

    worked(catalog, job)

    with pytest.raises(AssertionError):
        assert_done_at_first_try(catalog.handle(), job.journal, CHUNKS)


@pytest.mark.parametrize(("kind", "is_right"), [(MemoryCatalog, True), (IgnoresTheCap, False)])
def test_a_catalog_that_lets_too_many_work_is_found_out(
    kind: type[MemoryCatalog], is_right: bool, job: Job
) -> None:
    worked(kind(), replace(job, parallelism=CAP))

    most = most_at_once(job.journal.entries(Deed.CLAIMED), job.journal.entries(Deed.COMMITTING))
    assert (most <= CAP) == is_right
