"""Details of the push queue on SQL databases; the promises are in the conformance suite."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.support.databases import T0

from hakiri.catalog.contract.push import (
    Answer,
    Change,
    ChangeKey,
    PushBatch,
    PushState,
    PushTally,
    Route,
    Verdict,
)
from hakiri.catalog.errors import AnswerMissing, LeaseLost, UnstorableText
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.push import CHANGES_A_STATEMENT, SqlPushQueue
from hakiri.core.ids import NodeId, SnapshotId

ROUTE = Route("crm", "sync.contacts")
ANNA, BEN = NodeId("anna"), NodeId("ben")
TTL = timedelta(minutes=10)
TICK = timedelta(microseconds=1)
PRE, POST = "update_preimage", "update_postimage"
MANY = 100_000


@pytest.fixture
def push(database: Database) -> SqlPushQueue:
    return SqlPushQueue(database)


def change(row: int, change_type: str = "insert", snapshot: str = "s1", payload: str = "{}") -> Change:
    return Change(key=ChangeKey(row, change_type), snapshot=SnapshotId(snapshot), payload=payload)


def update(row: int, snapshot: str = "s1") -> list[Change]:
    return [change(row, PRE, snapshot), change(row, POST, snapshot)]


def queue(push: SqlPushQueue, *changes: Change) -> int:
    return push.enqueue(ROUTE, changes, T0)


def claim(push: SqlPushQueue, limit: int = 100, *, node: NodeId = ANNA, at: datetime = T0) -> PushBatch:
    batch = push.claim(ROUTE, node, at, limit=limit, ttl=TTL)
    assert batch is not None
    return batch


def answer(
    push: SqlPushQueue, batch: PushBatch, verdict: Verdict, *others: tuple[ChangeKey, Verdict]
) -> None:
    """Settle a batch with one verdict for all, or another one for some."""
    verdicts = {each.key: verdict for each in batch.changes} | dict(others)
    push.settle(
        batch, {key: Answer(verdict=each, message=f"said {each}") for key, each in verdicts.items()}, T0
    )


def named(changes: Iterable[Change]) -> list[str]:
    return [f"{each.key.row}:{each.key.change_type}@{each.snapshot}" for each in changes]


def queued(push: SqlPushQueue, state: PushState) -> list[str]:
    return named(each.change for each in push.page(ROUTE, state))


@pytest.mark.spec("OP-054")
def test_a_newer_change_takes_the_place_of_the_one_that_waits(push: SqlPushQueue) -> None:
    queue(push, change(1), change(2), change(3))

    queue(push, change(4), change(2, snapshot="s2", payload="new"))

    batch = claim(push)
    assert named(batch.changes) == ["1:insert@s1", "2:insert@s2", "3:insert@s1", "4:insert@s1"]
    assert batch.changes[1].payload == "new"


def test_of_two_changes_of_a_row_and_type_in_one_call_the_last_one_counts(push: SqlPushQueue) -> None:
    assert queue(push, change(1), change(2), change(1, snapshot="s2")) == 2

    assert named(claim(push).changes) == ["1:insert@s2", "2:insert@s1"]


def test_a_newer_change_starts_anew_and_the_same_one_goes_on(push: SqlPushQueue) -> None:
    queue(push, change(1), change(2))
    answer(push, claim(push), Verdict.ERROR)

    queue(push, change(1, payload="fresh"), change(2, snapshot="s2"))

    same, newer = push.page(ROUTE, PushState.PENDING)
    assert (same.change.payload, same.attempts, same.message) == ("fresh", 1, "said error")
    assert (newer.attempts, newer.message) == (0, None)


@pytest.mark.spec("OP-026")
def test_the_very_change_that_was_rejected_stays_rejected(push: SqlPushQueue) -> None:
    queue(push, change(1))
    answer(push, claim(push), Verdict.REJECT)

    assert queue(push, change(1, payload="fresh")) == 0

    assert push.tally(ROUTE) == PushTally(rejected=1)
    assert push.claim(ROUTE, ANNA, T0, limit=9, ttl=TTL) is None


def test_a_rejected_change_is_replaced_by_a_newer_one_which_waits_behind_all_others(
    push: SqlPushQueue,
) -> None:
    queue(push, change(1), change(2))
    answer(push, claim(push, limit=1), Verdict.REJECT)

    assert queue(push, change(1, snapshot="s2")) == 1

    assert push.tally(ROUTE) == PushTally(pending=2)
    assert named(claim(push).changes) == ["2:insert@s1", "1:insert@s2"]


def test_the_very_change_that_is_on_its_way_is_not_queued_again(push: SqlPushQueue) -> None:
    queue(push, change(1))
    claim(push)

    assert queue(push, change(1)) == 0

    assert push.tally(ROUTE) == PushTally(in_flight=1)


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.REJECT])
def test_what_comes_back_is_dropped_when_a_newer_change_waits(push: SqlPushQueue, verdict: Verdict) -> None:
    queue(push, change(1))
    batch = claim(push)
    queue(push, change(1, snapshot="s2"))

    answer(push, batch, verdict)

    assert push.tally(ROUTE) == PushTally(pending=1)
    assert queued(push, PushState.PENDING) == ["1:insert@s2"]


@pytest.mark.parametrize(
    "unfit",
    [change(1, "in\0sert"), change(1, snapshot="half \ud800"), change(1, payload="\0")],
    ids=["type", "snapshot", "payload"],
)
def test_a_change_that_no_database_can_keep_is_refused_with_all_others(
    push: SqlPushQueue, unfit: Change
) -> None:
    with pytest.raises(UnstorableText):
        queue(push, change(2), unfit)

    assert push.tally(ROUTE) == PushTally()


@pytest.mark.spec("OP-017")
@pytest.mark.parametrize(
    ("limit", "batches"),
    [
        (1, [["7:insert"], ["1:pre"], ["2:pre"], ["8:insert"], ["1:post"], ["2:post"]]),
        (2, [["7:insert"], ["1:pre", "1:post"], ["2:pre", "2:post"], ["8:insert"]]),
        (3, [["7:insert", "1:pre", "1:post"], ["2:pre", "2:post", "8:insert"]]),
        (4, [["7:insert", "1:pre", "1:post"], ["2:pre", "2:post", "8:insert"]]),
        (5, [["7:insert", "1:pre", "1:post", "2:pre", "2:post"], ["8:insert"]]),
    ],
)
def test_an_update_goes_with_both_images_or_waits_for_the_next_batch(
    push: SqlPushQueue, limit: int, batches: list[list[str]]
) -> None:
    queue(push, change(7), *update(1), *update(2), change(8))

    taken: list[PushBatch] = []
    while batch := push.claim(ROUTE, ANNA, T0, limit=limit, ttl=TTL):
        taken.append(batch)
    if limit == 1:  # the other images waited for the first ones
        assert len(taken) == 4
        for batch in taken:
            answer(push, batch, Verdict.OK)
        taken += [claim(push, 1), claim(push, 1)]

    short = {PRE: "pre", POST: "post", "insert": "insert"}
    names = [[f"{each.key.row}:{short[each.key.change_type]}" for each in batch.changes] for batch in taken]
    assert names == batches


def test_images_that_were_queued_far_apart_go_together_the_earlier_one_first(push: SqlPushQueue) -> None:
    queue(push, change(1, POST), change(2), change(3), change(1, PRE))

    batch = claim(push, limit=2)

    assert named(batch.changes) == ["1:update_preimage@s1", "1:update_postimage@s1"]


def test_images_of_different_updates_need_not_go_together(push: SqlPushQueue) -> None:
    queue(push, change(1, PRE, "s1"), change(2), change(1, POST, "s2"))

    assert named(claim(push, limit=2).changes) == ["1:update_preimage@s1", "2:insert@s1"]


def test_nothing_of_a_row_is_claimed_while_something_of_it_is_on_its_way(push: SqlPushQueue) -> None:
    queue(push, change(1), change(2))
    first = claim(push, limit=1)
    queue(push, change(1, snapshot="s2"), *update(1, "s3"), change(1, "delete"), change(3))

    assert named(claim(push).changes) == ["2:insert@s1", "3:insert@s1"]
    assert push.claim(ROUTE, BEN, T0, limit=9, ttl=TTL) is None

    answer(push, first, Verdict.OK)
    assert named(claim(push).changes) == [
        "1:insert@s2",
        "1:update_preimage@s3",
        "1:update_postimage@s3",
        "1:delete@s1",
    ]


def test_many_rows_on_their_way_do_not_hide_those_that_may_go(push: SqlPushQueue) -> None:
    queue(push, *(change(row) for row in range(50)))
    claim(push, limit=50)
    queue(push, *(change(row, "delete") for row in range(50)), change(99))

    assert named(claim(push, limit=1).changes) == ["99:insert@s1"]


@pytest.mark.spec("OP-025")
def test_what_failed_waits_behind_all_others(push: SqlPushQueue) -> None:
    queue(push, *(change(row) for row in (1, 2, 3)))

    answer(push, claim(push, limit=2), Verdict.OK, (ChangeKey(1, "insert"), Verdict.ERROR))

    assert named(claim(push).changes) == ["3:insert@s1", "1:insert@s1"]


def test_what_waits_of_a_row_does_not_overtake_what_failed_of_it(push: SqlPushQueue) -> None:
    queue(push, change(1), *update(1, "s2"), change(1, "delete", "s3"), change(2))

    answer(push, claim(push, limit=1), Verdict.ERROR)

    assert named(claim(push).changes) == [
        "2:insert@s1",
        "1:insert@s1",
        "1:update_preimage@s2",
        "1:update_postimage@s2",
        "1:delete@s3",
    ]


def test_replayed_changes_have_the_places_they_had(push: SqlPushQueue) -> None:
    queue(push, change(1), change(2), change(3))
    answer(push, claim(push, limit=1), Verdict.REJECT)
    answer(push, claim(push, limit=1), Verdict.OK)
    queue(push, change(1, "delete"))

    assert push.replay(ROUTE, T0) == 1

    assert named(claim(push).changes) == ["1:insert@s1", "3:insert@s1", "1:delete@s1"]


def test_replaying_a_route_that_nobody_used_replays_nothing(push: SqlPushQueue) -> None:
    assert push.replay(ROUTE, T0) == 0
    assert push.tally(ROUTE) == PushTally()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_batch_without_room_is_a_mistake(push: SqlPushQueue, limit: int) -> None:
    with pytest.raises(ValueError, match="a batch has room for one change or more"):
        push.claim(ROUTE, ANNA, T0, limit=limit, ttl=TTL)


@pytest.mark.spec("OP-049")
@pytest.mark.spec("OP-040")
def test_after_a_crash_between_push_and_settle_the_batch_is_taken_again_when_its_time_is_up(
    push: SqlPushQueue,
) -> None:
    queue(push, change(2), change(1, POST), change(1, PRE), change(3))
    dead = push.note_job(claim(push, limit=3), "job-7", T0, TTL)

    assert named(claim(push, node=BEN, at=T0 + TTL - TICK).changes) == ["3:insert@s1"]
    assert push.claim(ROUTE, BEN, T0 + TTL - TICK, limit=9, ttl=TTL) is None

    taken = claim(push, limit=1, node=BEN, at=T0 + TTL)
    assert taken == replace(dead, node=BEN, fence=dead.fence + 1, leased_until=T0 + 2 * TTL)
    assert named(taken.changes) == ["2:insert@s1", "1:update_preimage@s1", "1:update_postimage@s1"]
    assert push.tally(ROUTE) == PushTally(in_flight=4)
    assert {each.attempts for each in push.page(ROUTE, PushState.IN_FLIGHT)} == {1}


@pytest.mark.spec("OP-050")
def test_after_a_crash_behind_settle_nothing_is_sent_again(push: SqlPushQueue) -> None:
    queue(push, change(1))
    batch = claim(push)
    answer(push, batch, Verdict.OK)

    assert push.claim(ROUTE, BEN, T0 + 2 * TTL, limit=9, ttl=TTL) is None
    assert queue(push, change(1)) == 0
    assert push.was_delivered(ROUTE, change(1))


def test_batches_that_ran_out_at_once_are_taken_one_after_the_other(push: SqlPushQueue) -> None:
    queue(push, change(1), change(2), change(3))
    dead = {claim(push, limit=1).batch for _ in range(3)}

    assert {claim(push, node=BEN, at=T0 + TTL).batch for _ in range(3)} == dead
    assert push.claim(ROUTE, BEN, T0 + TTL, limit=9, ttl=TTL) is None
    assert {claim(push, node=ANNA, at=T0 + 2 * TTL).fence for _ in range(3)} == {3}


def test_a_lease_is_lost_to_whoever_took_the_batch_over(push: SqlPushQueue) -> None:
    queue(push, change(1))
    lost = claim(push)
    claim(push, node=BEN, at=T0 + TTL)

    with pytest.raises(LeaseLost) as raised:
        answer(push, lost, Verdict.OK)

    assert str(raised.value) == (
        f"the lease on push batch `{lost.batch}` with fence 1 is lost: node `ben` has it with fence 2"
    )
    assert not push.was_delivered(ROUTE, change(1))


@pytest.mark.parametrize(
    "other", [{"batch": "unknown"}, {"route": Route("crm", "else")}, {"node": BEN}, {"fence": 2}]
)
def test_a_batch_that_was_never_given_out_like_that_is_not_settled(
    push: SqlPushQueue, other: dict[str, object]
) -> None:
    queue(push, change(1))
    batch = claim(push)

    with pytest.raises(LeaseLost):
        answer(push, replace(batch, **other), Verdict.OK)  # type: ignore[arg-type]

    assert push.tally(ROUTE) == PushTally(in_flight=1)


def test_a_batch_is_settled_late_as_long_as_nobody_took_it(push: SqlPushQueue) -> None:
    queue(push, change(1))
    batch = claim(push)

    push.settle(batch, {change(1).key: Answer(verdict=Verdict.OK)}, T0 + 2 * TTL)

    assert push.tally(ROUTE) == PushTally(delivered=1)


def test_a_job_makes_a_lease_longer_and_never_shorter(push: SqlPushQueue) -> None:
    queue(push, change(1))
    batch = claim(push)

    noted = push.note_job(batch, "job-7", T0, TICK)

    assert noted == replace(batch, job="job-7")
    assert push.claim(ROUTE, BEN, T0 + TTL - TICK, limit=9, ttl=TTL) is None


def test_a_settled_batch_takes_no_job(push: SqlPushQueue) -> None:
    queue(push, change(1))
    batch = claim(push)
    answer(push, batch, Verdict.OK)

    with pytest.raises(LeaseLost, match="it is settled"):
        push.note_job(batch, "job-7", T0, TTL)


@pytest.mark.spec("OP-027")
def test_missing_answers_are_named_and_nothing_is_done(push: SqlPushQueue) -> None:
    queue(push, change(1), *update(2))
    batch = claim(push)

    with pytest.raises(AnswerMissing) as raised:
        push.settle(batch, {ChangeKey(2, PRE): Answer(verdict=Verdict.OK)}, T0)

    assert raised.value.keys == ("1:insert", "2:update_postimage")
    assert push.tally(ROUTE) == PushTally(in_flight=3)


@pytest.mark.spec("OP-029")
def test_answers_about_others_do_nothing(push: SqlPushQueue) -> None:
    queue(push, change(1), change(2))
    batch = claim(push, limit=1)

    answer(push, batch, Verdict.OK, (ChangeKey(2, "insert"), Verdict.OK), (ChangeKey(3, "x"), Verdict.REJECT))

    assert push.tally(ROUTE) == PushTally(pending=1, delivered=1)


def test_what_a_sink_says_is_kept_even_if_no_database_can_keep_it_as_it_is(push: SqlPushQueue) -> None:
    queue(push, *(change(row) for row in (1, 2, 3)))
    batch = claim(push)
    verdicts = dict(zip((1, 2, 3), (Verdict.REJECT, Verdict.WARN, Verdict.ERROR), strict=True))

    push.settle(
        batch,
        {each.key: Answer(verdict=verdicts[each.key.row], message="a\0b \ud800") for each in batch.changes},
        T0,
    )

    [rejected] = push.page(ROUTE, PushState.REJECTED)
    assert rejected.message == "a\\0b \\ud800"


def test_more_changes_than_go_into_one_statement_are_all_queued_and_replaced(push: SqlPushQueue) -> None:
    count = CHANGES_A_STATEMENT + 1

    assert queue(push, *(change(row) for row in range(count))) == count
    assert queue(push, *(change(row, snapshot="s2") for row in range(count))) == count

    assert push.tally(ROUTE) == PushTally(pending=count)
    batch = claim(push, limit=count)
    assert [each.key.row for each in batch.changes] == list(range(count))
    answer(push, batch, Verdict.OK)
    assert push.tally(ROUTE) == PushTally(delivered=count)


@pytest.mark.proof
@pytest.mark.timeout(240)
def test_a_hundred_thousand_changes_are_queued_in_seconds_and_do_not_slow_a_claim(push: SqlPushQueue) -> None:
    changes = [change(row, payload='{"name": "…"}') for row in range(MANY)]

    began = time.perf_counter()
    assert push.enqueue(ROUTE, changes, T0) == MANY
    queued_at = time.perf_counter()
    for _ in range(20):
        answer(push, claim(push, limit=10), Verdict.OK)
    drained_at = time.perf_counter()
    for _ in range(20):
        assert push.tally(ROUTE).pending == MANY - 200
    counted_at = time.perf_counter()

    assert queued_at - began < 30, "a few seconds, on a machine that has nothing else to do"
    assert drained_at - queued_at < 4, "twenty batches, each in milliseconds"
    assert counted_at - drained_at < 1, "twenty times, each well under 50 ms"
