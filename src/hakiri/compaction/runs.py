"""A compaction as a run of the catalog: who made which snapshot, when, why, and how it ended."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkError
from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.catalog.errors import LeaseLost, RunEnded
from hakiri.compaction.claims import Claims
from hakiri.compaction.compacting import Chosen, Compacted, Compactor
from hakiri.compaction.errors import CompactionStopped, CompactionUnderWay, TableMoved
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.steps import Step
from hakiri.compaction.tracing import CompactionSpan
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId, RunId, TableName, compaction_queue
from hakiri.telemetry import Telemetry, trace_id_of

BY_HAND = "by hand"
# Where it is asked whether the claim is still held: the last moment is before anything has its final name.
_ASKED = frozenset({Step.FOLDED, Step.MANIFEST_FINAL})


def queue_of(table: TableName) -> PipelineId:
    """The name under which the compactions of a table are recorded. No pipeline can have such an id."""
    return compaction_queue(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRun:
    """One compaction of one table, claimed, and recorded from its beginning to its end."""

    compactor: Compactor
    table: TableName
    laid_out: TableLayout
    is_full: bool = False
    why: str = BY_HAND
    claims: Claims | None = None
    telemetry: Telemetry | None = None

    def work(self, run: RunId) -> Compacted | None:
        """Compact the table; None if there was nothing to fold, and then no run is left behind either.

        Raises CompactionUnderWay when somebody else is at it, and what the compactor raises; the run says so
        too.
        """
        chosen = self.compactor.choose(self.table, is_full=self.is_full)
        if chosen is None:
            self.compactor.publish(self.table)  # of somebody who died between the commit and the views
            return None
        return self.make(chosen, run)

    def make(self, chosen: Chosen, run: RunId) -> Compacted:
        """Make the snapshot that was chosen. Raises as `work` does."""
        claims = self.claims or self._own_claims()
        if (holder := claims.holder(self.table)) is not None:
            raise CompactionUnderWay(self.table, holder.node, holder.since)
        self._record(run, claims)
        current = chosen.selection.current
        attempt = claims.take(self.table, run, None if current is None else current.snapshot, self.why)
        if attempt is None:
            self._end(run, RunOutcome(status=RunStatus.SKIPPED))
            raise self._elsewhere(claims)
        with CompactionSpan(self.telemetry, run=run, table=self.table, why=self.why) as span:
            done = self._made(chosen, attempt, claims, span)
            span.done(done)
        return done

    def _made(self, chosen: Chosen, attempt: ChunkAttempt, claims: Claims, span: CompactionSpan) -> Compacted:
        reached = self.compactor.reached

        def watched(step: Step) -> None:
            span.reached(step)
            reached(step)
            if step in _ASKED:
                claims.insist(attempt)

        try:
            with claims.held(attempt):
                done = replace(self.compactor, reached=watched).make(chosen, attempt.run, self.laid_out)
        except BaseException as error:
            told = self._elsewhere(claims) if isinstance(error, LeaseLost) else error
            outcome = _outcome_of(told)
            claims.give_back(
                attempt, ChunkError(kind=outcome.error_kind or "", message=outcome.error_message or "")
            )
            self._end(attempt.run, outcome)
            if told is error:
                raise
            raise told from error
        claims.settle(attempt, done.manifest)
        made = done.manifest
        self._end(attempt.run, RunOutcome(status=RunStatus.SUCCESS, rows=made.rows, bytes=made.bytes))
        return done

    def _own_claims(self) -> Claims:
        compactor = self.compactor
        return Claims(catalog=compactor.catalog, clock=compactor.clock, node=compactor.node)

    def _record(self, run: RunId, claims: Claims) -> None:
        catalog, now, queue = self.compactor.catalog, self.compactor.clock.now(), queue_of(self.table)
        trace = None if self.telemetry is None else trace_id_of(run)
        catalog.pipelines.declare(queue, CursorKind.MONOTONIC, now)
        catalog.runs.start(run, queue, self.compactor.node, now, ttl=claims.lease, trace=trace)

    def _end(self, run: RunId, outcome: RunOutcome) -> None:
        with suppress(RunEnded):  # by whoever took it for gone
            self.compactor.catalog.runs.end(run, outcome, self.compactor.clock.now())

    def _elsewhere(self, claims: Claims) -> HakiriError:
        """What to say when another has the claim, or has done already what it was for."""
        holder = claims.holder(self.table)
        if holder is None:
            return TableMoved(self.table)
        return CompactionUnderWay(self.table, holder.node, holder.since)


def _outcome_of(error: BaseException) -> RunOutcome:
    code, text = (error.code, str(error)) if isinstance(error, HakiriError) else (None, None)
    return RunOutcome(
        status=RunStatus.PARTIAL if isinstance(error, CompactionStopped) else RunStatus.FAILED,
        error_kind=code or type(error).__name__,
        error_message=text,
    )
