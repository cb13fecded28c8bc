"""A store to compact, without Spark: the same tasks, run one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from tests.store.workshop import NODE, ORDERS, T0, Workshop

from hakiri.compaction.compacting import Compacted, Compactor
from hakiri.compaction.folding import BYTES_A_RANGE
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.restoring import Restoration, Restorer
from hakiri.compaction.steps import Step, unwatched
from hakiri.compaction.tasks import Report, RunTasks, Task
from hakiri.core.clock import FixedClock
from hakiri.core.ids import RunId, TableName
from hakiri.store.files import LocalFiles
from hakiri.store.snapshots import SnapshotManifest

ANNA = "operator:anna"
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
KEPT = timedelta(days=7)


def run_here(tasks: Sequence[Task]) -> list[Report]:
    return [task.work(f"{number}-0") for number, task in enumerate(tasks)]


@dataclass
class Bench:
    """Lands rows, compacts them, and asks stock DuckDB what a reader sees."""

    workshop: Workshop
    clock: FixedClock = field(default_factory=lambda: FixedClock(T0))
    _runs: int = 0

    def land(self, rows: Sequence[dict[str, Any]], schema: pa.Schema = SCHEMA, *key: str, **said: Any) -> int:
        chunk = self.workshop.land(rows, schema, *key, **said)
        self.workshop.publish()
        return int(chunk)

    def compactor(
        self,
        *,
        bytes_a_range: int = BYTES_A_RANGE,
        reached: Callable[[Step], None] = unwatched,
        run_tasks: RunTasks = run_here,
        by_copy: bool = False,
        publish: Callable[[TableName], None] | None = None,
    ) -> Compactor:
        return Compactor(
            catalog=self.workshop.catalog,
            layout=self.workshop.layout,
            clock=self.clock,
            node=NODE,
            run_tasks=run_tasks,
            publish=publish or self.workshop.publish,
            files=self.workshop.files or LocalFiles(),
            reached=reached,
            bytes_a_range=bytes_a_range,
            by_copy=by_copy,
        )

    def compact(
        self,
        laid_out: TableLayout | None = None,
        *,
        table: TableName = ORDERS,
        is_full: bool = False,
        **how: Any,
    ) -> Compacted | None:
        return self.compactor(**how).compact(
            table, self.new_run(), laid_out or TableLayout(), is_full=is_full
        )

    def new_run(self) -> RunId:
        self._runs += 1
        return RunId(f"0196be00-0000-7000-9000-{self._runs:012d}")

    def pass_time(self, by: timedelta = timedelta(minutes=1)) -> datetime:
        """Let time go by, for what lands too; the moment before."""
        before = self.clock.now()
        self.clock.advance(by)
        self.workshop.now = self.clock.now()
        return before

    def restorer(self, **how: Any) -> Restorer:
        return Restorer(compactor=self.compactor(**how))

    def restore(
        self, at: datetime, laid_out: TableLayout | None = None, *, table: TableName = ORDERS, **how: Any
    ) -> Restoration:
        """Restore the table, and insist that there was something to do."""
        restorer = self.restorer(**how)
        plan = restorer.plan(table, at)
        assert not plan.is_nothing
        restorer.work(plan, self.new_run(), laid_out or TableLayout(), by=ANNA)
        return plan

    def compacted(self, laid_out: TableLayout | None = None, **how: Any) -> SnapshotManifest:
        """Compact, and insist that there was something to fold."""
        done = self.compact(laid_out, **how)
        assert done is not None
        return done.manifest

    def rows(self, table: str = "orders", order: str = "ALL") -> list[tuple[Any, ...]]:
        return self.workshop.query(f"SELECT * FROM {table} ORDER BY {order}")
