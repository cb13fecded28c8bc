"""One of two workers at a table: a catalog, a disk and a clock of its own, and what it can do with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

import pyarrow as pa
from tests.compaction.bench import Bench
from tests.compaction.matrix.points import Points, WatchedDatabase, WatchedFiles
from tests.compaction.matrix.tables import Rows
from tests.store.workshop import NODE, ORDERS, TTL, Workshop
from tests.support.grounds import Ground, catalog_on

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.errors import SchemaMoved
from hakiri.compaction.collecting import Collector
from hakiri.core.clock import FixedClock
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId, RunId
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout
from hakiri.store.schemas import schema_from, schema_text

KEPT = timedelta(days=1)


def predicate(name: str) -> str:
    return json.dumps({"read": name})


@dataclass(frozen=True, slots=True)
class Hand:
    """Does one thing at a time in a pipeline of its own, with numbers that no other hand has."""

    name: str
    number: int
    workshop: Workshop
    clock: FixedClock
    points: Points
    files: Files
    _runs: Iterator[int]

    @property
    def bench(self) -> Bench:
        return Bench(self.workshop, self.clock)

    @property
    def pipeline(self) -> PipelineId:
        return PipelineId(f"pipeline-{self.name}")

    @property
    def collector(self) -> Collector:
        return Collector(
            catalog=self.workshop.catalog, layout=self.workshop.layout, clock=self.clock, files=self.files
        )

    def new_run(self) -> RunId:
        return RunId(f"0196be00-0000-7000-8000-{self.number:06d}{next(self._runs):06d}")

    def plan(self, name: str) -> None:
        catalog, now = self.workshop.catalog, self.clock.now()
        catalog.pipelines.declare(self.pipeline, CursorKind.MONOTONIC, now)
        chunk = NewChunk(table=ORDERS, predicate=predicate(name))
        catalog.chunks.plan(self.pipeline, f"plan-{self.new_run()}", [chunk], now)

    def land(self, pipeline: PipelineId, read: dict[str, Rows], more: pa.Field | None = None) -> None:
        """Work on a pipeline until nothing is left to do: each chunk brings what its predicate names.

        With one column more, if the table does not have it yet.
        """
        workshop, catalog, now = self.workshop, self.workshop.catalog, self.clock.now()
        workshop.now, run = now, self.new_run()
        catalog.runs.start(run, pipeline, NODE, now, ttl=TTL)
        while attempt := catalog.queue.claim(pipeline, run, NODE, now, ttl=TTL):
            table = catalog.schemas.current(ORDERS)
            assert table is not None
            rows = read[json.loads(attempt.predicate)["read"]]
            step, columns = None, schema_from(table.arrow_schema)
            if more is not None and more.name not in columns.names:
                columns = columns.append(more)
                step = SchemaStep(
                    table=ORDERS,
                    based_on=table.version,
                    change_kind="add_column",
                    after=schema_text(columns),
                    primary_key=table.primary_key,
                )
            version = table.version + (step is not None)
            manifest = workshop.write(attempt, rows, columns, *table.primary_key, version=version)
            try:
                workshop.commit(attempt, manifest, step)
            except SchemaMoved:
                catalog.queue.give_back(attempt, now)
        workshop.publish()


@contextmanager
def open_hand(
    ground: Ground, layout: StoreLayout, number: int, now: datetime, points: Points | None = None
) -> Iterator[Hand]:
    points = points or Points()
    files = WatchedFiles(points)
    with catalog_on(WatchedDatabase(ground.database(), points)) as catalog:
        names = {0: "nobody", 1: "first", 2: "second"}
        yield Hand(
            names.get(number, f"hand-{number}"),
            number,
            Workshop(layout, catalog, files),
            FixedClock(now),
            points,
            files,
            count(1),
        )
