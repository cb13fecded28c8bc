"""One run of one pipeline: discover, plan what there is to read, work it off, and say how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from typing import TypeVar

from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import Run, RunStatus, StartedRun
from hakiri.catalog.errors import PhaseMoved
from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.ids import PipelineId, TableName
from hakiri.engine import as_ours
from hakiri.manifest import PipelineSpec
from hakiri.pipelines.applied import applied_text, spec_hash
from hakiri.pipelines.chunks.due import next_due, sla_in_force
from hakiri.pipelines.chunks.phases import PhaseEvent, advance_phase, event_after_chunk
from hakiri.pipelines.events import (
    Discovered,
    PhaseChanged,
    RunStarted,
    SchemaChanged,
    Waiting,
)
from hakiri.pipelines.runtime.allowance import Allowance
from hakiri.pipelines.runtime.budgets import shared_budget
from hakiri.pipelines.runtime.commits import Protocolist
from hakiri.pipelines.runtime.course import Course
from hakiri.pipelines.runtime.crew import Crew
from hakiri.pipelines.runtime.ending import record_end, record_failure
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.hands import TableHands
from hakiri.pipelines.runtime.leaving import set_aside, take_up
from hakiri.pipelines.runtime.patience import patiently
from hakiri.pipelines.runtime.plans import (
    ends_read_at,
    plan_history,
    plan_sweeps,
    plan_tick,
    plan_what_is_missing,
)
from hakiri.pipelines.runtime.shop import (
    RunResult,
    Shop,
    leased,
    phase_of,
    recorded,
    settle_edited,
    waits_for_decision,
)
from hakiri.pipelines.runtime.slots import WritePace
from hakiri.pipelines.runtime.steps import Step
from hakiri.pipelines.runtime.tables import (
    TableWork,
    plans_for,
    prepare_table,
    record_schemas,
    table_job,
)
from hakiri.pipelines.runtime.tally import RunTally
from hakiri.pipelines.runtime.watching import watch_reads
from hakiri.sources.reading import OpenSource, open_source
from hakiri.store.files import LocalFiles

# How often one run reads what came while it was reading.
MOST_CATCH_UPS = 10
_Got = TypeVar("_Got")


@dataclass(kw_only=True)
class PipelineRun:
    """One run. `is_tick`: what is new is to be pulled as well, and not only what is left of earlier plans."""

    shop: Shop
    spec: PipelineSpec
    is_tick: bool
    allowance: Allowance = field(default_factory=Allowance)
    _lease: Lease | None = None
    _ticks: int = 0
    _course: Course = field(init=False)

    def __post_init__(self) -> None:
        self._course = Course(self.pipeline, self.ground.listen)

    @property
    def ground(self) -> Ground:
        return self.shop.ground

    @property
    def pipeline(self) -> PipelineId:
        return PipelineId(self.spec.id)

    def work(self) -> RunResult:
        """Run it. What goes wrong with the pipeline is in the result; anything else is raised."""
        ground = self.ground
        started = self._start()
        # Whoever died after a commit may not have come to publishing it.
        tables = [TableName(self.spec.store_name(table)) for table in self.spec.tables]
        self.shop.publishing.mark(tables)
        began = ground.clock.monotonic()
        tally = RunTally(ground.clock)
        error: HakiriError | None = None
        status = RunStatus.FAILED
        try:
            self._hold(started.lease)
            error = self._worked(started, tally)
            status = self._status(error)
        except Exception as raised:
            told = as_ours(raised)
            if not isinstance(told, HakiriError):
                self._end(started, RunStatus.FAILED, tally, began, kind=type(raised).__name__)
                raise
            if told.exit_code is ExitCode.INTERRUPTED:
                status = RunStatus.PARTIAL  # somebody asked to stop while it waited for its source
            else:
                error = told
        except BaseException:
            self._end(started, RunStatus.PARTIAL, tally, began, kind="interrupted")
            raise
        finally:
            self.shop.keeper.drop_pipeline(self.pipeline)
            if self._lease is not None:
                ground.catalog.leases.release(self._lease)
        if error is not None and waits_for_decision(error):
            record_failure(ground, self.spec, started.run.run, error)
            self._course.fail(error)
        # A run that has ended is looked after by nobody, so its views are there before.
        self.shop.publishing.wait()
        if error is None and (error := self.shop.publishing.behind(self.spec.id, tables)) is not None:
            status = RunStatus.PARTIAL
        run = self._end(started, status, tally, began, error=error)
        self._course.wind_up()
        return RunResult(
            pipeline=self.pipeline,
            run=run,
            phase=phase_of(ground, self.pipeline),
            chunks=tally.chunks,
            quarantined=tally.quarantined,
            left=ground.catalog.chunks.tally(self.pipeline),
            error=error,
        )

    def _start(self) -> StartedRun:
        ground = self.ground
        settle_edited(ground, self.pipeline)
        self._course.trigger()
        started = recorded(ground, self.pipeline)
        ground.reached(Step.RUN_RECORDED)
        tally = ground.catalog.chunks.tally(self.pipeline)
        ground.listen(
            RunStarted(
                pipeline=self.pipeline,
                run=started.run.run,
                phase=phase_of(ground, self.pipeline),
                chunks_total=tally.total,
                chunks_done=tally.done,
                at=started.run.started_at,
            )
        )
        return started

    def _worked(self, started: StartedRun, tally: RunTally) -> HakiriError | None:
        """Work until nothing is left that this run may do, over as many ticks as that takes."""
        while True:
            failure = self._worked_off(started, tally)
            if failure is not None or not self._is_held_up() or not self._waited_for_tick():
                return failure
            self._course.trigger()

    def _waited_for_tick(self) -> bool:
        """Wait, with the source closed, until a tick allows more chunks, if one will; whether it did."""
        if not self.allowance.will_come:
            return False
        now = self.ground.clock.now()
        if (tick := next_due(self.spec.schedule, now, UTC)) is not None:
            seconds = (tick - now).total_seconds()
            self.ground.listen(
                Waiting(pipeline=self.pipeline, seconds=seconds, why="the next tick of its schedule")
            )
        return self.allowance.wait(self.ground.stop)

    def _worked_off(self, started: StartedRun, tally: RunTally) -> HakiriError | None:
        """Look at the tables and work on their chunks, until nothing is left that this run may do."""
        ground = self.ground
        with open_source(
            self.spec,
            project=ground.project,
            env=ground.env,
            clock=ground.clock,
            advertised=ground.advertised,
            widen=partial(shared_budget, ground, self.pipeline),
        ) as source:
            ground.reached(Step.SOURCE_OPENED)
            watch_reads(ground, self.pipeline, source)
            works = self._patiently(partial(self._discovered, source))
            self._patiently(partial(self._planned, works, source))
            catch_ups = 0
            while True:
                failure, is_outdated = self._crew(started, works, source, tally)
                if is_outdated:
                    self._course.trigger()
                    works = self._patiently(partial(self._discovered, source))
                    continue
                if failure is not None or ground.stop.is_asked or self._is_held_up():
                    return failure
                is_behind = phase_of(self.ground, self.pipeline) is Phase.BACKFILLING
                if is_behind and catch_ups == MOST_CATCH_UPS:
                    return None  # the source is faster than we are; the next run goes on
                if is_behind or self.is_tick:
                    # What came while the history was read counts as part of it.
                    self.is_tick = self.is_tick and is_behind
                    catch_ups += 1
                    if self._ticked(started, works, source) or self._is_held_up():
                        continue
                if sum(plan_sweeps(ground, self.pipeline, work) for work in works):
                    continue
                ground.reached(Step.CHUNKS_ALL_DONE)
                self.shop.publishing.mark(record_schemas(ground, self.pipeline, works))
                self._note_applied()
                self._course.exhaust()
                return None

    def _hold(self, lease: Lease | None) -> None:
        """Work under this lease from now on."""
        self._lease = lease
        if lease is not None:
            self.shop.keeper.hold_pipeline(lease)

    def _patiently(self, work: Callable[[], _Got]) -> _Got:
        """Ask the source for something, and once more if it could not answer just now."""
        return patiently(self.ground, self.pipeline, self.spec.retries, work)

    def _discovered(self, source: OpenSource) -> list[TableWork]:
        ground = self.ground
        works = []
        for table in self.spec.tables:
            plans = plans_for(ground, self.spec, table)
            works.append(prepare_table(ground, self.spec, source, table, plans))
        ground.reached(Step.TABLES_DISCOVERED)
        ground.listen(Discovered(pipeline=self.pipeline, tables=tuple(work.store for work in works)))
        for work in works:
            if work.evolution.changes and work.stored is not None:
                lines = tuple(str(change) for change in work.evolution.changes)
                ground.listen(SchemaChanged(pipeline=self.pipeline, table=work.store, changes=lines))
        ground.reached(Step.SCHEMA_DECIDED)
        kind = next((work.kind for work in works if work.kind.needs_lease), works[0].kind)
        ground.catalog.pipelines.declare(self.pipeline, kind, ground.clock.now())
        if kind.needs_lease and self._lease is None:
            # Until now its kind was one that needs none.
            self._hold(leased(ground, self.pipeline))
        ground.reached(Step.KIND_DECLARED)
        self._course.schema_is_ok()
        return works

    def _planned(self, works: Sequence[TableWork], source: OpenSource) -> None:
        ground = self.ground
        tables = {work.store for work in works}
        set_aside(ground, self.pipeline, tables)
        planned = take_up(ground, self.pipeline, tables)
        for work in works:
            planned += plan_history(ground, self.pipeline, work, source.connector)
            planned += plan_what_is_missing(ground, self.pipeline, work)
        if planned:
            ground.reached(Step.BACKFILL_PLANNED)
        phase = phase_of(self.ground, self.pipeline)
        if phase is Phase.PLANNING:
            self._move(phase, PhaseEvent.CHUNKS_DISCOVERED)
            ground.reached(Step.BACKFILL_BEGUN)

    def _crew(
        self, started: StartedRun, works: Sequence[TableWork], source: OpenSource, tally: RunTally
    ) -> tuple[HakiriError | None, bool]:
        ground = self.ground
        protocol = Protocolist(
            catalog=ground.catalog,
            layout=ground.layout,
            clock=ground.clock,
            files=LocalFiles(),
            reached=ground.reached,
        )
        hands = {}
        for table, work in zip(self.spec.tables, works, strict=True):
            plans = plans_for(ground, self.spec, table)
            hands[work.store] = TableHands(
                ground=ground,
                pipeline=self.spec.id,
                work_on=work,
                open_job=lambda work=work, plans=plans: table_job(ground, self.spec, source, work, plans),  # type: ignore[misc]
                protocol=protocol,
                publishing=self.shop.publishing,
                lease=self._lease,
                tally=tally,
                course=self._course,
            )
        crew = Crew(
            ground=ground,
            pipeline=self.pipeline,
            run=started.run.run,
            hands=hands,
            lease=self._lease,
            keeper=self.shop.keeper,
            slots=self.shop.slots,
            pace=WritePace(self.spec.backfill.destination_writes_per_sec, ground.clock),
            parallelism=self.spec.backfill.parallelism,
            retries=self.spec.retries,
            allowance=self.allowance,
        )
        crew.work()
        if crew.failure is None and not crew.is_outdated:
            self._maybe_caught_up(works)
        return crew.failure, crew.is_outdated

    def _maybe_caught_up(self, works: Sequence[TableWork]) -> None:
        """Move on to streaming once nothing of the history is left, and its end was read lately enough."""
        ground = self.ground
        tally = ground.catalog.chunks.tally(self.pipeline)
        if phase_of(self.ground, self.pipeline) is not Phase.BACKFILLING:
            return
        now = ground.clock.now()
        event = event_after_chunk(
            unfinished_chunks=tally.pending + tally.running + tally.failed,
            read_at=ends_read_at(ground, self.pipeline, works) or now,
            now=now,
            sla=sla_in_force(self.spec.backfill.sla, self.spec.schedule, now),
        )
        if event is PhaseEvent.CAUGHT_UP:
            self._move(Phase.BACKFILLING, event)
            ground.reached(Step.STREAMING_BEGUN)

    def _ticked(self, started: StartedRun, works: Sequence[TableWork], source: OpenSource) -> bool:
        """Plan what is new; whether there is any. What another worker has planned already counts as his."""
        ground = self.ground
        self._ticks += 1
        name = f"{started.run.run} #{self._ticks}"
        plans = [partial(plan_tick, ground, self.pipeline, name, work, source.connector) for work in works]
        added = [self._patiently(plan) for plan in plans]
        ground.reached(Step.TICK_PLANNED)
        return any(added)

    def _is_held_up(self) -> bool:
        """Whether chunks are left that this run cannot take: others have them, or its limit is reached."""
        tally = self.ground.catalog.chunks.tally(self.pipeline)
        return bool(tally.pending or tally.running or tally.failed)

    def _move(self, before: Phase, event: PhaseEvent) -> None:
        after = advance_phase(before, event)
        try:
            self.ground.catalog.pipelines.move(self.pipeline, before, after, self.ground.clock.now())
        except PhaseMoved:
            return  # another worker saw the same, and was first
        self.ground.listen(PhaseChanged(pipeline=self.pipeline, before=before, after=after))

    def _note_applied(self) -> None:
        ground = self.ground
        text = applied_text(self.spec)
        ground.catalog.pipelines.note_applied(
            self.pipeline, text, spec_hash(self.spec, ground.project.root), ground.clock.now()
        )
        ground.reached(Step.SPEC_NOTED)

    def _status(self, error: HakiriError | None) -> RunStatus:
        if error is not None:
            return RunStatus.FAILED
        is_done = phase_of(self.ground, self.pipeline) is Phase.STREAMING and not self._is_held_up()
        return RunStatus.SUCCESS if is_done and not self.ground.stop.is_asked else RunStatus.PARTIAL

    def _end(
        self,
        started: StartedRun,
        status: RunStatus,
        tally: RunTally,
        began: float,
        *,
        error: HakiriError | None = None,
        kind: str | None = None,
    ) -> Run:
        seconds = self.ground.clock.monotonic() - began
        run = started.run.run
        return record_end(self.ground, run, status, tally, seconds=seconds, error=error, kind=kind)
