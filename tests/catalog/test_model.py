"""Any sequence of calls gets from every backend what it gets from a simple model of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, multiple, rule
from tests.support.catalog_machine import CatalogMachine, check_machine, either, given, several, steps_of_time

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkError, ChunkStatus, NewChunk
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Decision, Failure, Phase
from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus, StartedRun
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import CatalogRefused
from hakiri.catalog.testing.base import UrlOpener
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, IndexId, NodeId, PipelineId

pytestmark = pytest.mark.proof

EXAMPLES = {"sqlite": 80, "postgres": 20}
INDEXES = (IndexId("pk-id"), IndexId("vector-body"))

kinds = st.sampled_from([CursorKind.MONOTONIC] * 3 + [*CursorKind])
nodes = st.sampled_from([NodeId("anna"), NodeId("ben")])
ttls = st.sampled_from([timedelta(microseconds=1), timedelta(minutes=1), timedelta(hours=2)])
values = st.sampled_from(["null", '"a"', '{"since": "…"}', "17"])
deciders = st.sampled_from([None, None, "operator:ada", "agent:7"])
behind = st.sampled_from([0, 0, 0, 1])
chunk_ids = st.lists(st.integers(1, 5).map(ChunkId), min_size=1, max_size=4)
errors = st.sampled_from(
    [None, ChunkError(kind="SourceGone", message="«410»"), ChunkError(kind="", message="")]
)
outcomes = st.builds(
    RunOutcome,
    status=st.sampled_from([RunStatus.SUCCESS, *(status for status in RunStatus if status.has_ended)]),
    rows=several,
    bytes=several,
    error_kind=st.none() | st.just("SourceGone"),
    error_message=st.none() | st.just("«410»"),
)


class LeasedMachine(CatalogMachine):
    """What machines share that write under leases."""

    leases: Bundle[Lease] = Bundle("leases")
    any_lease = st.sampled_from(["the right one"] * 4) | st.none() | leases

    def under(self, pipeline: PipelineId, chosen: Lease | str | None) -> Lease | None:
        """The chosen lease, or the one that a write to the pipeline needs, taken for it if it is free."""
        if not isinstance(chosen, str):
            return chosen
        if not self.model.pipeline(pipeline).state_at(self.now).kind.needs_lease:
            return None
        self.acquire(self.pipelines.index(pipeline), NodeId("anna"), timedelta(minutes=1))
        return self.model.pipeline(pipeline).lease

    @rule(pipeline=either, kind=kinds)
    def declare(self, pipeline: int, kind: CursorKind) -> None:
        self.call("pipelines", "declare", pipeline=self.pipelines[pipeline], kind=kind, now=self.now)

    @rule(target=leases, pipeline=either, node=nodes, ttl=ttls)
    def acquire(self, pipeline: int, node: NodeId, ttl: timedelta) -> Any:
        name = self.pipelines[pipeline]
        return given(self.call("leases", "acquire", pipeline=name, node=node, now=self.now, ttl=ttl))

    @rule(pipeline=either, table=either, value=values, run=several, under=any_lease, audit_by=deciders)
    def put_cursor(
        self, pipeline: int, table: int, value: str, *, run: int, under: Lease | str | None, **audit: Any
    ) -> None:
        where = {"pipeline": self.pipelines[pipeline], "table": self.tables[table], "run": self.run(run)}
        lease = self.under(self.pipelines[pipeline], under)
        self.call("cursors", "put", **where, value=value, now=self.now, under=lease, **audit, reason="why")

    @rule(pipeline=either, run=st.none() | several, spec_hash=st.none() | st.just("sha256:1"))
    def fail(self, pipeline: int, run: int | None, spec_hash: str | None) -> None:
        failure = Failure(
            run=None if run is None else self.run(run),
            kind="SourceGone",
            message="«410»",
            at=self.now,
            spec_hash=spec_hash,
        )
        name = self.pipelines[pipeline]
        self.call("pipelines", "fail", pipeline=name, failure=failure, now=self.now)

    @rule(pipeline=either, decision=st.sampled_from(Decision), by=st.sampled_from(["operator:ada", "auto"]))
    def decide(self, pipeline: int, decision: Decision, by: str) -> None:
        name = self.pipelines[pipeline]
        self.call("pipelines", "decide", pipeline=name, decision=decision, by=by, now=self.now)


class PipelineMachine(LeasedMachine):
    """Pipelines, their leases, runs and cursors."""

    leases = LeasedMachine.leases

    @rule(pipeline=either, expected=st.sampled_from(Phase), to=st.sampled_from(Phase))
    def move(self, pipeline: int, expected: Phase, to: Phase) -> None:
        name = self.pipelines[pipeline]
        self.call("pipelines", "move", pipeline=name, expected=expected, to=to, now=self.now)

    @rule(target=leases, lease=leases, ttl=ttls)
    def renew_lease(self, lease: Lease, ttl: timedelta) -> Any:
        return given(self.call("leases", "renew", lease=lease, now=self.now, ttl=ttl))

    @rule(lease=leases)
    def release(self, lease: Lease) -> None:
        self.call("leases", "release", lease=lease)

    @rule(
        target=leases, run=several, pipeline=either, node=nodes, ttl=ttls, trace=st.sampled_from([None, "4b"])
    )
    def start_run(self, run: int, pipeline: int, **how: Any) -> Any:
        where = {"run": self.run(run), "pipeline": self.pipelines[pipeline]}
        started = self.call("runs", "start", **where, **how, now=self.now)
        return given(started.lease if isinstance(started, StartedRun) else None)

    @rule(run=several, outcome=outcomes)
    def end_run(self, run: int, outcome: RunOutcome) -> None:
        self.call("runs", "end", run=self.run(run), outcome=outcome, now=self.now)

    @rule(run=several, pipeline=either, node=nodes, outcome=st.none() | outcomes)
    def adopt_run(self, run: int, pipeline: int, node: NodeId, outcome: RunOutcome | None) -> None:
        known = self.model.runs.get(self.run(run))
        adopted = Run(
            run=self.run(run),
            pipeline=self.pipelines[pipeline] if known is None else known.pipeline,
            node=node,
            status=RunStatus.RUNNING,
            started_at=self.now - timedelta(hours=1),
        )
        if outcome is not None:
            ended = {name: getattr(outcome, name) for name in RunOutcome.__slots__}
            adopted = replace(adopted, ended_at=self.now, **ended)
        self.call("runs", "adopt", run=adopted, now=self.now)

    @rule(pipeline=either, spec=either)
    def note_applied(self, pipeline: int, spec: int) -> None:
        what = {"spec_json": f'{{"spec": {spec}}}', "spec_hash": f"sha256:{spec}"}
        self.call("pipelines", "note_applied", pipeline=self.pipelines[pipeline], **what, now=self.now)

    @rule(pipeline=either)
    def retire(self, pipeline: int) -> None:
        self.call("pipelines", "retire", pipeline=self.pipelines[pipeline], now=self.now)

    @rule(pipeline=either, ttl=ttls)
    def look_at_abandoned_runs(self, pipeline: int, ttl: timedelta) -> None:
        self.call("runs", "abandoned", pipeline=self.pipelines[pipeline], now=self.now, ttl=ttl)

    @rule(pipeline=either, by=st.sampled_from(["operator:ada", "auto"]), text=st.none() | st.just("«1»"))
    def note_in_the_audit_log(self, pipeline: int, by: str, text: str | None) -> None:
        what = {"table": self.tables[0], "before": text, "after": text, "reason": text}
        name = self.pipelines[pipeline]
        self.call("audit", "note", by=by, action="look", now=self.now, pipeline=name, **what)

    @rule(pipeline=either, back=several, limit=several)
    def page_through_the_audit_log(self, pipeline: int, back: int, limit: int) -> None:
        name = self.pipelines[pipeline]
        entries = self.call("audit", "page", pipeline=name)
        if len(entries) > back:
            self.call("audit", "page", pipeline=name, before=entries[back].number, limit=limit)

    @rule(before=several, limit=several)
    def look_at_latest_runs(self, before: int, limit: int) -> None:
        self.call("runs", "latest", pipeline=self.pipelines[0], before=self.run(before), limit=limit)

    @rule(pipeline=either, table=either, value=values, run=several, age=steps_of_time, is_known=st.booleans())
    def adopt_cursor(
        self, pipeline: int, table: int, value: str, *, run: int, age: timedelta, is_known: bool
    ) -> None:
        if is_known:
            self.adopt_run(run, pipeline, NodeId("ben"), RunOutcome(status=RunStatus.SUCCESS))
        cursor = Cursor(
            pipeline=self.pipelines[pipeline],
            table=self.tables[table],
            value=value,
            run=self.run(run),
            seq=10**9,
            updated_at=self.now - age,
        )
        self.call("cursors", "adopt", cursor=cursor, now=self.now)


class QueueMachine(LeasedMachine):
    """The plan of a pipeline, and work on it."""

    attempts: Bundle[ChunkAttempt] = Bundle("attempts")
    any_lease = LeasedMachine.any_lease

    @initialize(first=kinds, second=kinds)
    def plan_first(self, first: CursorKind, second: CursorKind) -> None:
        for number, kind in enumerate((first, second)):
            self.declare(number, kind)
            self.plan(number, 9, [0, 0, 1])

    @rule(pipeline=either, plan=several, tables=st.lists(either, max_size=4))
    def plan(self, pipeline: int, plan: int, tables: list[int]) -> None:
        chunks = [
            NewChunk(table=self.tables[table], predicate=f'{{"part": {number}}}')
            for number, table in enumerate(tables)
        ]
        name = self.pipelines[pipeline]
        self.call("chunks", "plan", pipeline=name, plan=f"plan-{plan}", chunks=chunks, now=self.now)

    @rule(pipeline=either, chunks=chunk_ids, method=st.sampled_from(["reopen", "skip"]))
    def change_plan(self, pipeline: int, chunks: list[ChunkId], method: str) -> None:
        self.call("chunks", method, pipeline=self.pipelines[pipeline], chunks=chunks, now=self.now)

    @rule(pipeline=either, chunks=chunk_ids, tables=st.none() | st.lists(either, min_size=1), by=deciders)
    def supersede(
        self, pipeline: int, chunks: list[ChunkId], tables: list[int] | None, by: str | None
    ) -> None:
        into = tables and [NewChunk(table=self.tables[table], predicate="again") for table in tables]
        how = {"reason": "a rewind", "into": into, "by": by}
        self.call(
            "chunks", "supersede", pipeline=self.pipelines[pipeline], chunks=chunks, now=self.now, **how
        )

    @rule(pipeline=either, table=either, chunk=several, limit=several)
    def page_through_what_landed(self, pipeline: int, table: int, chunk: int, limit: int) -> None:
        after = (self.pipelines[pipeline], ChunkId(chunk))
        self.call("chunks", "landed", table=self.tables[table], after=after, limit=limit)
        self.call("chunks", "recent", pipeline=self.pipelines[pipeline], limit=limit)

    @rule(pipeline=either, status=st.none() | st.sampled_from(ChunkStatus), after=st.none() | several)
    def page_through(self, pipeline: int, status: ChunkStatus | None, after: int | None) -> None:
        name = self.pipelines[pipeline]
        self.call("chunks", "page", pipeline=name, status=status, after=after, limit=2)
        self.call("chunks", "get", pipeline=name, chunk=ChunkId(after or 1))

    @rule(
        target=attempts,
        pipeline=either,
        run=several,
        node=nodes,
        ttl=ttls,
        parallelism=st.sampled_from([None, None, 0, 1, 2]),
        under=any_lease,
    )
    def claim(self, pipeline: int, run: int, under: Lease | str | None, **how: Any) -> Any:
        where = {"pipeline": self.pipelines[pipeline], "run": self.run(run)}
        lease = self.under(self.pipelines[pipeline], under)
        return given(self.call("queue", "claim", **where, **how, now=self.now, under=lease))

    @rule(
        target=attempts,
        pipeline=either,
        run=several,
        node=nodes,
        ttl=ttls,
        limit=st.integers(0, 4),
        parallelism=st.sampled_from([None, None, 0, 2, 3]),
        tables=st.none() | st.lists(either, max_size=2),
        under=any_lease,
    )
    def claim_some(
        self, pipeline: int, run: int, under: Lease | str | None, tables: list[int] | None, **how: Any
    ) -> Any:
        where = {"pipeline": self.pipelines[pipeline], "run": self.run(run)}
        lease = self.under(self.pipelines[pipeline], under)
        names = None if tables is None else [self.tables[table] for table in tables]
        taken = self.call("queue", "claim_some", **where, **how, tables=names, now=self.now, under=lease)
        return multiple(*taken) if isinstance(taken, tuple) else multiple()

    @rule(some=st.lists(attempts, min_size=1, max_size=4), ttl=ttls)
    def renew_some(self, some: list[ChunkAttempt], ttl: timedelta) -> None:
        same = [attempt for attempt in some if attempt.pipeline == some[0].pipeline]
        self.call("queue", "renew_some", attempts=same, now=self.now, ttl=ttl)

    @rule(
        some=st.lists(attempts, min_size=1, max_size=4),
        cursor=values | st.none(),
        stream=st.none() | either,
        moves=st.booleans(),
        steps=st.none() | behind,
        under=any_lease,
    )
    def commit_some(
        self,
        some: list[ChunkAttempt],
        cursor: str | None,
        stream: int | None,
        steps: int | None,
        under: Lease | str | None,
        *,
        moves: bool,
    ) -> None:
        same = [attempt for attempt in some if attempt.pipeline == some[0].pipeline]
        commit = ChunkCommit(
            rows=1,
            bytes=7,
            manifest="«1»",
            cursor=cursor,
            stream=None if stream is None else self.tables[stream],
            moves_stream=moves,
        )
        first = commit if steps is None else replace(commit, schema=self.step(same[0].table, steps))
        commits = [(attempt, commit if place else first) for place, attempt in enumerate(same)]
        lease = self.under(same[0].pipeline, under)
        self.call("queue", "commit_some", commits=commits, now=self.now, under=lease)

    @rule(attempt=attempts, by=ttls)
    def wait_for_an_attempt_to_run_out(self, attempt: ChunkAttempt, by: timedelta) -> None:
        """Set the clock to the very end of an attempt's lease, or near it."""
        self.now = attempt.leased_until - (by if by < timedelta(seconds=1) else timedelta())

    @rule(target=attempts, attempt=attempts, ttl=ttls)
    def renew(self, attempt: ChunkAttempt, ttl: timedelta) -> Any:
        return given(self.call("queue", "renew", attempt=attempt, now=self.now, ttl=ttl))

    @rule(
        attempt=attempts, rows=several, cursor=values | st.none(), steps=st.none() | behind, under=any_lease
    )
    def commit(
        self,
        attempt: ChunkAttempt,
        rows: int,
        cursor: str | None,
        steps: int | None,
        under: Lease | str | None,
    ) -> None:
        schema = None if steps is None else self.step(attempt.table, steps)
        commit = ChunkCommit(rows=rows, bytes=rows * 7, manifest=f"{rows}", cursor=cursor, schema=schema)
        lease = self.under(attempt.pipeline, under)
        self.call("queue", "commit", attempt=attempt, commit=commit, now=self.now, under=lease)

    @rule(pipeline=either, node=nodes, ttl=ttls, first=values, second=values)
    def commit_two_backwards(
        self, pipeline: int, node: NodeId, ttl: timedelta, first: str, second: str
    ) -> None:
        """The later claim is the first to be done; its cursor stays."""
        right = "the right one"
        claims = [self.claim(pipeline, 0, right, node=node, ttl=ttl, parallelism=None) for _ in range(2)]
        for attempt, cursor in zip(reversed(claims), (first, second), strict=True):
            if isinstance(attempt, ChunkAttempt):
                self.commit(attempt, 1, cursor, None, right)

    @rule(pipeline=either, run=several, chunks=several)
    def leave_things_behind(self, pipeline: int, run: int, chunks: int) -> None:
        """Start a run, claim some chunks and be gone; the lease goes with the run."""
        name, node = self.pipelines[pipeline], NodeId(f"{self.prefix}-gone")
        who = {"pipeline": name, "run": self.run(run), "node": node, "now": self.now}
        started = self.call("runs", "start", **who, ttl=timedelta(hours=2))
        lease = started.lease if isinstance(started, StartedRun) else None
        self.call("queue", "claim_some", **who, ttl=timedelta(hours=2), limit=chunks, under=lease)

    @rule()
    def release_what_was_left(self) -> None:
        self.call("queue", "release_node", node=NodeId(f"{self.prefix}-gone"), now=self.now)

    @rule(attempt=attempts, error=errors, retry=st.booleans())
    def give_back(self, attempt: ChunkAttempt, error: ChunkError | None, retry: bool) -> None:
        self.call("queue", "give_back", attempt=attempt, now=self.now, error=error, retry=retry)


class TableMachine(CatalogMachine):
    """Tables and what belongs to them: schemas, snapshots, files that may go; and revocation epochs."""

    snapshots: Bundle[Snapshot] = Bundle("snapshots")

    @rule(pipeline=either, table=either, steps=behind)
    def record_schema(self, pipeline: int, table: int, steps: int) -> None:
        step = self.step(self.tables[table], steps)
        self.call("schemas", "record", step=step, pipeline=self.pipelines[pipeline], now=self.now)

    @rule(snapshot=several, index=st.sampled_from(INDEXES), size=either)
    def note_sidecar(self, snapshot: int, index: IndexId, size: int) -> None:
        name = self.snapshot(snapshot)
        sidecar = Sidecar(snapshot=name, index=index, manifest_hash=f"sha256:{size}", bytes=size)
        if name in self.model.snapshots.committed and sidecar not in self.model.snapshots.sidecars(name):
            with pytest.raises(CatalogRefused):
                self.catalog.snapshots.note_sidecar(sidecar, self.now)
        else:
            self.call("snapshots", "note_sidecar", sidecar=sidecar, now=self.now)

    @rule(
        target=snapshots,
        snapshot=several,
        table=either,
        indexes=st.lists(st.sampled_from(INDEXES), unique=True),
        steps=behind,
        drops=st.lists(several, unique=True, max_size=2),
    )
    def commit_snapshot(
        self, snapshot: int, table: int, indexes: list[IndexId], steps: int, drops: list[int]
    ) -> Snapshot:
        name = self.tables[table]
        committed = Snapshot(
            snapshot=self.snapshot(snapshot),
            table=name,
            created_at=self.now,
            includes_runs=(self.run(0), self.run(1)),
            indexes=tuple(indexes),
            rows=snapshot,
            based_on=self.model.snapshots.revision(name) - steps,
            manifest="{}",
        )
        doomed = [self.doomed(number) for number in drops]
        self.call("snapshots", "commit", snapshot=committed, now=self.now, drops=doomed)
        return committed

    @rule(snapshot=consumes(snapshots))
    def commit_snapshot_again(self, snapshot: Snapshot) -> None:
        self.call("snapshots", "commit", snapshot=snapshot, now=self.now)

    def doomed(self, number: int, until: timedelta = timedelta()) -> DoomedFile:
        path, table, keep_until = self.files[number], self.tables[number % 2], self.now + until
        return DoomedFile(path=path, table=table, reason="compacted", keep_until=keep_until)

    @rule(files=st.lists(several, unique=True), until=steps_of_time)
    def doom(self, files: list[int], until: timedelta) -> None:
        doomed = [self.doomed(number, until) for number in files]
        self.call("garbage", "doom", files=doomed, now=self.now)

    @rule(files=st.lists(several))
    def forget(self, files: list[int]) -> None:
        self.call("garbage", "forget", paths=[self.files[number] for number in files], now=self.now)

    @rule(scope=either)
    def bump(self, scope: int) -> None:
        self.call("revocations", "bump", scope=self.scopes[scope], now=self.now)


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Catalog]]:
    is_sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/meta.sqlite" if is_sqlite else request.getfixturevalue("postgres_url")
    with UrlOpener(url=url, project="model", base=tmp_path).open() as catalog:
        yield request.param, catalog


@pytest.mark.spec("AD-001")
@pytest.mark.parametrize("machine", [PipelineMachine, QueueMachine, TableMachine])
def test_every_backend_answers_as_the_model_does(
    backend: tuple[str, Catalog], machine: type[CatalogMachine]
) -> None:
    name, catalog = backend

    check_machine(lambda: machine(catalog), EXAMPLES[name])

    assert catalog.check() == ()
