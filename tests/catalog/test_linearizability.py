"""The checker of histories: what it accepts, what it refuses, and how it says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkTally, NewChunk
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.testing.calls import Call, Refusal
from hakiri.catalog.testing.histories import History, find_faults
from hakiri.catalog.testing.linearizability import Event, find_deviation
from hakiri.catalog.testing.pipeline_model import new_pipeline, predict
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName

T0 = datetime(2026, 5, 11, 8, 0, tzinfo=UTC)
TTL = timedelta(seconds=10)
P = PipelineId("orders")
TABLE = TableName("orders")
ANNA, BEN = NodeId("anna"), NodeId("ben")
RUN = RunId("run-1")

READ, WRITE = "read", "write"


def register(state: int, call: Call, seen: object) -> tuple[int, object]:
    """The model of one number that can be read and written."""
    return (state, state) if call.method == READ else (call.arguments["value"], None)


def read(invoked: int, returned: int | None, value: int) -> Event:
    call = Call("register", READ, {})
    return Event(worker=invoked, call=call, invoked=invoked, returned=returned, answer=value)


def write(invoked: int, returned: int | None, value: int) -> Event:
    call = Call("register", WRITE, {"value": value})
    return Event(worker=invoked, call=call, invoked=invoked, returned=returned)


# Histories of one number that is 0 at first, from the literature and around its corners.
EXPLAINED = {
    "nothing happened": [],
    "one after the other": [write(1, 2, 7), read(3, 4, 7)],
    "a read beside a write sees the old": [write(1, 4, 7), read(2, 3, 0)],
    "a read beside a write sees the new": [write(1, 4, 7), read(2, 3, 7)],
    "two writes overlap, and the first to begin is the last to count": [
        write(1, 4, 7),
        write(2, 3, 8),
        read(5, 6, 7),
    ],
    "two reads beside a write see old, then new": [write(1, 6, 7), read(2, 3, 0), read(4, 5, 7)],
    "a lost write was kept": [write(1, None, 7), read(2, 3, 7)],
    "a lost write was not kept": [write(1, None, 7), read(2, 3, 0)],
    "a lost write comes late": [write(1, None, 7), write(2, 3, 8), read(4, 5, 8), read(6, 7, 7)],
    "three at once need one certain order": [
        write(1, 10, 1),
        write(2, 11, 2),
        write(3, 12, 3),
        read(4, 5, 2),
        read(6, 7, 3),
        read(8, 9, 1),
    ],
}
UNEXPLAINED = {
    "a read misses what was there before it began": [write(1, 2, 7), read(3, 4, 0)],
    "a read sees what nobody wrote": [write(1, 2, 7), read(3, 4, 8)],
    "two reads beside a write see new, then old": [write(1, 6, 7), read(2, 3, 7), read(4, 5, 0)],
    "a write is undone": [write(1, 2, 7), read(3, 4, 7), read(5, 6, 0)],
    "two readers see two writes in different orders": [
        write(1, 8, 7),
        write(2, 9, 8),
        read(3, 4, 7),
        read(5, 6, 8),
        read(7, 10, 7),
    ],
    "a lost write is seen and undone": [write(1, None, 7), read(2, 3, 7), read(4, 5, 0)],
    "a lost write is seen before it began": [read(1, 2, 7), write(3, None, 7)],
}


@pytest.mark.parametrize("events", EXPLAINED.values(), ids=EXPLAINED)
def test_a_history_with_an_order_is_accepted(events: list[Event]) -> None:
    assert find_deviation(events, 0, register) is None


@pytest.mark.parametrize("events", UNEXPLAINED.values(), ids=UNEXPLAINED)
def test_a_history_without_an_order_is_refused(events: list[Event]) -> None:
    assert find_deviation(events, 0, register) is not None


def test_many_calls_at_once_are_settled_without_trying_every_order() -> None:
    # Twelve writes at once have 479,001,600 orders; what was tried is remembered, so it is over in a moment.
    events = [write(number, 100 + number, number % 2) for number in range(1, 13)]

    assert find_deviation([*events, read(200, 201, 5)], 0, register) is not None


def test_a_refusal_tells_how_far_an_order_goes_and_what_would_have_fitted() -> None:
    deviation = find_deviation([write(1, 2, 7), read(3, 4, 7), read(5, 6, 0)], 0, register)

    assert str(deviation) == (
        "no order of these calls explains their answers. The longest that does:\n"
        "  [1–2] worker 1: register.write(value=7) → None\n"
        "  [3–4] worker 3: register.read() → 7\n"
        "After that, each of these can come next, and none fits:\n"
        "  [5–6] worker 5: register.read() → 0\n"
        "    wanted: 7\n"
        "State: 7"
    )


class Story:
    """Calls on one pipeline, told one by one or at once, with the answers a backend gave."""

    def __init__(self, kind: CursorKind = CursorKind.MONOTONIC, chunks: int = 2) -> None:
        self.events: list[Event] = []
        self.ticket = 0
        self.tell("pipelines", "declare", kind=kind, now=T0)
        if chunks:
            plan = [NewChunk(table=TABLE, predicate=f"{number}") for number in range(chunks)]
            self.tell("chunks", "plan", plan="first", chunks=plan, now=T0)

    def tell(
        self, role: str, method: str, *answers: object, after: int | None = None, **arguments: Any
    ) -> Any:
        """A call that is over before the next begins; with `after` it began at that ticket already.

        Without an answer the model's own is taken.
        """
        call = Call(role, method, arguments if "attempt" in arguments else {"pipeline": P, **arguments})
        answer = answers[0] if answers else self.model_answer(call)
        self.ticket += 2
        invoked = self.ticket - 1 if after is None else after
        self.events.append(Event(worker=1, call=call, invoked=invoked, returned=self.ticket, answer=answer))
        return answer

    def lose(self, role: str, method: str, **arguments: Any) -> None:
        """A call whose answer was lost."""
        self.ticket += 1
        call = Call(role, method, {"pipeline": P, **arguments})
        self.events.append(Event(worker=1, call=call, invoked=self.ticket, returned=None))

    def model_answer(self, call: Call) -> object:
        model = new_pipeline(P)
        for event in self.events:
            model, _ = predict(model, event.call, event.answer)
        return predict(model, call, None)[1]

    @property
    def deviation(self) -> object:
        return find_deviation(self.events, new_pipeline(P), predict)


def claim(node: NodeId = ANNA, *, at: int = 0) -> dict[str, Any]:
    return {"run": RUN, "node": node, "now": T0 + timedelta(seconds=at), "ttl": TTL}


def attempt(
    chunk: int = 1, number: int = 1, *, node: NodeId = ANNA, seq: int = 1, at: int = 0
) -> ChunkAttempt:
    now = T0 + timedelta(seconds=at)
    return ChunkAttempt(
        pipeline=P,
        chunk=ChunkId(chunk),
        table=TABLE,
        predicate=f"{chunk - 1}",
        run=RUN,
        node=node,
        number=number,
        nonce=f"{chunk}/{number}",
        seq=seq,
        claimed_at=now,
        leased_until=now + TTL,
    )


def lease(fence: int, *, node: NodeId = ANNA, at: int = 0) -> Lease:
    expires_at = T0 + timedelta(seconds=at) + TTL
    return Lease(pipeline=P, holder=node, fence=fence, nonce=f"lease/{fence}", expires_at=expires_at)


def cursor(value: str, seq: int, *, at: int = 0) -> Cursor:
    updated_at = T0 + timedelta(seconds=at)
    return Cursor(pipeline=P, table=TABLE, value=value, run=RUN, seq=seq, updated_at=updated_at)


def commit(of: ChunkAttempt, value: str | None = None) -> dict[str, Any]:
    return {"attempt": of, "commit": ChunkCommit(rows=1, bytes=2, manifest="{}", cursor=value), "now": T0}


LOST = Refusal("catalog.lease_lost", (("fence", 1),))


def test_two_claims_at_once_may_get_two_chunks_in_any_order() -> None:
    story = Story()

    story.tell("queue", "claim", attempt(2, seq=2), **claim())
    story.tell("queue", "claim", attempt(1, seq=1, node=BEN), **claim(BEN), after=story.ticket - 1)

    assert story.deviation is None


def test_two_claims_never_get_the_same_chunk() -> None:
    story = Story()

    story.tell("queue", "claim", attempt(1, seq=1), **claim())
    story.tell("queue", "claim", attempt(1, seq=2, node=BEN), **claim(BEN), after=story.ticket - 1)

    assert story.deviation is not None


def test_an_expired_chunk_is_taken_over_under_the_next_number_only() -> None:
    for number, is_right in ((1, False), (2, True), (3, False)):
        story = Story(chunks=1)
        story.tell("queue", "claim", attempt(1, seq=1), **claim())

        story.tell("queue", "claim", attempt(1, number, node=BEN, seq=2, at=10), **claim(BEN, at=10))

        assert (story.deviation is None) == is_right


def test_numbers_of_claims_grow() -> None:
    story = Story()
    story.tell("queue", "claim", attempt(1, seq=5), **claim())

    story.tell("queue", "claim", attempt(2, seq=5), **claim())

    assert story.deviation is not None


def test_the_commit_of_an_overtaken_attempt_is_refused() -> None:
    for answer, is_right in ((LOST, True), (None, False)):
        story = Story(chunks=1)
        first = story.tell("queue", "claim", attempt(1, seq=1), **claim())
        story.tell("queue", "claim", attempt(1, 2, node=BEN, seq=2, at=10), **claim(BEN, at=10))

        story.tell("queue", "commit", answer, **commit(first))

        assert (story.deviation is None) == is_right


def test_a_chunk_that_is_done_has_its_cursor_written() -> None:
    for seen, is_right in ((cursor('"b"', 1), True), (None, False)):
        story = Story(chunks=1)
        first = story.tell("queue", "claim", attempt(1, seq=1), **claim())
        story.tell("queue", "commit", None, **commit(first, '"b"'))
        story.tell("chunks", "tally", ChunkTally(done=1, rows=1, bytes=2))

        story.tell("cursors", "get", seen, table=TABLE)

        assert (story.deviation is None) == is_right


def test_a_cursor_of_an_earlier_claim_does_not_replace_a_later_one() -> None:
    for seen, is_right in ((cursor('"late"', 2), True), (cursor('"early"', 1), False)):
        story = Story(chunks=2)
        early = story.tell("queue", "claim", attempt(1, seq=1), **claim())
        late = story.tell("queue", "claim", attempt(2, seq=2), **claim())
        story.tell("queue", "commit", None, **commit(late, '"late"'))
        story.tell("queue", "commit", None, **commit(early, '"early"'))

        story.tell("cursors", "get", seen, table=TABLE)

        assert (story.deviation is None) == is_right


def test_the_cap_counts_chunks_that_are_worked_on() -> None:
    for answer, is_right in ((None, True), (attempt(2, seq=2, node=BEN), False)):
        story = Story()
        story.tell("queue", "claim", attempt(1, seq=1), **claim())

        story.tell("queue", "claim", answer, **claim(BEN), parallelism=1)

        assert (story.deviation is None) == is_right


def test_a_fence_grows_by_one_with_every_holder_also_after_a_release() -> None:
    for fence, is_right in ((1, False), (2, True), (3, False)):
        story = Story(CursorKind.OPAQUE_TOKEN)
        first = story.tell("leases", "acquire", lease(1), node=ANNA, now=T0, ttl=TTL)
        story.events.append(
            Event(worker=1, call=Call("leases", "release", {"lease": first}), invoked=90, returned=91)
        )
        story.ticket = 92

        story.tell("leases", "acquire", lease(fence, node=BEN), node=BEN, now=T0, ttl=TTL)

        assert (story.deviation is None) == is_right


def test_a_lost_claim_may_have_taken_its_chunk_or_not() -> None:
    for chunk, tally in ((1, ChunkTally(pending=1, running=1)), (2, ChunkTally(running=2))):
        story = Story()
        story.lose("queue", "claim", **claim())

        story.tell("queue", "claim", attempt(chunk, seq=9, node=BEN), **claim(BEN))

        story.tell("chunks", "tally", tally)
        assert story.deviation is None


def test_a_lost_claim_that_was_seen_stays() -> None:
    story = Story()
    story.lose("queue", "claim", **claim())
    story.tell("chunks", "tally", ChunkTally(pending=1, running=1))

    story.tell("queue", "claim", attempt(1, seq=9, node=BEN), **claim(BEN))

    assert story.deviation is not None


def test_what_a_lost_write_drew_is_learned_from_whoever_reads_it() -> None:
    for again, is_right in ((cursor('"a"', 7), True), (cursor('"a"', 8), False)):
        story = Story()
        story.lose("cursors", "put", table=TABLE, value='"a"', run=RUN, now=T0)
        story.tell("cursors", "get", cursor('"a"', 7), table=TABLE)

        story.tell("cursors", "get", again, table=TABLE)

        assert (story.deviation is None) == is_right


def put_on(pipeline: str, *, seq: int, invoked: int) -> Event:
    where = {"pipeline": PipelineId(pipeline), "table": TABLE}
    call = Call("cursors", "put", {**where, "value": "1", "run": RUN, "now": T0})
    answer = replace(cursor("1", seq), pipeline=PipelineId(pipeline))
    return Event(worker=1, call=call, invoked=invoked, returned=invoked + 2, answer=answer)


@pytest.mark.parametrize(
    ("seqs", "invoked", "is_right"),
    [((4, 5), (1, 5), True), ((5, 4), (1, 5), False), ((5, 4), (1, 2), True), ((5, 5), (1, 2), False)],
    ids=["later and higher", "later and lower", "at once and lower", "at once and equal"],
)
def test_numbers_grow_over_all_pipelines(
    seqs: tuple[int, int], invoked: tuple[int, int], is_right: bool
) -> None:
    one, other = (
        put_on("one", seq=seqs[0], invoked=invoked[0]),
        put_on("other", seq=seqs[1], invoked=invoked[1]),
    )

    faults = find_faults(History(seed=1, events=(one, other)))

    assert (not any("the number of the second" in fault for fault in faults)) == is_right
