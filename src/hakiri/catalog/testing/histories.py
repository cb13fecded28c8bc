"""Random calls by many threads at once, recorded, and held against the model pipeline by pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, groupby
from random import Random
from typing import Any

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkError, NewChunk
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.errors import CatalogUnreachable, CommitUnknown
from hakiri.catalog.testing.base import Opener
from hakiri.catalog.testing.calls import Call, perform
from hakiri.catalog.testing.linearizability import Event, find_deviation
from hakiri.catalog.testing.pipeline_model import new_pipeline, predict
from hakiri.catalog.testing.samples import SECOND, T0
from hakiri.catalog.testing.seeds import SeededContract, telling
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName

TABLES = (TableName("orders"), TableName("refunds"))
KINDS = (CursorKind.MONOTONIC, CursorKind.MONOTONIC, CursorKind.OPAQUE_TOKEN)
TTL_SECONDS = (1, 5, 20)  # a second passes with every beginning and every end of a call
CLOCK_ERRORS = (*(0,) * 7, 12, -12, -3600)
CHUNKS = 3
HISTORIES = 150
HANDLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a few threads called at once and were told."""

    seed: int
    events: tuple[Event, ...]


def record_history(
    handles: Sequence[Catalog], name: str, seed: int, *, workers: int = 4, calls: int = 7
) -> History:
    """Let workers make random calls on up to three new pipelines whose names begin with `name`.

    The seed decides what each worker is inclined to do; what it can do depends on what it was told, so
    another history with the same seed is alike, not the same.
    """
    random = Random(seed)  # noqa: S311  (chance, not secrecy)
    stage = _Stage(handles)
    pipelines = [PipelineId(f"{name}-{number}") for number in range(random.randint(1, 3))]
    stage.play(0, chain.from_iterable(_opening(pipeline, random) for pipeline in pipelines))
    start = threading.Barrier(workers)

    def work(worker: int) -> None:
        player = _Player(stage, worker, pipelines, Random(f"{seed}/{worker}"))  # noqa: S311
        start.wait()
        stage.play(worker, (player.next_call() for _ in range(calls)))

    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(work, range(1, workers + 1)))
    stage.play(0, chain.from_iterable(map(_last_look, pipelines)))
    return History(seed=seed, events=tuple(stage.events))


class HistoryContract(SeededContract):
    """All writes to one pipeline happen in one order, which every reader sees."""

    @pytest.mark.spec("AD-001")
    def test_every_history_of_a_pipeline_has_an_order(self, opener: Opener, seed: int) -> None:
        with ExitStack() as stack:
            handles = [stack.enter_context(opener.open()) for _ in range(HANDLES)]
            check_histories(handles, seed)
            assert handles[0].check() == ()


def check_histories(handles: Sequence[Catalog], seed: int, count: int = HISTORIES) -> None:
    """Record so many histories; fail at the first that has no order, with the seed that plays it first."""
    for number in range(count):
        with telling(seed + number):
            faults = find_faults(record_history(handles, f"history-{number}", seed + number))
            assert not faults, "\n\n".join(faults)


def find_faults(history: History) -> tuple[str, ...]:
    """Everything in a history that the contract does not allow, in words."""
    by_pipeline = sorted(history.events, key=lambda event: event.call.pipeline)
    deviations = (
        find_deviation(tuple(events), new_pipeline(pipeline), predict)
        for pipeline, events in groupby(by_pipeline, key=lambda event: event.call.pipeline)
    )
    faults = [str(deviation) for deviation in deviations if deviation is not None]
    return (*faults, *_number_faults(history.events), *_nonce_faults(history.events))


def _number_faults(events: Sequence[Event]) -> Iterator[str]:
    """Numbers grow over all pipelines: a later draw has a higher one."""
    draws = [event for event in events if isinstance(event.answer, ChunkAttempt | Cursor) and _is_new(event)]
    for early in draws:
        for late in draws:
            is_later = early.deadline < late.invoked
            numbers = early.answer.seq, late.answer.seq  # type: ignore[attr-defined]
            if (is_later and numbers[0] >= numbers[1]) or (early is not late and numbers[0] == numbers[1]):
                yield f"the number of the second is not higher than that of the first:\n  {early}\n  {late}"


def _nonce_faults(events: Sequence[Event]) -> Iterator[str]:
    seen: dict[str, Event] = {}
    for event in events:
        if isinstance(event.answer, ChunkAttempt | Lease) and _is_new(event):
            other = seen.setdefault(event.answer.nonce, event)
            if other is not event:
                yield f"two holders have one nonce:\n  {other}\n  {event}"


def _is_new(event: Event) -> bool:
    return event.call.method in {"claim", "put", "acquire"}


@dataclass(slots=True)
class _Stage:
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
            if isinstance(answer, ChunkAttempt):
                self.attempts.append(answer)
            if isinstance(answer, Lease):
                self.leases.append(answer)

    def now(self) -> datetime:
        return T0 + self._tickets * SECOND

    def _ticket(self) -> int:
        with self._lock:
            self._tickets += 1
            return self._tickets


class _Player:
    """One worker's inclinations: what it calls next, given what it and the others were told so far."""

    def __init__(self, stage: _Stage, worker: int, pipelines: Sequence[PipelineId], random: Random) -> None:
        self._stage = stage
        self._node = NodeId(f"node-{worker}")
        self._run = RunId(f"run-{worker}")
        self._pipelines = pipelines
        self._random = random
        self._written = 0
        self._inclinations: dict[Callable[[PipelineId], Call], int] = {
            self._claim: 18,
            self._commit: 16,
            self._put: 12,
            self._acquire: 8,
            self._get_cursor: 8,
            self._tally: 8,
            self._renew: 6,
            self._give_back: 5,
            self._current: 5,
            self._renew_lease: 4,
            self._release: 4,
            self._page: 4,
            self._get_chunk: 3,
            self._change: 3,
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

    def _commit(self, pipeline: PipelineId) -> Call:
        attempt = self._attempt(pipeline)
        if attempt is None:
            return self._claim(pipeline)
        cursor = self._random.choice((None, self._value(), self._value()))
        commit = ChunkCommit(rows=attempt.number, bytes=100, manifest=self._value(), cursor=cursor)
        return self._write("queue", "commit", attempt=attempt, commit=commit, **self._under(attempt.pipeline))

    def _renew(self, pipeline: PipelineId) -> Call:
        attempt = self._attempt(pipeline)
        if attempt is None:
            return self._claim(pipeline)
        return self._write("queue", "renew", attempt=attempt, ttl=self._ttl())

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
        reason = {"reason": "a rewind"} if method == "supersede" else {}
        return self._write("chunks", method, pipeline, chunks=[self._chunk()], **reason)

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

    def _lease(self, pipeline: PipelineId) -> Lease | None:
        known = [lease for lease in self._stage.leases if lease.pipeline == pipeline]
        if known and self._random.random() < 0.6:
            return known[-1]
        return self._random.choice(known) if known else None

    def _under(self, pipeline: PipelineId) -> dict[str, Any]:
        return {"under": self._random.choice((None, self._lease(pipeline)))}


def _opening(pipeline: PipelineId, random: Random) -> Iterator[Call]:
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


def _last_look(pipeline: PipelineId) -> Iterator[Call]:
    for role, method in (("chunks", "page"), ("chunks", "tally"), ("leases", "current"), ("cursors", "all")):
        yield Call(role, method, {"pipeline": pipeline})
