"""Looking on while others work, and killing them at it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from datetime import timedelta
from random import Random

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.catalog.testing.workers import Entry, Processes
from hakiri.core.clock import Clock
from hakiri.core.ids import ChunkId, PipelineId

LOOK_EVERY_SECONDS = 0.01
DISTURB_EVERY_SECONDS = (0.005, 0.06)
KILLED_IN_A_HUNDRED = 70  # the others are stopped for longer than their leases last, and wake up then
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


def disturb(
    processes: Processes, watcher: Catalog, pipeline: PipelineId, ttl: timedelta, seed: int
) -> set[str]:
    """Kill workers and put others in their place, and stop some for a while, until all chunks are done.

    The names of those that were killed; half of the new ones have the name of the one before.
    """
    random = Random(seed)  # noqa: S311  (chance, not secrecy)
    pause = threading.Event()
    killed: set[str] = set()
    rounds = 0
    while True:
        tally = watcher.chunks.tally(pipeline)
        if tally.done == tally.total:
            break
        rounds += 1
        pause.wait(random.uniform(*DISTURB_EVERY_SECONDS))
        victim = random.choice([*processes.living])
        if random.randrange(100) >= KILLED_IN_A_HUNDRED:
            processes.signal(victim, signal.SIGSTOP)
            waker = threading.Timer(2 * ttl.total_seconds(), processes.signal, (victim, signal.SIGCONT))
            waker.daemon = True
            waker.start()
            continue
        processes.kill(victim)
        killed.add(victim)
        processes.start(victim if random.random() < 0.5 else f"{victim}-{rounds}")  # noqa: PLR2004
    for name in processes.living:
        processes.signal(name, signal.SIGCONT)
    return killed


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
