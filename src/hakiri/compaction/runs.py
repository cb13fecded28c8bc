"""A compaction as a run of the catalog: who made which snapshot, when, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.compaction.compacting import Compacted, Compactor
from hakiri.compaction.recipes import TableLayout
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId, RunId, TableName

_LEASE = timedelta(minutes=10)


def queue_of(table: TableName) -> PipelineId:
    """The name under which the compactions of a table are recorded. No pipeline can have such an id."""
    return PipelineId(f"compaction:{table}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRun:
    """One compaction of one table, recorded from its beginning to its end."""

    compactor: Compactor
    table: TableName
    laid_out: TableLayout
    is_full: bool = False

    def work(self, run: RunId) -> Compacted | None:
        """Compact the table; None if there was nothing to fold, and then no run is left behind either.

        Raises what the compactor raises; the run says so too.
        """
        compactor = self.compactor
        catalog, clock = compactor.catalog, compactor.clock
        chosen = compactor.choose(self.table, is_full=self.is_full)
        if chosen is None:
            return None
        catalog.pipelines.declare(queue_of(self.table), CursorKind.MONOTONIC, clock.now())
        catalog.runs.start(run, queue_of(self.table), compactor.node, clock.now(), ttl=_LEASE)
        try:
            done = compactor.make(chosen, run, self.laid_out)
        except BaseException as error:
            code, text = (error.code, str(error)) if isinstance(error, HakiriError) else (None, None)
            failed = RunOutcome(
                status=RunStatus.FAILED, error_kind=code or type(error).__name__, error_message=text
            )
            catalog.runs.end(run, failed, clock.now())
            raise
        outcome = RunOutcome(
            status=RunStatus.SUCCESS,
            rows=done.manifest.rows,
            bytes=done.manifest.bytes,
        )
        catalog.runs.end(run, outcome, clock.now())
        return done
