"""Looking on while others work, and killing them at it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from datetime import datetime
from random import Random

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.catalog.testing.workers import Entry, Job, Processes
from hakiri.core.clock import Clock
from hakiri.core.ids import ChunkId, PipelineId

LOOK_EVERY_SECONDS = 0.005
MOST_DONE_BETWEEN = 4
KILLED_IN_A_HUNDRED = 85  # the others are stopped for longer than their leases last, and wake up then
ALL_CHUNKS = 10_000


class Watcher:
    """Reads the chunks and the lease of a pipeline over and over, and writes down what goes backwards."""

    def __init__(self, catalog: Catalog, pipeline: PipelineId, clock: Clock) -> None:
        self._catalog = catalog
        self._pipeline = pipeline
        self._clock = clock
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher")
        self._chunks: dict[ChunkId, Chunk] = {}
        self._fence = 0
        self.findings: list[str] = []
        self.most_worked_on = 0

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        try:
            while not self._is_over.wait(LOOK_EVERY_SECONDS):
                self._look()
            self._look()
        except Exception as error:
            self.findings.append(f"looking failed: {error!r}")
            raise

    def _look(self) -> None:
        now = self._clock.now()
        chunks = self._catalog.chunks.page(self._pipeline, limit=ALL_CHUNKS)
        worked_on = [chunk for chunk in chunks if chunk.leased_until is not None and chunk.leased_until > now]
        self.most_worked_on = max(self.most_worked_on, len(worked_on))
        for chunk in chunks:
            before = self._chunks.get(chunk.chunk, chunk)
            if _goes_back(before, chunk):
                self.findings.append(f"{before}\nbecame\n{chunk}")
            self._chunks[chunk.chunk] = chunk
        lease = self._catalog.leases.current(self._pipeline)
        if lease is not None:
            if lease.fence < self._fence:
                self.findings.append(f"the fence went from {self._fence} to {lease.fence}")
            self._fence = lease.fence


class Disturber:
    """Kills workers at random moments and puts others in their place, and stops some for a while."""

    def __init__(self, processes: Processes, catalog: Catalog, job: Job, seed: int) -> None:
        self._processes = processes
        self._catalog = catalog
        self._job = job
        self._random = Random(seed)  # noqa: S311  (chance, not secrecy)
        self._pause = threading.Event()
        self._started = 0
        self._asleep: list[tuple[datetime, str]] = []
        self.killed: set[str] = set()
        """The names of those that were killed; some that took their places have the same ones."""

    def disturb_until_done(self) -> None:
        """Go on until all chunks are done; some are, between any two who are killed."""
        while self._may_go_on():
            victim = self._victim()
            if self._random.randrange(100) < KILLED_IN_A_HUNDRED:
                self._processes.kill(victim)
                self.killed.add(victim)
                self._started += 1
                self._processes.start(self._random.choice((victim, f"process-again-{self._started}")))
            else:
                self._processes.signal(victim, signal.SIGSTOP)
                self._asleep.append((self._job.clock.now() + 1.5 * self._job.ttl, victim))
        for name in self._processes.living:
            self._processes.signal(name, signal.SIGCONT)

    def _may_go_on(self) -> bool:
        """Wait until some more chunks are done, and then for a moment; False when all are."""
        tally = self._catalog.chunks.tally(self._job.pipeline)
        enough = min(tally.total, tally.done + self._random.randint(1, MOST_DONE_BETWEEN))
        while tally.done < enough:
            self._pause.wait(LOOK_EVERY_SECONDS)
            self._wake()
            tally = self._catalog.chunks.tally(self._job.pipeline)
        self._pause.wait(self._random.uniform(0, LOOK_EVERY_SECONDS))
        return tally.done < tally.total

    def _wake(self) -> None:
        """Have those go on who slept for long enough.

        No other thread does it: a process tells its exit code once, and whoever asks at the same time is
        told 255.
        """
        now = self._job.clock.now()
        for _, name in (due := [one for one in self._asleep if one[0] <= now]):
            self._processes.signal(name, signal.SIGCONT)
        self._asleep = [one for one in self._asleep if one not in due]

    def _victim(self) -> str:
        """Anybody; of those who work under a lease, every other time its holder."""
        lease = self._catalog.leases.current(self._job.pipeline)
        if lease is not None and lease.holder in self._processes.living and self._random.randrange(2):
            return lease.holder
        return self._random.choice([*self._processes.living])


def most_at_once(begun: Iterable[Entry], ended: Iterable[Entry]) -> int:
    """How many chunks were worked on at one moment, by what the workers themselves wrote down."""
    steps = sorted([*((entry.at, 1) for entry in begun), *((entry.at, -1) for entry in ended)])
    most = current = 0
    for _, step in steps:
        current += step
        most = max(most, current)
    return most


def _goes_back(before: Chunk, after: Chunk) -> bool:
    return (
        after.attempts < before.attempts
        or (after.seq or 0) < (before.seq or 0)
        or (before.winning_attempt is not None and after.winning_attempt != before.winning_attempt)
        or (before.status is ChunkStatus.DONE and after.status is not ChunkStatus.DONE)
    )
