"""The ground of state machines that make calls on a catalog and on the model of the contract, and compare."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, multiple, rule, run_state_machine_as_test

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.testing.calls import Call, Refusal, perform
from hakiri.catalog.testing.model import CatalogModel
from hakiri.core.ids import PipelineId, RunId, SnapshotId, TableName

T0 = datetime(2026, 5, 11, 8, 0, 0, 123456, tzinfo=UTC)
STEPS = 50
RUNS = 3
SNAPSHOTS = 3

either = st.integers(0, 1)
several = st.integers(0, 2)
steps_of_time = st.one_of(
    st.integers(-1, 1).map(lambda micros: timedelta(microseconds=micros)),
    st.integers(-180, 180).map(lambda minutes: timedelta(minutes=minutes)),
)
_names = count()


class CatalogMachine(RuleBasedStateMachine):
    """Has two pipelines and two tables, whose names begin with a prefix that no example had before."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self.catalog = catalog
        self.model = CatalogModel()
        self.now = T0
        self.prefix = f"{next(_names):06d}"
        self.pipelines = [PipelineId(f"{self.prefix}-orders"), PipelineId(f"{self.prefix}-refunds")]
        self.tables = [TableName(f"{self.prefix}_orders"), TableName(f"{self.prefix}_refunds")]
        self.scopes = [Scope(self.prefix, "tenant", "agent"), Scope(self.prefix, "tenant", "person")]
        self.files = [f"{self.prefix}/part-{number}.parquet" for number in range(4)]

    def call(self, role: str, method: str, **arguments: Any) -> Any:
        """Make the call on both, and compare."""
        call = Call(role, method, arguments)
        seen = perform(self.catalog, call)
        wanted = self.model.answer(call, seen)
        assert seen == wanted, f"{call}\n  gave   {seen}\n  wanted {wanted}"
        return seen

    def run(self, number: int) -> RunId:
        return RunId(f"{self.prefix}-{number}")

    def snapshot(self, number: int) -> SnapshotId:
        return SnapshotId(f"{self.prefix}-{number}")

    def step(self, table: TableName, behind: int) -> SchemaStep:
        """A step from the version the table has, or from so many versions before."""
        known = self.model.schemas.current(table)
        based_on = (0 if known is None else known.version) - behind
        after = f'{{"after": {based_on}, "at": "{self.now}"}}'
        key = ("id",) if based_on % 2 else ()
        return SchemaStep(table=table, based_on=based_on, change_kind="widened", after=after, primary_key=key)

    @rule(step=steps_of_time)
    def time_passes_or_jumps(self, step: timedelta) -> None:
        self.now += step

    @rule()
    def look_at_pipelines(self) -> None:
        for pipeline in self.pipelines:
            for role, method in (("pipelines", "get"), ("leases", "current"), ("cursors", "all")):
                self.call(role, method, pipeline=pipeline)
            for role, method in (("chunks", "tally"), ("chunks", "page"), ("chunks", "recent")):
                self.call(role, method, pipeline=pipeline)
            for role, method in (("runs", "latest"), ("pipelines", "applied"), ("audit", "page")):
                self.call(role, method, pipeline=pipeline)
            for table in self.tables:
                self.call("cursors", "get", pipeline=pipeline, table=table)
        for number in range(RUNS):
            self.call("runs", "get", run=self.run(number))
        states = [state for state in self.catalog.pipelines.all() if state.pipeline in self.pipelines]
        known = self.model.pipelines
        assert states == [known[pipeline].state for pipeline in self.pipelines if pipeline in known]

    @rule()
    def look_at_tables(self) -> None:
        for table in self.tables:
            for role, method in (("schemas", "current"), ("schemas", "log"), ("snapshots", "revision")):
                self.call(role, method, table=table)
            for method in ("current", "all", "commits"):
                self.call("snapshots", method, table=table)
            for method in ("landed", "version"):
                self.call("chunks", method, table=table)
        for pipeline in self.pipelines:
            self.call("schemas", "log_of_pipeline", pipeline=pipeline)
        for number in range(SNAPSHOTS):
            for method in ("get", "sidecars"):
                self.call("snapshots", method, snapshot=self.snapshot(number))
        for scope in self.scopes:
            self.call("revocations", "epoch", scope=scope)
        due = tuple(file for file in self.catalog.garbage.due(self.now) if file.path in self.files)
        assert due == self.model.garbage.due(self.now)

    def teardown(self) -> None:
        self.look_at_pipelines()
        self.look_at_tables()
        # Nothing stays doomed, or the list of what is due would grow from example to example.
        self.call("garbage", "forget", paths=self.files, now=self.now)


def given(answer: object) -> Any:
    """What goes into a bundle: an answer, but neither None nor a refusal."""
    return multiple() if answer is None or isinstance(answer, Refusal) else answer


def check_machine(machine: Callable[[], CatalogMachine], examples: int) -> None:
    """Play so many examples. The catalog outlives them, each of which has names of its own."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            phases=[Phase.generate, Phase.shrink],
        ),
    )
