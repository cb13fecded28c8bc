"""A daemon whose looks a test takes, on a clock that it turns, and what was heard of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.runtime import Lab

from hakiri.catalog.contract.pipelines import Phase
from hakiri.compaction.compacting import Compacted
from hakiri.core.clock import FixedClock
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId, RunId, TableName
from hakiri.manifest import load_project
from hakiri.pipelines.choosing import Applied
from hakiri.pipelines.runtime.apply import open_shop
from hakiri.serve.daemon import Daemon
from hakiri.serve.upkeep import Manner

T0 = datetime(2026, 5, 12, 8, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
P = PipelineId("p")


@dataclass
class Heard:
    """What a daemon told."""

    runs: list[Applied] = field(default_factory=list)
    crashes: list[BaseException] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    reloads: list[int] = field(default_factory=list)
    pauses: list[tuple[str | None, datetime | None]] = field(default_factory=list)
    begun: list[tuple[TableName, str]] = field(default_factory=list)
    compactions: list[tuple[TableName, Compacted]] = field(default_factory=list)
    failures: list[tuple[TableName, Exception]] = field(default_factory=list)
    collections: list[int] = field(default_factory=list)

    def ended(self, applied: Applied) -> None:
        self.runs.append(applied)

    def crashed(self, pipeline: str, error: BaseException) -> None:
        self.crashes.append(error)

    def compacting(self, table: TableName, why: str) -> None:
        self.begun.append((table, why))

    def compacted(self, table: TableName, done: Compacted, seconds: float) -> None:
        self.compactions.append((table, done))

    def not_compacted(self, table: TableName, error: Exception) -> None:
        self.failures.append((table, error))

    def collected(self, files: int, size: int) -> None:
        self.collections.append(files)

    def troubled(self, error: HakiriError) -> None:
        self.troubles.append(str(error))

    def reloaded(self, pipelines: int) -> None:
        self.reloads.append(pipelines)

    def idle(self, following: str | None, at: datetime | None) -> None:
        self.pauses.append((following, at))


@dataclass
class Served:
    """A daemon whose looks the test takes, and the clock it goes by."""

    lab: Lab
    clock: FixedClock
    daemon: Daemon
    heard: Heard

    def look(self, *, after: timedelta = timedelta()) -> None:
        """Look at that time, and again until nothing is left to be done just now."""
        self.clock.advance(after)
        self.daemon.look()
        self.settle()
        self.daemon.look()
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is under way."""
        rest = threading.Event()
        while self.daemon.busy or self.daemon.is_keeping_up:
            rest.wait(0.02)

    def runs(self) -> list[RunId]:
        with self.lab.catalog() as catalog:
            return [run.run for run in reversed(catalog.runs.latest(P))]

    def done(self) -> int:
        with self.lab.catalog() as catalog:
            return catalog.chunks.tally(P).done

    def phase(self) -> Phase:
        with self.lab.catalog() as catalog:
            state = catalog.pipelines.get(P)
            assert state is not None
            return state.phase


@contextmanager
def served(
    lab: Lab, clock: FixedClock | None = None, manner: Manner | None = None, **changes: Any
) -> Iterator[Served]:
    clock = clock or FixedClock(T0)
    lab.clock = clock
    heard = Heard()
    with lab.ground(**changes) as ground, open_shop(ground, list(ground.project.pipelines)) as shop:
        daemon = Daemon(
            shop, load=lambda: load_project(lab.root), teller=heard, news_every=MINUTE, manner=manner
        )
        try:
            yield Served(lab, clock, daemon, heard)
        finally:
            daemon.stop()
    assert heard.crashes == []
