"""Workers who make random calls on a few pipelines, and the stage where the calls are written down."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkError, NewChunk
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Decision, Failure
from hakiri.catalog.errors import CatalogUnreachable, CommitUnknown
from hakiri.catalog.testing.calls import Call, perform
from hakiri.catalog.testing.linearizability import Event
from hakiri.catalog.testing.samples import SECOND, T0
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName

TABLES = (TableName("orders"), TableName("refunds"))
KINDS = (CursorKind.MONOTONIC, CursorKind.MONOTONIC, CursorKind.OPAQUE_TOKEN)
TTL_SECONDS = (1, 5, 20)  # a second passes with every beginning and every end of a call
CLOCK_ERRORS = (*(0,) * 7, 12, -12, -3600)
CHUNKS = 3


@dataclass(slots=True)
class Stage:
    """Where calls are made and written down, and what the answers give to hold on to."""

    handles: Sequence[Catalog]
    events: list[Event] = field(default_factory=list)
    attempts: list[ChunkAttempt] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _tickets: int = 0

    def play(self, worker: int, calls: Iterator[Call]) -> None:
        catalog = self.handles[worker % len(self.handles)]
        for call in calls:
            invoked = self._ticket()
            answer: object
            returned: int | None
            try:
                answer, returned = perform(catalog, call), self._ticket()
            except (CatalogUnreachable, CommitUnknown):
                answer, returned = None, None  # it may have happened
            self.events.append(
                Event(worker=worker, call=call, invoked=invoked, returned=returned, answer=answer)
            )
            answers = answer if isinstance(answer, tuple) else (answer,)
            self.attempts += [each for each in answers if isinstance(each, ChunkAttempt)]
            self.leases += [each for each in answers if isinstance(each, Lease)]

    def now(self) -> datetime:
        return T0 + self._tickets * SECOND

    def _ticket(self) -> int:
        with self._lock:
            self._tickets += 1
            return self._tickets


class Player:
    """One worker's inclinations: what it calls next, given what it and the others were told so far."""

    def __init__(self, stage: Stage, worker: int, pipelines: Sequence[PipelineId], random: Random) -> None:
        self._stage = stage
        self._node = NodeId(f"node-{worker}")
        self._run = RunId(f"run-{worker}")
        self._pipelines = pipelines
        self._random = random
        self._written = 0
        self._inclinations: dict[Callable[[PipelineId], Call], int] = {
            self._claim: 14,
            self._claim_some: 6,
            self._commit: 14,
            self._commit_some: 6,
            self._put: 12,
            self._acquire: 8,
            self._get_cursor: 8,
            self._tally: 8,
            self._renew: 5,
            self._renew_some: 2,
            self._give_back: 5,
            self._current: 5,
            self._renew_lease: 4,
            self._release: 4,
            self._page: 4,
            self._get_chunk: 3,
            self._change: 3,
            self._fail: 2,
            self._decide: 3,
            self._get: 2,
            self._declare: 1,
        }

    def next_call(self) -> Call:
        (call,) = self._random.choices([*self._inclinations], [*self._inclinations.values()])
        return call(self._random.choice(self._pipelines))

    def _claim(self, pipeline: PipelineId) -> Call:
        parallelism = self._random.choice((None, None, 1, 2))
        who = {"run": self._run, "node": self._node, "ttl": self._ttl()}
        return self._write(
            "queue", "claim", pipeline, **who, parallelism=parallelism, **self._under(pipeline)
        )

    def _claim_some(self, pipeline: PipelineId) -> Call:
        call = self._claim(pipeline)
        limit = self._random.choice((1, 2, 5))
        tables = self._random.choice((None, None, TABLES[1:]))
        return Call("queue", "claim_some", {**call.arguments, "limit": limit, "tables": tables})

    def _commit(self, pipeline: PipelineId) -> Call:
        attempt = self._attempt(pipeline)
        if attempt is None:
            return self._claim(pipeline)
        commit = self._result(attempt)
        return self._write("queue", "commit", attempt=attempt, commit=commit, **self._under(attempt.pipeline))

    def _commit_some(self, pipeline: PipelineId) -> Call:
        attempts = self._some_attempts(pipeline)
        if not attempts:
            return self._claim_some(pipeline)
        commits = tuple((attempt, self._result(attempt)) for attempt in attempts)
        return self._write("queue", "commit_some", commits=commits, **self._under(pipeline))

    def _result(self, attempt: ChunkAttempt) -> ChunkCommit:
        return ChunkCommit(
            rows=attempt.number,
            bytes=100,
            manifest=self._value(),
            cursor=self._random.choice((None, self._value(), self._value())),
            stream=self._random.choice((None, None, TABLES[1])),
            moves_stream=self._random.random() < 0.9,
        )

    def _renew(self, pipeline: PipelineId) -> Call:
        attempt = self._attempt(pipeline)
        if attempt is None:
            return self._claim(pipeline)
        return self._write("queue", "renew", attempt=attempt, ttl=self._ttl())

    def _renew_some(self, pipeline: PipelineId) -> Call:
        attempts = self._some_attempts(pipeline)
        if not attempts:
            return self._claim_some(pipeline)
        return self._write("queue", "renew_some", attempts=attempts, ttl=self._ttl())

    def _give_back(self, pipeline: PipelineId) -> Call:
        attempt = self._attempt(pipeline)
        if attempt is None:
            return self._claim(pipeline)
        error = self._random.choice((None, ChunkError(kind="SourceGone", message=self._value())))
        retry = self._random.choice((True, True, False))
        return self._write("queue", "give_back", attempt=attempt, error=error, retry=retry)

    def _put(self, pipeline: PipelineId) -> Call:
        value = self._random.choice((self._value(), self._value(), "null"))
        what = {"table": self._random.choice(TABLES), "value": value, "run": self._run}
        return self._write("cursors", "put", pipeline, **what, **self._under(pipeline))

    def _get_cursor(self, pipeline: PipelineId) -> Call:
        return Call("cursors", "get", {"pipeline": pipeline, "table": self._random.choice(TABLES)})

    def _acquire(self, pipeline: PipelineId) -> Call:
        return self._write("leases", "acquire", pipeline, node=self._node, ttl=self._ttl())

    def _renew_lease(self, pipeline: PipelineId) -> Call:
        lease = self._lease(pipeline)
        if lease is None:
            return self._acquire(pipeline)
        return self._write("leases", "renew", lease=lease, ttl=self._ttl())

    def _release(self, pipeline: PipelineId) -> Call:
        lease = self._lease(pipeline)
        return self._acquire(pipeline) if lease is None else Call("leases", "release", {"lease": lease})

    def _current(self, pipeline: PipelineId) -> Call:
        return Call("leases", "current", {"pipeline": pipeline})

    def _tally(self, pipeline: PipelineId) -> Call:
        return Call("chunks", "tally", {"pipeline": pipeline})

    def _page(self, pipeline: PipelineId) -> Call:
        return Call("chunks", "page", {"pipeline": pipeline})

    def _get_chunk(self, pipeline: PipelineId) -> Call:
        return Call("chunks", "get", {"pipeline": pipeline, "chunk": self._chunk()})

    def _change(self, pipeline: PipelineId) -> Call:
        method = self._random.choice(("reopen", "skip", "supersede", "plan"))
        if method == "plan":
            return _planning(pipeline, f"plan-{self._random.randint(1, 2)}", self._now())
        if method == "supersede":
            into = self._random.choice((None, (NewChunk(table=TABLES[0], predicate=self._value()),) * 2))
            chunks = [self._chunk(), self._chunk()]
            return self._write("chunks", method, pipeline, chunks=chunks, reason="a rewind", into=into)
        return self._write("chunks", method, pipeline, chunks=[self._chunk()])

    def _fail(self, pipeline: PipelineId) -> Call:
        failure = Failure(
            run=self._run, kind="SourceGone", message=self._value(), at=self._now(), spec_hash=None
        )
        return self._write("pipelines", "fail", pipeline, failure=failure)

    def _decide(self, pipeline: PipelineId) -> Call:
        decision = self._random.choice([*Decision])
        return self._write("pipelines", "decide", pipeline, decision=decision, by="operator:ada")

    def _get(self, pipeline: PipelineId) -> Call:
        return Call("pipelines", "get", {"pipeline": pipeline})

    def _declare(self, pipeline: PipelineId) -> Call:
        return self._write("pipelines", "declare", pipeline, kind=self._random.choice(KINDS))

    def _write(self, role: str, method: str, pipeline: PipelineId | None = None, **arguments: Any) -> Call:
        named = {} if pipeline is None else {"pipeline": pipeline}
        return Call(role, method, {**named, **arguments, "now": self._now()})

    def _now(self) -> datetime:
        return self._stage.now() + self._random.choice(CLOCK_ERRORS) * SECOND

    def _ttl(self) -> timedelta:
        return self._random.choice(TTL_SECONDS) * SECOND

    def _chunk(self) -> ChunkId:
        return ChunkId(self._random.randint(1, CHUNKS + 1))

    def _value(self) -> str:
        self._written += 1
        return f'"{self._node}/{self._written}"'

    def _attempt(self, pipeline: PipelineId) -> ChunkAttempt | None:
        """Mostly one of its own, which is the latest it got; sometimes anybody's, to commit it twice."""
        known = [attempt for attempt in self._stage.attempts if attempt.pipeline == pipeline]
        own = [attempt for attempt in known if attempt.node == self._node]
        if own and self._random.random() < 0.7:
            return own[-1]
        return self._random.choice(known) if known else None

    def _some_attempts(self, pipeline: PipelineId) -> tuple[ChunkAttempt, ...]:
        """Mostly those that it was given last, now and then some of anybody's."""
        known = [attempt for attempt in self._stage.attempts if attempt.pipeline == pipeline]
        own = [attempt for attempt in known if attempt.node == self._node]
        if own and self._random.random() < 0.7:
            return tuple(own[-3:])
        return tuple(self._random.sample(known, min(2, len(known))))

    def _lease(self, pipeline: PipelineId) -> Lease | None:
        known = [lease for lease in self._stage.leases if lease.pipeline == pipeline]
        if known and self._random.random() < 0.6:
            return known[-1]
        return self._random.choice(known) if known else None

    def _under(self, pipeline: PipelineId) -> dict[str, Any]:
        return {"under": self._random.choice((None, self._lease(pipeline)))}


def opening(pipeline: PipelineId, random: Random) -> Iterator[Call]:
    kind = random.choice(KINDS)
    yield Call("pipelines", "declare", {"pipeline": pipeline, "kind": kind, "now": T0})
    if kind.needs_lease:
        node = NodeId("node-0")
        yield Call("leases", "acquire", {"pipeline": pipeline, "node": node, "now": T0, "ttl": 20 * SECOND})
    yield _planning(pipeline, "plan-0", T0)


def _planning(pipeline: PipelineId, plan: str, now: datetime) -> Call:
    chunks = tuple(
        NewChunk(table=table, predicate=f'"{plan}/{number}"')
        for number, table in enumerate((*TABLES, TABLES[0]))
    )
    return Call("chunks", "plan", {"pipeline": pipeline, "plan": plan, "chunks": chunks, "now": now})


def last_look(pipeline: PipelineId) -> Iterator[Call]:
    for role, method in (
        ("chunks", "page"),
        ("chunks", "tally"),
        ("chunks", "recent"),
        ("leases", "current"),
        ("cursors", "all"),
        ("pipelines", "get"),
    ):
        yield Call(role, method, {"pipeline": pipeline})
