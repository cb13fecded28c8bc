"""Tests of `catalog.runs`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus, StartedRun
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import CatalogError, RunEnded, RunExists, RunUnknown
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    MINUTE,
    OTHER_PIPELINE,
    PIPELINE,
    RUN,
    SUCCESS,
    T0,
    TICK,
    TTL,
    at_once,
    ended_run,
    run_id,
    tried,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OUTCOMES = (
    SUCCESS,
    RunOutcome(
        status=RunStatus.FAILED, error_kind="SourceGone", error_message="HTTP 410: «gone»\nfor good — 消えた"
    ),
    RunOutcome(
        status=RunStatus.PARTIAL, rows=2**40, bytes=2**50, error_kind="Timeout", error_message="later"
    ),
)


def started(catalog: Catalog, number: int = 1, kind: CursorKind = CursorKind.MONOTONIC) -> StartedRun:
    catalog.pipelines.declare(PIPELINE, kind, T0)
    return catalog.runs.start(run_id(number), PIPELINE, ANNA, T0, ttl=TTL, trace=TRACE)


class RunContract(Contract):
    """Every run there was."""

    @pytest.mark.spec("HP-061")
    def test_a_started_run_is_recorded_as_running(self, catalog: Catalog) -> None:
        run = started(catalog).run

        assert run == Run(
            run=RUN, pipeline=PIPELINE, node=ANNA, status=RunStatus.RUNNING, started_at=T0, trace=TRACE
        )
        assert catalog.runs.get(RUN) == run

    @pytest.mark.spec("HC-102")
    @pytest.mark.parametrize("kind", [CursorKind.MONOTONIC, CursorKind.PARTITIONED_MONOTONIC])
    def test_runs_of_kinds_that_need_no_lease_go_side_by_side(
        self, catalog: Catalog, kind: CursorKind
    ) -> None:
        first, second = started(catalog, 1, kind), started(catalog, 2, kind)

        assert first.lease is second.lease is None
        assert not first.is_skipped
        assert not second.is_skipped
        assert catalog.leases.current(PIPELINE) is None

    @pytest.mark.spec("HC-103")
    @pytest.mark.spec("HC-104")
    @pytest.mark.parametrize("kind", [CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID])
    def test_a_run_of_a_kind_that_needs_a_lease_takes_it(self, catalog: Catalog, kind: CursorKind) -> None:
        lease = started(catalog, 1, kind).lease

        assert lease is not None
        assert (lease.holder, lease.expires_at) == (ANNA, T0 + TTL)
        assert catalog.leases.current(PIPELINE) == lease

    @pytest.mark.spec("HC-108")
    def test_a_run_of_an_undeclared_pipeline_takes_the_lease(self, catalog: Catalog) -> None:
        assert catalog.runs.start(RUN, PIPELINE, ANNA, T0, ttl=TTL).lease is not None

    @pytest.mark.spec("HC-106")
    def test_a_run_is_skipped_while_another_holds_the_lease(self, catalog: Catalog) -> None:
        held = started(catalog, 1, CursorKind.OPAQUE_TOKEN).lease

        second = catalog.runs.start(run_id(2), PIPELINE, BEN, T0 + TTL - TICK, ttl=TTL)

        assert second.is_skipped
        assert second.lease is None
        assert second.run.status is RunStatus.SKIPPED
        assert second.run.ended_at == T0 + TTL - TICK
        assert catalog.runs.get(run_id(2)) == second.run
        assert catalog.leases.current(PIPELINE) == held

    @pytest.mark.spec("HC-107")
    def test_the_next_run_takes_the_lease_of_a_dead_one(self, catalog: Catalog) -> None:
        dead = started(catalog, 1, CursorKind.OPAQUE_TOKEN).lease

        following = catalog.runs.start(run_id(2), PIPELINE, BEN, T0 + TTL, ttl=TTL)

        assert dead is not None
        assert following.lease is not None
        assert following.lease.fence > dead.fence
        assert following.run.status is RunStatus.RUNNING

    def test_a_skipped_run_is_over(self, catalog: Catalog) -> None:
        started(catalog, 1, CursorKind.OPAQUE_TOKEN)
        skipped = catalog.runs.start(run_id(2), PIPELINE, BEN, T0, ttl=TTL).run

        with pytest.raises(RunEnded):
            catalog.runs.end(skipped.run, SUCCESS, T0)

        assert catalog.runs.get(skipped.run) == skipped

    def test_a_run_is_started_once(self, catalog: Catalog) -> None:
        first = catalog.runs.start(RUN, PIPELINE, ANNA, T0, ttl=TTL)
        assert first.lease is not None
        catalog.leases.release(first.lease)

        with pytest.raises(RunExists):
            catalog.runs.start(RUN, PIPELINE, BEN, T0, ttl=TTL)

        assert catalog.runs.get(RUN) == first.run
        assert catalog.leases.current(PIPELINE) is None, "the refused run took the lease"

    def test_a_run_of_another_pipeline_has_another_id(self, catalog: Catalog) -> None:
        first = started(catalog).run

        with pytest.raises(RunExists):
            catalog.runs.start(RUN, OTHER_PIPELINE, ANNA, T0, ttl=TTL)

        assert catalog.runs.latest() == (first,)

    def test_of_one_id_for_many_pipelines_at_once_one_is_started(self, catalog: Catalog) -> None:
        def start(number: int) -> StartedRun | CatalogError:
            pipeline = PipelineId(f"pipeline-{number}")
            return tried(lambda: catalog.runs.start(RUN, pipeline, ANNA, T0, ttl=TTL))

        answers = at_once(start)

        (won,) = [answer for answer in answers if isinstance(answer, StartedRun)]
        assert {type(answer) for answer in answers} == {StartedRun, RunExists}
        assert catalog.runs.latest() == (won.run,)

    @pytest.mark.spec("HP-061")
    @pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.status)
    def test_a_run_records_how_it_ended(self, catalog: Catalog, outcome: RunOutcome) -> None:
        run = started(catalog).run

        ended = catalog.runs.end(RUN, outcome, T0 + MINUTE)

        assert ended == replace(
            run,
            status=outcome.status,
            ended_at=T0 + MINUTE,
            rows=outcome.rows,
            bytes=outcome.bytes,
            error_kind=outcome.error_kind,
            error_message=outcome.error_message,
        )
        assert catalog.runs.get(RUN) == ended

    @pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.status)
    def test_the_same_outcome_twice_is_one(self, catalog: Catalog, outcome: RunOutcome) -> None:
        started(catalog)
        ended = catalog.runs.end(RUN, outcome, T0)

        assert catalog.runs.end(RUN, outcome, T0 + MINUTE) == ended
        assert catalog.runs.get(RUN) == ended

    def test_a_run_that_ended_takes_no_other_outcome(self, catalog: Catalog) -> None:
        started(catalog)
        ended = catalog.runs.end(RUN, SUCCESS, T0)

        for other in (OUTCOMES[1], replace(SUCCESS, rows=4)):
            with pytest.raises(RunEnded) as raised:
                catalog.runs.end(RUN, other, T0)
            assert raised.value.status == RunStatus.SUCCESS
        assert catalog.runs.get(RUN) == ended

    def test_an_unknown_run_cannot_end(self, catalog: Catalog) -> None:
        with pytest.raises(RunUnknown):
            catalog.runs.end(RUN, SUCCESS, T0)

        assert catalog.runs.get(RUN) is None

    def test_a_run_does_not_end_by_running(self) -> None:
        with pytest.raises(ValueError, match="running"):
            RunOutcome(status=RunStatus.RUNNING)

    def test_runs_come_newest_first_page_by_page(self, catalog: Catalog) -> None:
        runs = {number: started(catalog, number).run for number in (3, 1, 4, 2, 5)}

        assert catalog.runs.latest(limit=2) == (runs[5], runs[4])
        assert catalog.runs.latest(before=run_id(4), limit=2) == (runs[3], runs[2])
        assert catalog.runs.latest(before=run_id(2)) == (runs[1],)
        assert catalog.runs.latest(before=run_id(1)) == ()

    def test_the_runs_of_one_pipeline_come_alone(self, catalog: Catalog) -> None:
        ours = [started(catalog, number).run for number in (1, 3)]
        theirs = catalog.runs.start(run_id(2), OTHER_PIPELINE, ANNA, T0, ttl=TTL).run

        assert catalog.runs.latest(PIPELINE) == (ours[1], ours[0])
        assert catalog.runs.latest(PIPELINE, before=run_id(3), limit=5) == (ours[0],)
        assert catalog.runs.latest(OTHER_PIPELINE) == (theirs,)
        assert catalog.runs.latest() == (ours[1], theirs, ours[0])

    @pytest.mark.spec("HP-064")
    @pytest.mark.parametrize("status", [RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.SKIPPED])
    def test_a_run_of_another_replica_is_taken_over_whole(self, catalog: Catalog, status: RunStatus) -> None:
        run = ended_run(7, status)

        assert catalog.runs.adopt(run, T0)
        assert catalog.runs.get(run.run) == run
        assert not catalog.runs.adopt(run, T0)

    @pytest.mark.spec("HP-064")
    def test_an_unfinished_run_is_finished_by_its_ended_form(self, catalog: Catalog) -> None:
        ended = replace(ended_run(7), trace=None)
        running = replace(ended, status=RunStatus.RUNNING, ended_at=None, rows=None, bytes=None)

        assert catalog.runs.adopt(running, T0)
        assert catalog.runs.get(ended.run) == running
        assert catalog.runs.adopt(ended, T0)
        assert catalog.runs.get(ended.run) == ended

    @pytest.mark.spec("HP-064")
    def test_an_ended_run_is_not_taken_back_by_another_form(self, catalog: Catalog) -> None:
        ended = ended_run(7)
        catalog.runs.adopt(ended, T0)

        running = replace(ended, status=RunStatus.RUNNING, ended_at=None, rows=None, bytes=None)
        assert not catalog.runs.adopt(running, T0)
        assert not catalog.runs.adopt(ended_run(7, RunStatus.FAILED), T0)
        assert catalog.runs.get(ended.run) == ended

    @pytest.mark.spec("HC-103")
    @pytest.mark.spec("AD-001")
    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_of_many_runs_that_need_the_lease_at_once_one_runs(self, catalog: Catalog) -> None:
        begun = at_once(lambda n: catalog.runs.start(run_id(n), PIPELINE, ANNA, T0, ttl=TTL))

        running = [one for one in begun if not one.is_skipped]
        assert len(running) == 1
        assert catalog.leases.current(PIPELINE) == running[0].lease

    @pytest.mark.spec("AD-001")
    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_of_many_who_start_or_end_one_run_at_once_one_does(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)

        begun = at_once(lambda _: tried(lambda: catalog.runs.start(RUN, PIPELINE, ANNA, T0, ttl=TTL)))
        ended = at_once(lambda n: tried(lambda: catalog.runs.end(RUN, replace(SUCCESS, rows=n), T0)))

        assert sum(isinstance(one, StartedRun) for one in begun) == 1
        assert [one for one in ended if isinstance(one, Run)] == [catalog.runs.get(RUN)]

    @pytest.mark.spec("HP-064")
    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_the_store_changes_and_removes_no_run_that_ended(self, catalog: Catalog, vandal: Vandal) -> None:
        started(catalog)
        catalog.runs.end(RUN, SUCCESS, T0)

        refuses_all(
            [lambda: vandal.change_run(RUN), lambda: vandal.delete_run(RUN)],
            lambda: catalog.runs.get(RUN),
        )
