"""What `hakiri serve` does for the tables while pipelines run: compactions that are due, and garbage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from hakiri.compaction.claims import Claims
from hakiri.compaction.collecting import Collector
from hakiri.compaction.compacting import Compactor
from hakiri.compaction.errors import CompactionStopped
from hakiri.compaction.folding import BYTES_A_RANGE
from hakiri.compaction.layouts import compaction_of_table, layout_of_table, longest_retained, tables_of
from hakiri.compaction.runner import SparkTasks
from hakiri.compaction.runs import CompactionRun
from hakiri.compaction.steps import Step
from hakiri.compaction.triggers import DueTables
from hakiri.core.ids import TableName
from hakiri.pipelines.runtime.shop import Shop
from hakiri.serve.patience import Patience
from hakiri.serve.telling import Teller
from hakiri.store.files import LocalFiles

# How long a table that is due waits while there are more pipelines to run than there is room for.
LONGEST_YIELD = timedelta(hours=1)
COLLECT_EVERY = timedelta(hours=1)
_INTERRUPT_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How tables are compacted here. Whoever runs a pipeline meanwhile finds the rest of the cores free."""

    share_of_cores: float = 0.5
    bytes_a_range: int = BYTES_A_RANGE
    by_copy: bool = False


class Upkeep:
    """Looks after tables in a thread of its own, one deed at a time.

    What others compact is left to them. What could not be done is left alone for a while, and told once.
    """

    def __init__(self, shop: Shop, teller: Teller, woken: Callable[[], object], manner: Manner) -> None:
        self._teller = teller
        self._woken = woken
        self._manner = manner
        self._due_tables = DueTables(shop.ground.catalog)
        self._due_since: dict[TableName, datetime] = {}
        self._patience = Patience()
        self._told: dict[TableName, str] = {}
        self._collected_at: datetime | None = None
        self._ended: threading.Event | None = None

    @property
    def is_busy(self) -> bool:
        return self._ended is not None and not self._ended.is_set()

    def look(self, shop: Shop, now: datetime, *, is_crowded: bool) -> None:
        """Begin what is due, if nothing is under way. `is_crowded`: pipelines wait for room."""
        if self.is_busy or shop.ground.stop.is_asked:
            return
        if self._is_garbage_due(shop, now):
            self._collected_at = now
            self._begin("garbage", lambda: self._collect(shop))
            return
        first = next(self._due(shop, now, is_crowded=is_crowded), None)
        if first is not None:
            table, why = first
            self._begin(table, lambda: self._compact(shop, table, why))

    def stop(self, interrupt: Callable[[], None]) -> None:
        """Have what is under way given back, and wait for that."""
        ended = self._ended
        while ended is not None and not ended.is_set():
            interrupt()  # again and again: it may have been between two jobs
            ended.wait(_INTERRUPT_SECONDS)

    def _due(self, shop: Shop, now: datetime, *, is_crowded: bool) -> Iterator[tuple[TableName, str]]:
        """The tables that are to be compacted here, and why; the one that has waited longest first."""
        ground = shop.ground
        found: dict[TableName, str] = {}
        for table in tables_of(ground.project):
            why = self._due_tables.look(table, compaction_of_table(ground.project, table), now).why
            if why is not None:
                found[table] = why
        self._due_since = {table: self._due_since.get(table, now) for table in found}
        for table in sorted(found, key=lambda each: self._due_since[each]):
            is_early = is_crowded and now < self._due_since[table] + LONGEST_YIELD
            if not is_early and self._patience.may_try(table, now) and not _claims(shop).holder(table):
                yield table, found[table]

    def _begin(self, name: str, deed: Callable[[], None]) -> None:
        ended = self._ended = threading.Event()

        def work() -> None:
            try:
                deed()
            finally:
                ended.set()
                self._woken()

        threading.Thread(target=work, name=f"hakiri-upkeep-{name}", daemon=True).start()

    def _compact(self, shop: Shop, table: TableName, why: str) -> None:
        ground = shop.ground
        began = ground.clock.monotonic()

        def reached(step: Step) -> None:
            if step is Step.INPUTS_SELECTED:
                self._teller.compacting(table, why)

        def publish(changed: TableName) -> None:
            shop.publishing.mark([changed])
            shop.publishing.wait()

        compactor = Compactor(
            catalog=ground.catalog,
            layout=ground.layout,
            clock=ground.clock,
            node=ground.node,
            run_tasks=SparkTasks(
                ground.sessions.get,
                share=self._manner.share_of_cores,
                is_stopped=lambda: ground.stop.is_asked,
                lose=ground.sessions.lose,
            ),
            publish=publish,
            reached=reached,
            bytes_a_range=self._manner.bytes_a_range,
            by_copy=self._manner.by_copy,
        )
        work = CompactionRun(
            compactor=compactor,
            table=table,
            laid_out=layout_of_table(ground.project, table, ground.clock.now()),
            why=why,
            claims=_claims(shop),
            telemetry=ground.telemetry,
        )
        try:
            done = work.work(ground.new_run(ground.clock))
        except CompactionStopped:
            return  # who asked for that knows
        except Exception as error:  # told, and tried again later: everything else must go on
            self._fail(shop, table, error)
            return
        self._patience.remember(table, ground.clock.now(), was_in_vain=done is None)
        self._told.pop(table, None)
        if done is not None:
            self._teller.compacted(table, done, ground.clock.monotonic() - began)

    def _fail(self, shop: Shop, table: TableName, error: Exception) -> None:
        self._patience.remember(table, shop.ground.clock.now(), was_in_vain=True)
        if self._told.get(table) != str(error):
            self._told[table] = str(error)
            self._teller.not_compacted(table, error)

    def _is_garbage_due(self, shop: Shop, now: datetime) -> bool:
        if self._collected_at is not None and now < self._collected_at + COLLECT_EVERY:
            return False
        return bool(shop.ground.catalog.garbage.due(now, limit=1))

    def _collect(self, shop: Shop) -> None:
        """Delete what the catalog names and whose time has come; what crashes left is not looked for."""
        ground = shop.ground
        collector = Collector(
            catalog=ground.catalog, layout=ground.layout, clock=ground.clock, files=LocalFiles()
        )
        try:
            found = collector.collect(longest_retained(ground.project, ground.clock.now()))
        except Exception as error:  # told, and tried again in an hour
            self._teller.crashed("garbage", error)
            return
        self._teller.collected(len(found.deleted), found.bytes)


def _claims(shop: Shop) -> Claims:
    ground = shop.ground
    return Claims(
        catalog=ground.catalog,
        clock=ground.clock,
        node=ground.node,
        lease=ground.lease,
        keeper=shop.keeper,
    )
