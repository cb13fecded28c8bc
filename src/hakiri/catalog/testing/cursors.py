"""Tests of `catalog.cursors`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.runs import RunStatus
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import LeaseLost, LeaseRequired
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    HOUR,
    MINUTE,
    OTHER_PIPELINE,
    OTHER_TABLE,
    PIPELINE,
    RUN,
    T0,
    TABLE,
    TTL,
    claimed,
    done,
    ended_run,
    planned,
    run_id,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import TableName

SHAPES = (
    '{"updated_at": "2026-05-11T08:00:00Z"}',
    '{"id": 12834782}',
    '{"next_page_token": "abc.."}',
)
# Texts that would come back changed if anything on the way parsed them.
ODD_TEXTS = (
    '{ "b" : 1,\n\t"a":1.0, "a":1e0 }',
    "12345678901234567890123456789",
    '"\\u0000\\ud83d\\u00e9é 🦆"',
    '""',
    "[]",
    "false",
)
SHARED = tuple(kind for kind in CursorKind if not kind.needs_lease)
LEASED = tuple(kind for kind in CursorKind if kind.needs_lease)
SOME_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=8,
)


def shared(catalog: Catalog) -> None:
    """A pipeline whose cursors need no lease."""
    catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)


def from_replica(number: int, minute: int, value: str | None = None) -> Cursor:
    """A cursor as the replica of `ended_run` wrote it."""
    return Cursor(
        pipeline=PIPELINE,
        table=TABLE,
        value=value or f'{{"id": {number}}}',
        run=run_id(number),
        seq=number,
        updated_at=T0 + minute * MINUTE,
    )


class CursorContract(Contract):
    """One cursor a pipeline and table."""

    def test_a_table_begins_at_the_start(self, catalog: Catalog) -> None:
        assert catalog.cursors.get(PIPELINE, TABLE) is None
        assert catalog.cursors.all(PIPELINE) == ()

    def test_a_cursor_is_kept_with_who_wrote_it(self, catalog: Catalog) -> None:
        shared(catalog)

        put = catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0)

        assert put == Cursor(
            pipeline=PIPELINE, table=TABLE, value=SHAPES[0], run=RUN, seq=put.seq, updated_at=T0
        )
        assert catalog.cursors.get(PIPELINE, TABLE) == put

    @pytest.mark.spec("HP-057")
    def test_tables_of_a_pipeline_advance_apart(self, catalog: Catalog) -> None:
        shared(catalog)
        catalog.pipelines.declare(OTHER_PIPELINE, CursorKind.MONOTONIC, T0)
        first = catalog.cursors.put(PIPELINE, OTHER_TABLE, SHAPES[0], run=RUN, now=T0)
        second = catalog.cursors.put(PIPELINE, TABLE, SHAPES[1], run=RUN, now=T0)
        catalog.cursors.put(OTHER_PIPELINE, TABLE, SHAPES[2], run=RUN, now=T0)

        third = catalog.cursors.put(PIPELINE, TABLE, SHAPES[2], run=RUN, now=T0)

        assert third.seq > second.seq
        assert catalog.cursors.get(PIPELINE, OTHER_TABLE) == first
        assert catalog.cursors.all(PIPELINE) == (third, first)

    def test_the_cursors_of_a_pipeline_come_by_table(self, catalog: Catalog) -> None:
        shared(catalog)
        tables = [TableName(name) for name in ("b", "a_2", "Z", "ä", "a")]
        for table in tables:
            catalog.cursors.put(PIPELINE, table, SHAPES[0], run=RUN, now=T0)

        assert [cursor.table for cursor in catalog.cursors.all(PIPELINE)] == sorted(tables)

    def test_null_means_from_the_start(self, catalog: Catalog) -> None:
        shared(catalog)
        catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0)

        catalog.cursors.put(PIPELINE, TABLE, "null", run=RUN, now=T0)

        assert catalog.cursors.get(PIPELINE, TABLE) is None
        assert catalog.cursors.all(PIPELINE) == ()

    @pytest.mark.spec("HP-058")
    @pytest.mark.spec("HP-059")
    @pytest.mark.parametrize("value", SHAPES + ODD_TEXTS)
    def test_a_cursor_of_any_shape_comes_back_as_it_was(self, catalog: Catalog, value: str) -> None:
        shared(catalog)
        catalog.cursors.put(PIPELINE, TABLE, value, run=RUN, now=T0)

        stored = catalog.cursors.get(PIPELINE, TABLE)

        assert stored is not None
        assert stored.value == value

    @pytest.mark.spec("HP-058")
    @settings(
        max_examples=25,
        deadline=None,
        # The state lives on from example to example, and each backend runs the same test.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(value=SOME_JSON, ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 2]))
    def test_any_json_comes_back_byte_for_byte(
        self, catalog: Catalog, value: object, *, ascii_only: bool, indent: int | None
    ) -> None:
        shared(catalog)
        text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
        put = catalog.cursors.put(PIPELINE, TABLE, text, run=RUN, now=T0)

        assert put.value == text
        assert catalog.cursors.get(PIPELINE, TABLE) == (None if text == "null" else put)

    @pytest.mark.spec("HC-102")
    @pytest.mark.spec("HP-062")
    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_the_cursor_of_the_latest_claim_wins_whoever_commits_last(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        earlier, later = claimed(catalog), claimed(catalog, node=BEN)

        catalog.queue.commit(later, done(cursor=SHAPES[1]), T0)
        catalog.queue.commit(earlier, done(cursor=SHAPES[0]), T0 + MINUTE)

        stored = catalog.cursors.get(PIPELINE, TABLE)
        assert stored is not None
        assert (stored.value, stored.seq) == (SHAPES[1], later.seq)

    def test_a_put_beats_every_claim_made_before_it(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        earlier = claimed(catalog)
        put = catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0)

        catalog.queue.commit(earlier, done(cursor=SHAPES[1]), T0 + MINUTE)
        assert catalog.cursors.get(PIPELINE, TABLE) == put

        catalog.queue.commit(claimed(catalog), done(cursor=SHAPES[2]), T0 + MINUTE)
        stored = catalog.cursors.get(PIPELINE, TABLE)
        assert stored is not None
        assert stored.value == SHAPES[2]

    def test_from_the_start_also_beats_every_claim_made_before_it(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        earlier = claimed(catalog)
        catalog.cursors.put(PIPELINE, TABLE, "null", run=RUN, now=T0)

        catalog.queue.commit(earlier, done(cursor=SHAPES[0]), T0)

        assert catalog.cursors.get(PIPELINE, TABLE) is None

    @pytest.mark.spec("HC-102")
    @pytest.mark.parametrize("kind", SHARED)
    def test_a_shared_kind_is_written_without_a_lease(self, catalog: Catalog, kind: CursorKind) -> None:
        catalog.pipelines.declare(PIPELINE, kind, T0)

        assert catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0).value == SHAPES[0]

    @pytest.mark.spec("HC-103")
    @pytest.mark.spec("HC-104")
    @pytest.mark.parametrize("kind", LEASED)
    def test_a_leased_kind_is_written_under_its_lease_only(self, catalog: Catalog, kind: CursorKind) -> None:
        catalog.pipelines.declare(PIPELINE, kind, T0)
        lease = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)

        with pytest.raises(LeaseRequired):
            catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0)
        assert catalog.cursors.get(PIPELINE, TABLE) is None

        put = catalog.cursors.put(PIPELINE, TABLE, SHAPES[1], run=RUN, now=T0, under=lease)
        assert catalog.cursors.get(PIPELINE, TABLE) == put

    @pytest.mark.spec("HC-108")
    def test_an_undeclared_pipeline_is_written_under_its_lease_only(self, catalog: Catalog) -> None:
        with pytest.raises(LeaseRequired):
            catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0)

    @pytest.mark.parametrize("kind", CursorKind)
    def test_a_cursor_under_a_lost_lease_is_refused(self, catalog: Catalog, kind: CursorKind) -> None:
        catalog.pipelines.declare(PIPELINE, kind, T0)
        lost = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
        catalog.leases.acquire(PIPELINE, BEN, T0 + TTL, TTL)

        with pytest.raises(LeaseLost):
            catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0, under=lost)

        assert catalog.cursors.get(PIPELINE, TABLE) is None

    def test_the_lease_of_another_pipeline_does_not_count(self, catalog: Catalog) -> None:
        foreign = catalog.leases.acquire(OTHER_PIPELINE, ANNA, T0, TTL)

        with pytest.raises((LeaseLost, LeaseRequired)):
            catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0, under=foreign)

    def test_an_expired_lease_that_nobody_took_still_counts(self, catalog: Catalog) -> None:
        expired = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)

        put = catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0 + HOUR, under=expired)

        assert catalog.cursors.get(PIPELINE, TABLE) == put

    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_the_store_turns_no_cursor_back(self, catalog: Catalog, vandal: Vandal) -> None:
        shared(catalog)
        catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=RUN, now=T0)
        cursor = catalog.cursors.put(PIPELINE, TABLE, SHAPES[1], run=RUN, now=T0)

        refuses_all([lambda: vandal.turn_cursor_back(cursor)], lambda: catalog.cursors.all(PIPELINE))


class CursorAdoptionContract(Contract):
    """Cursors from other replicas."""

    @pytest.mark.spec("HP-062")
    def test_the_cursor_of_a_successful_known_run_is_taken(self, catalog: Catalog) -> None:
        shared(catalog)
        catalog.runs.adopt(ended_run(1), T0)

        assert catalog.cursors.adopt(from_replica(1, minute=0), T0)

        stored = catalog.cursors.get(PIPELINE, TABLE)
        assert stored is not None
        assert (stored.value, stored.run) == (from_replica(1, minute=0).value, run_id(1))

    @pytest.mark.spec("HP-062")
    def test_a_more_recent_successful_run_wins(self, catalog: Catalog) -> None:
        shared(catalog)
        older, newer = from_replica(1, minute=0), from_replica(2, minute=5)
        catalog.runs.adopt(ended_run(1, minute=0), T0)
        catalog.runs.adopt(ended_run(2, minute=5), T0)

        assert catalog.cursors.adopt(older, T0)
        assert catalog.cursors.adopt(newer, T0)
        assert not catalog.cursors.adopt(older, T0)
        assert not catalog.cursors.adopt(newer, T0)

        stored = catalog.cursors.get(PIPELINE, TABLE)
        assert stored is not None
        assert stored.value == newer.value

    @pytest.mark.spec("HP-062")
    @pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.PARTIAL, RunStatus.SKIPPED])
    def test_a_later_run_that_did_not_succeed_does_not_win(self, catalog: Catalog, status: RunStatus) -> None:
        shared(catalog)
        catalog.runs.adopt(ended_run(1, minute=0), T0)
        catalog.runs.adopt(ended_run(2, status, minute=5), T0)
        catalog.cursors.adopt(from_replica(1, minute=0), T0)
        before = catalog.cursors.all(PIPELINE)

        assert not catalog.cursors.adopt(from_replica(2, minute=5), T0)
        assert catalog.cursors.all(PIPELINE) == before

    def test_the_cursor_of_a_run_that_still_runs_is_not_taken(self, catalog: Catalog) -> None:
        shared(catalog)
        running = replace(ended_run(1), status=RunStatus.RUNNING, ended_at=None, rows=None, bytes=None)
        catalog.runs.adopt(running, T0)

        assert not catalog.cursors.adopt(from_replica(1, minute=0), T0)
        assert catalog.cursors.get(PIPELINE, TABLE) is None

    def test_the_cursor_of_an_unknown_run_is_not_taken(self, catalog: Catalog) -> None:
        shared(catalog)

        assert not catalog.cursors.adopt(from_replica(1, minute=0), T0)
        assert catalog.cursors.get(PIPELINE, TABLE) is None

    @pytest.mark.spec("HP-062")
    def test_a_successful_run_beats_our_unsuccessful_one_however_late(self, catalog: Catalog) -> None:
        shared(catalog)
        catalog.runs.adopt(ended_run(1, RunStatus.FAILED, minute=9), T0)
        catalog.cursors.put(PIPELINE, TABLE, SHAPES[0], run=run_id(1), now=T0 + 9 * MINUTE)
        catalog.runs.adopt(ended_run(2, minute=5), T0)

        assert catalog.cursors.adopt(from_replica(2, minute=5), T0)

    def test_of_two_cursors_of_one_run_the_later_wins(self, catalog: Catalog) -> None:
        shared(catalog)
        catalog.runs.adopt(ended_run(1, minute=9), T0)
        early, late = from_replica(1, minute=1, value="1"), from_replica(1, minute=2, value="2")

        assert catalog.cursors.adopt(early, T0)
        assert catalog.cursors.adopt(late, T0)
        assert not catalog.cursors.adopt(early, T0)

    @pytest.mark.spec("HC-103")
    @pytest.mark.spec("HC-104")
    @pytest.mark.parametrize("kind", LEASED)
    def test_the_cursor_of_a_leased_kind_is_not_taken(self, catalog: Catalog, kind: CursorKind) -> None:
        catalog.pipelines.declare(PIPELINE, kind, T0)
        catalog.runs.adopt(ended_run(1), T0)

        assert not catalog.cursors.adopt(from_replica(1, minute=0), T0)
        assert catalog.cursors.get(PIPELINE, TABLE) is None

    @pytest.mark.spec("HP-062")
    @settings(
        max_examples=12,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(order=st.permutations(range(1, 6)), ours_failed_at=st.integers(0, 9))
    def test_the_order_of_adoption_does_not_matter(
        self, catalog: Catalog, order: list[int], ours_failed_at: int
    ) -> None:
        # A table of its own for every example: the state lives on.
        table = TableName(f"{'-'.join(map(str, order))}-{ours_failed_at}")
        shared(catalog)
        for number in order:
            catalog.runs.adopt(ended_run(number, minute=number), T0)
        catalog.runs.adopt(ended_run(6, RunStatus.FAILED, minute=9), T0)
        catalog.cursors.put(PIPELINE, table, SHAPES[0], run=run_id(6), now=T0 + ours_failed_at * MINUTE)

        for number in order:
            catalog.cursors.adopt(replace(from_replica(number, minute=number), table=table), T0)

        stored = catalog.cursors.get(PIPELINE, table)
        assert stored is not None
        assert (stored.value, stored.run) == (from_replica(5, minute=5).value, run_id(5))
