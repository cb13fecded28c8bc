"""Any sequence of calls gets from the push queue what it gets from a simple list of changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.support.databases import T0

from hakiri.catalog.contract.push import (
    Answer,
    Change,
    ChangeKey,
    PushBatch,
    PushState,
    PushTally,
    QueuedChange,
    Route,
    Verdict,
)
from hakiri.catalog.errors import LeaseLost
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.push import SqlPushQueue
from hakiri.core.ids import NodeId, SnapshotId

pytestmark = pytest.mark.proof

TTL = timedelta(minutes=10)
EXAMPLES = {"sqlite": 60, "postgres": 20}
STEPS = 40
PRE, POST = "update_preimage", "update_postimage"
TYPES = ("insert", PRE, POST, "delete")


@dataclass(slots=True)
class Place:
    """A change in the list, whatever its state. Its index is its turn."""

    queued: QueuedChange
    batch: str | None = None

    @property
    def key(self) -> ChangeKey:
        return self.queued.change.key

    @property
    def state(self) -> PushState:
        return self.queued.state


@dataclass(slots=True)
class ListQueue:
    """The push queue as one list in the order of turns, with everything decided by looking at all of it."""

    places: list[Place] = field(default_factory=list)
    delivered: set[tuple[ChangeKey, str]] = field(default_factory=set)
    open: dict[str, PushBatch] = field(default_factory=dict)
    settled: dict[str, PushBatch] = field(default_factory=dict)

    def enqueue(self, changes: list[Change], now: datetime) -> int:
        return sum(self._enqueue(change, now) for change in {each.key: each for each in changes}.values())

    def _enqueue(self, change: Change, now: datetime) -> bool:
        of_key = [place for place in self.places if place.key == change.key]
        same = next((place for place in of_key if place.queued.change.snapshot == change.snapshot), None)
        if (change.key, change.snapshot) in self.delivered:
            return False
        if same is not None:
            if same.state is PushState.PENDING:
                same.queued = replace(same.queued, change=change, updated_at=now)
            return same.state is PushState.PENDING
        fresh = QueuedChange(change=change, state=PushState.PENDING, attempts=0, message=None, updated_at=now)
        for place in of_key:
            if place.state is PushState.PENDING:
                place.queued = fresh
                return True
            if place.state is PushState.REJECTED:
                self.places.remove(place)
        self.places.append(Place(fresh))
        return True

    def next_changes(self, limit: int) -> list[Change]:
        flying = {place.key.row for place in self.places if place.state is PushState.IN_FLIGHT}
        free = [
            place.queued.change
            for place in self.places
            if place.state is PushState.PENDING and place.key.row not in flying
        ]
        chosen: list[Change] = []
        for change in free:
            if change in chosen:
                continue
            images = [change]
            if limit > 1 and change.key.change_type in (PRE, POST):
                images = [
                    next(
                        (each for each in free if each.key == key and each.snapshot == change.snapshot), None
                    )
                    for key in (ChangeKey(change.key.row, PRE), ChangeKey(change.key.row, POST))
                ]
                images = [image for image in images if image is not None]
            if len(chosen) + len(images) > limit:
                break
            chosen += images
        return chosen

    def send(self, batch: PushBatch, now: datetime) -> None:
        self.open[batch.batch] = batch
        for place in self.places:
            if place.queued.change in batch.changes:
                place.batch = batch.batch
                attempts = place.queued.attempts + 1
                place.queued = replace(
                    place.queued, state=PushState.IN_FLIGHT, attempts=attempts, updated_at=now
                )

    def settle(self, batch: PushBatch, verdicts: dict[ChangeKey, Verdict], now: datetime) -> None:
        self.settled[batch.batch] = self.open.pop(batch.batch)
        failed = []
        for change in batch.changes:
            place = next(
                each for each in self.places if each.batch == batch.batch and each.queued.change == change
            )
            verdict = verdicts[change.key]
            is_replaced = any(each.key == place.key and each is not place for each in self.places)
            place.batch = None
            if verdict in (Verdict.OK, Verdict.WARN):
                self.delivered.add((change.key, change.snapshot))
            if verdict in (Verdict.OK, Verdict.WARN) or is_replaced:
                self.places.remove(place)
                continue
            state = PushState.PENDING if verdict is Verdict.ERROR else PushState.REJECTED
            place.queued = replace(place.queued, state=state, message=verdict.value, updated_at=now)
            if verdict is Verdict.ERROR:
                failed.append(place)
        rows = {place.key.row for place in failed}
        behind = [
            place
            for place in self.places
            if place.key.row in rows and place.state is PushState.PENDING and place not in failed
        ]
        moved = [*failed, *behind]
        self.places = [place for place in self.places if all(place is not each for each in moved)] + moved

    def replay(self, now: datetime) -> int:
        rejected = [place for place in self.places if place.state is PushState.REJECTED]
        for place in rejected:
            place.queued = replace(place.queued, state=PushState.PENDING, updated_at=now)
        return len(rejected)

    def page(self, state: PushState) -> tuple[QueuedChange, ...]:
        found = [place for place in self.places if place.state is state]
        return tuple(place.queued for place in sorted(found, key=lambda place: place.key))

    def tally(self) -> PushTally:
        counts = {state.value: len(self.page(state)) for state in PushState}
        return PushTally(**counts, delivered=len(self.delivered))


changes = st.builds(
    Change,
    key=st.builds(ChangeKey, st.integers(1, 3), st.sampled_from(TYPES)),
    snapshot=st.sampled_from([SnapshotId(f"s{number}") for number in range(4)]),
    payload=st.sampled_from(["{}", '{"a": 1}']),
)
updates = st.builds(
    lambda row, snapshot: [
        Change(key=ChangeKey(row, image), snapshot=SnapshotId(f"s{snapshot}"), payload="{}")
        for image in (PRE, POST)
    ],
    st.integers(1, 3),
    st.integers(0, 3),
)
limits = st.sampled_from([1, 1, 2, 3, 5])
nodes = st.sampled_from([NodeId("anna"), NodeId("ben")])
verdicts = st.lists(st.sampled_from(Verdict), min_size=1, max_size=4)


class PushMachine(RuleBasedStateMachine):
    """Does everything to the queue and to the list, on a route of its own."""

    def __init__(self, push: SqlPushQueue, route: Route) -> None:
        super().__init__()
        self.push, self.route = push, route
        self.list = ListQueue()
        self.now = T0
        self.handles: list[PushBatch] = []

    @initialize(queued=st.lists(changes, min_size=6, max_size=9))
    def enqueue_first(self, queued: list[Change]) -> None:
        self.enqueue(queued)

    @rule(minutes=st.sampled_from([-5, 1, 5, 10]))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(queued=st.lists(changes, max_size=5) | updates)
    def enqueue(self, queued: list[Change]) -> None:
        assert self.push.enqueue(self.route, queued, self.now) == self.list.enqueue(queued, self.now)

    @rule(node=nodes, limit=limits, ttl=st.sampled_from([TTL, TTL / 2]))
    def claim(self, node: NodeId, limit: int, ttl: timedelta) -> None:
        self.claimed(node, limit, ttl)

    def claimed(self, node: NodeId, limit: int, ttl: timedelta) -> PushBatch | None:
        """Claim a batch and see that it is the right one; None if there is none."""
        batch = self.push.claim(self.route, node, self.now, limit=limit, ttl=ttl)
        expired = [each for each in self.list.open.values() if each.leased_until <= self.now]
        if batch is not None:
            assert (batch.node, batch.leased_until) == (node, self.now + ttl)
            self.handles.append(batch)
        if expired:
            assert batch is not None
            known = self.list.open[batch.batch]
            assert known.leased_until == min(each.leased_until for each in expired)
            assert batch == replace(known, node=node, fence=known.fence + 1, leased_until=self.now + ttl)
            self.list.open[batch.batch] = batch
            return batch
        chosen = self.list.next_changes(limit)
        assert (batch is None) == (not chosen)
        if batch is not None:
            assert (batch.changes, batch.fence, batch.job) == (tuple(chosen), 1, None)
            self.list.send(batch, self.now)
        return batch

    @rule(limit=limits, said=verdicts)
    def deliver(self, limit: int, said: list[Verdict]) -> None:
        batch = self.claimed(NodeId("anna"), limit, TTL)
        if batch is not None:
            self.answer(batch, said)

    @rule(data=st.data(), said=verdicts)
    def settle(self, data: st.DataObject, said: list[Verdict]) -> None:
        if self.handles:
            self.answer(data.draw(st.sampled_from(self.handles[-4:])), said)

    def answer(self, batch: PushBatch, said: list[Verdict]) -> None:
        of_changes = {change.key: said[number % len(said)] for number, change in enumerate(batch.changes)}
        answers = {key: Answer(verdict=each, message=each.value) for key, each in of_changes.items()}
        held = self.list.open.get(batch.batch) or self.list.settled[batch.batch]
        if (held.node, held.fence) != (batch.node, batch.fence):
            with pytest.raises(LeaseLost):
                self.push.settle(batch, answers, self.now)
            return
        self.push.settle(batch, answers, self.now)
        if batch.batch in self.list.open:
            self.list.settle(batch, of_changes, self.now)

    @rule(data=st.data())
    def note_job(self, data: st.DataObject) -> None:
        if not self.handles:
            return
        batch = data.draw(st.sampled_from(self.handles[-4:]))
        held = self.list.open.get(batch.batch)
        if held is None or (held.node, held.fence) != (batch.node, batch.fence):
            with pytest.raises(LeaseLost):
                self.push.note_job(batch, "job", self.now, TTL)
            return
        noted = self.push.note_job(batch, "job", self.now, TTL)
        assert noted == replace(held, job="job", leased_until=max(held.leased_until, self.now + TTL))
        self.list.open[batch.batch] = noted

    @rule()
    def replay(self) -> None:
        assert self.push.replay(self.route, self.now) == self.list.replay(self.now)

    @rule(change=changes)
    def ask_for_delivery(self, change: Change) -> None:
        assert self.push.was_delivered(self.route, change) == (
            (change.key, change.snapshot) in self.list.delivered
        )

    def teardown(self) -> None:
        """In the end everything is delivered, in the right order."""
        self.now = max([self.now, *(batch.leased_until for batch in self.list.open.values())])
        self.replay()
        while batch := self.claimed(NodeId("anna"), 2, TTL):
            self.answer(batch, [Verdict.OK])
        assert self.push.tally(self.route) == PushTally(delivered=len(self.list.delivered))

    @invariant()
    def all_is_where_the_list_says(self) -> None:
        assert self.push.tally(self.route) == self.list.tally()
        for state in PushState:
            assert self.push.page(self.route, state) == self.list.page(state)


@pytest.mark.spec("OP-051")
def test_any_sequence_of_calls_ends_where_the_list_ends(
    database: Database, request: pytest.FixtureRequest
) -> None:
    numbers = count()
    push = SqlPushQueue(database)
    backend = request.node.callspec.params["database"]

    run_state_machine_as_test(
        lambda: PushMachine(push, Route("crm", f"model {next(numbers)}")),
        settings=settings(
            max_examples=EXAMPLES[backend],
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
