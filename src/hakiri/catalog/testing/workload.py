"""Work on one pipeline in steps that a test draws at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from hypothesis import strategies as st

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.catalog.contract.pipelines import Decision, Failure
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    MINUTE,
    RUN,
    T0,
    TTL,
    done,
    edge,
    new_chunks,
    step,
    tried,
)
from hakiri.core.ids import ChunkId, PipelineId, TableName

Step = tuple[str, int]


class Worker:
    """Does one thing after another on a pipeline that needs no lease. The number says to what."""

    def __init__(self, catalog: Catalog, pipeline: PipelineId) -> None:
        self._catalog = catalog
        self._pipeline = pipeline
        self._table = TableName(f"table-of-{pipeline}")
        self._now: datetime = T0
        self._plans = 0
        self._attempts: list[ChunkAttempt] = []

    def plan(self, number: int) -> None:
        self._plans += 1
        chunks = new_chunks(number, self._table)
        self._catalog.chunks.plan(self._pipeline, f"plan {self._plans}", chunks, self._now)

    def claim(self, number: int) -> None:
        node = ANNA if number % 2 else BEN
        attempt = self._catalog.queue.claim(
            self._pipeline, RUN, node, self._now, ttl=TTL, parallelism=number or None
        )
        self._attempts += [attempt] if attempt else []

    def claim_some(self, number: int) -> None:
        node = ANNA if number % 2 else BEN
        self._attempts += self._catalog.queue.claim_some(
            self._pipeline, RUN, node, self._now, ttl=TTL, limit=number, parallelism=2 * number or None
        )

    def commit_some(self, number: int) -> None:
        commits = [(attempt, done(rows=number)) for attempt in self._attempts[-number:]]
        tried(lambda: self._catalog.queue.commit_some(commits, self._now))

    def commit(self, number: int) -> None:
        commit = done(rows=number, cursor=f'{{"id": {number}}}', edges=(edge(number + 2, 1),))
        self._with_attempt(number, lambda attempt: self._catalog.queue.commit(attempt, commit, self._now))

    def give_back(self, number: int) -> None:
        self._with_attempt(
            number,
            lambda attempt: self._catalog.queue.give_back(attempt, self._now, retry=bool(number % 2)),
        )

    def renew(self, number: int) -> None:
        self._with_attempt(number, lambda attempt: self._catalog.queue.renew(attempt, self._now, TTL))

    def skip(self, number: int) -> None:
        self._catalog.chunks.skip(self._pipeline, [ChunkId(number)], self._now)

    def reopen(self, number: int) -> None:
        self._catalog.chunks.reopen(self._pipeline, [ChunkId(number), ChunkId(number + 1)], self._now)

    def supersede(self, number: int) -> None:
        chunks = [ChunkId(number), ChunkId(number + 1)]
        into = new_chunks(number, self._table) if number % 2 else None
        self._catalog.chunks.supersede(self._pipeline, chunks, "rewind", self._now, into=into, by="auto")

    def fail(self, number: int) -> None:
        failure = Failure(run=RUN, kind="SourceGone", message=f"{number}", at=self._now, spec_hash=None)
        self._catalog.pipelines.fail(self._pipeline, failure, self._now)

    def decide(self, number: int) -> None:
        decision = Decision.RETRY if number % 2 else Decision.SKIP
        self._catalog.pipelines.decide(self._pipeline, decision, "auto", self._now)

    def change_schema(self, number: int) -> None:
        self._catalog.schemas.record(step(self._version(), self._table), self._pipeline, self._now)

    def wait(self, number: int) -> None:
        self._now += number * MINUTE

    def _version(self) -> int:
        schema = self._catalog.schemas.current(self._table)
        return schema.version if schema else 0

    def _with_attempt(self, number: int, work: Callable[[ChunkAttempt], object]) -> None:
        """Go on with one of the attempts so far; those that were lost since are refused."""
        if self._attempts:
            tried(lambda: work(self._attempts[number % len(self._attempts)]))


STEPS: Mapping[str, Callable[[Worker, int], None]] = {
    name: step_of_worker
    for name, step_of_worker in vars(Worker).items()
    if callable(step_of_worker) and not name.startswith("_")
}
SOME_STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9)), min_size=10, max_size=30
)


def work_on(catalog: Catalog, pipeline: PipelineId, steps: Sequence[Step]) -> Iterator[None]:
    """Plan and claim something, then take the steps; control comes back after each."""
    worker = Worker(catalog, pipeline)
    for name, number in (("plan", 6), ("claim", 0), ("claim", 0), *steps):
        STEPS[name](worker, number)
        yield
