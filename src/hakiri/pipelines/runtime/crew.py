"""The threads that work on the chunks of one pipeline until there are none left that they may take."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkError
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.errors import LeaseLost, SchemaMoved
from hakiri.catalog.keeper import LeaseKeeper
from hakiri.core.errors import HakiriError
from hakiri.core.ids import ChunkId, PipelineId, RunId, TableName
from hakiri.pipelines.chunks.joining import first_group, next_group
from hakiri.pipelines.events import ChunkGivenBack, ChunkStarted, Waiting
from hakiri.pipelines.runtime.allowance import Allowance
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.patience import seconds_before_retry
from hakiri.pipelines.runtime.slots import Slots, WritePace
from hakiri.pipelines.runtime.steps import Step

# How often a thread that has nothing to take looks whether that has changed.
_LOOK_SECONDS = 0.5


class Hands(Protocol):
    """What can be done with the chunks of one table."""

    def largest_group(self) -> int:
        """How many chunks may be read in one job."""

    def most_at_once(self) -> int | None:
        """How many chunks may be worked on at a time, in however many jobs; None is any number."""

    def describe(self, attempt: ChunkAttempt) -> str:
        """What the chunk reads, in words."""

    def work(self, attempts: Sequence[ChunkAttempt]) -> None:
        """Read, write and commit them, in one job. Raises what went wrong; nothing is committed then."""


@dataclass(kw_only=True)
class Crew:
    """Works on one pipeline. A failure that trying again cannot mend ends it; what is in flight is finished.

    `is_outdated` afterwards: somebody else moved a table's schema, so the tables are to be looked at anew.
    """

    ground: Ground
    pipeline: PipelineId
    run: RunId
    hands: Mapping[TableName, Hands]
    lease: Lease | None
    keeper: LeaseKeeper
    slots: Slots
    pace: WritePace
    parallelism: int | None
    retries: int
    allowance: Allowance
    failure: HakiriError | None = None
    is_outdated: bool = False
    _lock: threading.Condition = field(default_factory=threading.Condition)
    _in_flight: int = 0
    _busy: Counter[TableName] = field(default_factory=Counter)
    _tries: Counter[ChunkId] = field(default_factory=Counter)
    _sizes: dict[TableName, int] = field(default_factory=dict)
    _alone: set[ChunkId] = field(default_factory=set)
    _bug: BaseException | None = None

    def work(self) -> None:
        """Work until no chunk is left to take, a failure ends it, or somebody asks to stop."""
        threads = [
            threading.Thread(target=self._loop, name=f"hakiri-{self.pipeline}-{number}", daemon=True)
            for number in range(self.ground.jobs_at_once)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._bug is not None:
            raise self._bug

    @property
    def _is_over(self) -> bool:
        is_ended = self.failure is not None or self._bug is not None or self.is_outdated
        return is_ended or self.ground.stop.is_asked

    def _loop(self) -> None:
        try:
            while not self._is_over:
                attempts = self._take()
                if attempts is None:
                    return
                if attempts:
                    self._work_on(attempts)
        except BaseException as error:
            self._bug = error  # raised again in the thread that waits for the crew

    def _take(self) -> tuple[ChunkAttempt, ...] | None:
        """Chunks to work on; none when others may still bring some, None when there will be none."""
        # Not under the lock, which those who have the places need before they give them back.
        self.slots.wait(lambda: self._is_over)
        with self._lock:
            if self._is_over:
                return None
            for table in self.hands:
                attempts = self._claim(table)
                if attempts is None:
                    return ()
                if attempts:
                    self._in_flight += 1
                    return attempts
            if not self._in_flight:
                self._lock.notify_all()
                return None
            self._lock.wait(_LOOK_SECONDS)
            return ()

    def _claim(self, table: TableName) -> tuple[ChunkAttempt, ...] | None:
        """What there is to take of a table; None if there is no place for any."""
        cap = self.hands[table].largest_group()
        wanted = min(self._sizes.get(table) or first_group(cap), cap)
        most = self.hands[table].most_at_once()
        if most is not None:
            wanted = min(wanted, most - self._busy[table])
        if (left := self.allowance.left) is not None:
            wanted = min(wanted, left)
        if wanted <= 0:
            return ()
        places = self.slots.take(1 if self._alone else wanted)
        if not places:
            return None
        attempts: tuple[ChunkAttempt, ...] = ()
        try:
            attempts = self.ground.catalog.queue.claim_some(
                self.pipeline,
                self.run,
                self.ground.node,
                self.ground.clock.now(),
                ttl=self.ground.lease,
                limit=places,
                parallelism=self.parallelism,
                under=self.lease,
                tables=(table,),
            )
        finally:
            self.slots.give_back(places - len(attempts))
        self.allowance.take(len(attempts))
        self._busy[table] += len(attempts)
        self.keeper.hold(attempts)
        return attempts

    def _work_on(self, attempts: Sequence[ChunkAttempt]) -> None:
        ground, hands = self.ground, self.hands[attempts[0].table]
        try:
            with self._told_at_end(attempts):
                ground.reached(Step.CHUNKS_CLAIMED)
                for attempt in attempts:
                    ground.listen(self._started(attempt, hands.describe(attempt)))
                self._keep_pace(len(attempts))
                began = ground.clock.monotonic()
                hands.work(attempts)
                self.pace.written(len(attempts))
                self._resize(attempts, ground.clock.monotonic() - began)
        finally:
            self.keeper.drop(attempts)
            self.slots.give_back(len(attempts))
            with self._lock:
                self._in_flight -= 1
                self._busy[attempts[0].table] -= len(attempts)
                self._lock.notify_all()

    @contextmanager
    def _told_at_end(self, attempts: Sequence[ChunkAttempt]) -> Iterator[None]:
        try:
            yield
        except LeaseLost as error:
            # Somebody else has them, or had them: what was written stays unseen.
            self._tell(attempts, error, will_retry=False)
        except SchemaMoved as error:
            self.is_outdated = True
            self._give_back(attempts, error, retry=True)
        except HakiriError as error:
            if self.ground.stop.is_asked:
                self._give_back(attempts, error, retry=True, is_told=True)  # it is no failure of theirs
            else:
                self._decide(attempts, error)
        except BaseException:
            for attempt in attempts:
                self.ground.catalog.queue.give_back(attempt, self.ground.clock.now())
            raise

    def _decide(self, attempts: Sequence[ChunkAttempt], error: HakiriError) -> None:
        """Try again later, one at a time if several were joined, or give up and wait for a decision."""
        if len(attempts) > 1:
            self._alone.update(attempt.chunk for attempt in attempts)
            self._give_back(attempts, error, retry=True)
            return
        (attempt,) = attempts
        self._tries[attempt.chunk] += 1
        tries = self._tries[attempt.chunk]
        if not error.retryable or tries > self.retries:
            with self._lock:
                self.failure = error
            self._give_back(attempts, error, retry=False)
            return
        seconds = seconds_before_retry(error, tries)
        self._tell(attempts, error, will_retry=True, seconds=seconds)
        # The chunk stays ours while it waits, so that nobody else runs into the same failure at once.
        self.ground.stop.wait(seconds)
        self._give_back(attempts, error, retry=True, is_told=True)

    def _give_back(
        self, attempts: Sequence[ChunkAttempt], error: HakiriError, *, retry: bool, is_told: bool = False
    ) -> None:
        why = ChunkError(kind=error.code, message=str(error))
        for attempt in attempts:
            self.ground.catalog.queue.give_back(attempt, self.ground.clock.now(), why, retry=retry)
        if not is_told:
            self._tell(attempts, error, will_retry=retry)

    def _tell(
        self, attempts: Sequence[ChunkAttempt], error: HakiriError, *, will_retry: bool, seconds: float = 0.0
    ) -> None:
        for attempt in attempts:
            self.ground.listen(
                ChunkGivenBack(
                    pipeline=self.pipeline,
                    chunk=attempt.chunk,
                    error_kind=error.code,
                    message=str(error),
                    will_retry=will_retry,
                    in_seconds=seconds,
                )
            )

    def _started(self, attempt: ChunkAttempt, predicate: str) -> ChunkStarted:
        return ChunkStarted(
            pipeline=self.pipeline,
            run=self.run,
            chunk=attempt.chunk,
            table=attempt.table,
            attempt=attempt.number,
            predicate=predicate,
            at=attempt.claimed_at,
        )

    def _keep_pace(self, files: int) -> None:
        seconds = self.pace.seconds_until(files)
        if seconds > 0:
            self.ground.listen(
                Waiting(pipeline=self.pipeline, seconds=seconds, why="the writes a second that are allowed")
            )
            self.ground.stop.wait(seconds)

    def _resize(self, attempts: Sequence[ChunkAttempt], seconds: float) -> None:
        table = attempts[0].table
        with self._lock:
            self._alone.difference_update(attempt.chunk for attempt in attempts)
            self._sizes[table] = next_group(len(attempts), seconds, self.hands[table].largest_group())
