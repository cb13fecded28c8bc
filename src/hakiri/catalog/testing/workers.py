"""Workers that do chunks, as threads or as processes that may be killed, and the journal they write of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from typing import NamedTuple

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.errors import LeaseLost
from hakiri.catalog.testing.base import Opener
from hakiri.core.clock import Clock
from hakiri.core.ids import NodeId, PipelineId, RunId

IDLE_SECONDS = 0.03
CHUNKS_A_LEASE = 5
_PRELOAD = ("hakiri.catalog.testing.workers", "hakiri.catalog.sqlite.place", "hakiri.catalog.postgres.place")


class Deed(StrEnum):
    """What a worker did; «began to commit» comes before the call, all others after it."""

    CLAIMED = "claimed"
    COMMITTING = "committing"
    COMMITTED = "committed"
    LOST = "lost"


class Entry(NamedTuple):
    """A line of the journal. `fence` is that of the lease that was held, or 0; `at` is in seconds."""

    deed: Deed
    node: NodeId
    chunk: int
    number: int
    seq: int
    fence: int
    at: float

    @property
    def place(self) -> str:
        return f"{self.node}/attempt-{self.number}"


class Journal:
    """A file to which any number of workers append, one whole line at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def writer(self) -> Iterator[Callable[[Entry], None]]:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            yield lambda entry: _write_line(file, "\t".join(map(str, entry)))
        finally:
            os.close(file)

    def entries(self, *deeds: Deed) -> list[Entry]:
        """The lines about these deeds; a line that was cut off by a kill cannot be: it is one write."""
        found = (_entry(*line.split("\t")) for line in self._path.read_text().splitlines())
        return [entry for entry in found if entry.deed in deeds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all workers of one test are told."""

    opener: Opener
    journal: Journal
    pipeline: PipelineId
    clock: Clock
    ttl: timedelta
    parallelism: int | None = None
    longest_work_seconds: float = 0.0
    needs_lease: bool = False
    most_idle_looks: int = 1000


def work_in_process(job: Job, name: str, start: Event | None) -> None:
    """The life of a worker process: open the catalog, wait for the start if there is one, work to the end."""
    with job.opener.open() as catalog:
        if start is not None:
            start.wait()
        work(job, name, catalog)


def work(job: Job, name: str, catalog: Catalog) -> None:
    """Do chunks of the pipeline until all are done, or until there was nothing to do for too long."""
    with job.journal.writer() as write:
        worker = _Worker(job, NodeId(name), catalog, write)
        while not worker.is_over():
            worker.work_under_lease() if job.needs_lease else worker.work_on_one(None)


def work_as_threads(job: Job, count: int, handles: Iterable[Catalog]) -> None:
    """Have so many threads do all the chunks, spread over the handles."""
    catalogs = [*handles]
    with ThreadPoolExecutor(count) as threads:
        done = [
            threads.submit(work, job, f"thread-{number}", catalogs[number % len(catalogs)])
            for number in range(count)
        ]
        for each in done:
            each.result()


class Processes:
    """Worker processes: started quickly, out of one that has all the modules; none outlives the `with`."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*_PRELOAD])
        self.living: dict[str, ForkServerProcess] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *raised: object) -> None:
        for process in self.living.values():
            process.kill()
            process.join()

    def event(self) -> Event:
        return self._context.Event()

    def start(self, name: str, start: Event | None = None) -> None:
        process = self._context.Process(target=work_in_process, args=(self._job, name, start), daemon=True)
        process.start()
        self.living[name] = process

    def kill(self, name: str) -> None:
        """End it where it stands."""
        process = self.living.pop(name)
        process.kill()
        process.join()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Stop it where it stands with SIGSTOP, or have it go on with SIGCONT. Not if it is gone."""
        process = self.living.get(name)
        if process is not None and process.pid is not None and process.is_alive():
            with suppress(ProcessLookupError):  # it came to its end just now
                os.kill(process.pid, number)

    def join(self) -> list[int | None]:
        """Wait until all have come to their end by themselves; their exit codes."""
        for process in self.living.values():
            process.join()
        return [process.exitcode for process in self.living.values()]


class _Worker:
    def __init__(self, job: Job, node: NodeId, catalog: Catalog, write: Callable[[Entry], None]) -> None:
        self._job = job
        self._node = node
        self._run = RunId(f"run-of-{node}")
        self._catalog = catalog
        self._write = write
        self._random = Random(node)  # noqa: S311  (chance, not secrecy)
        self._pause = threading.Event()
        self._is_idle = False
        self._idle_looks = 0

    def is_over(self) -> bool:
        """Asked after every chunk, but the catalog is only asked when there was nothing to claim."""
        if not self._is_idle:
            self._idle_looks = 0
            return False
        self._idle_looks += 1
        tally = self._catalog.chunks.tally(self._job.pipeline)
        self._pause.wait(IDLE_SECONDS)
        return tally.done == tally.total or self._idle_looks > self._job.most_idle_looks

    def work_under_lease(self) -> None:
        now = self._job.clock.now()
        lease = self._catalog.leases.acquire(self._job.pipeline, self._node, now, self._job.ttl)
        self._is_idle = lease is None
        if lease is None:
            return
        try:
            for _ in range(CHUNKS_A_LEASE):
                self.work_on_one(lease)
        except LeaseLost:  # the claim says so: someone has taken the pipeline over
            return
        self._catalog.leases.release(lease)

    def work_on_one(self, lease: Lease | None) -> None:
        job = self._job
        attempt = self._catalog.queue.claim(
            job.pipeline,
            self._run,
            self._node,
            job.clock.now(),
            ttl=job.ttl,
            parallelism=job.parallelism,
            under=lease,
        )
        self._is_idle = attempt is None
        if attempt is None:
            return
        self._note(Deed.CLAIMED, attempt, lease)
        self._pause.wait(self._random.uniform(0, job.longest_work_seconds))
        self._note(Deed.COMMITTING, attempt, lease)
        commit = ChunkCommit(
            rows=1, bytes=attempt.number, manifest=f'"{attempt.place}"', cursor=f"{attempt.seq}"
        )
        try:
            self._catalog.queue.commit(attempt, commit, job.clock.now(), under=lease)
        except LeaseLost:
            self._note(Deed.LOST, attempt, lease)
        else:
            self._note(Deed.COMMITTED, attempt, lease)

    def _note(self, deed: Deed, attempt: ChunkAttempt, lease: Lease | None) -> None:
        self._write(
            Entry(
                deed=deed,
                node=attempt.node,
                chunk=attempt.chunk,
                number=attempt.number,
                seq=attempt.seq,
                fence=0 if lease is None else lease.fence,
                at=self._job.clock.monotonic(),
            )
        )


def _write_line(file: int, line: str) -> None:
    # One system call: it is in the file as a whole or not at all, and behind all that was there.
    os.write(file, f"{line}\n".encode())


def _entry(deed: str, node: str, *numbers: str) -> Entry:
    *counts, at = numbers
    chunk, number, seq, fence = map(int, counts)
    return Entry(Deed(deed), NodeId(node), chunk, number, seq, fence, float(at))
