"""Tests of the catalog as a whole: handles, numbers, and the check of its promises."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.catalog.contract.pipelines import Decision, Failure
from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.samples import (
    ANNA,
    KEYS,
    OTHER_PIPELINE,
    PIPELINE,
    RUN,
    SUCCESS,
    T0,
    TABLE,
    TTL,
    at_once,
    claimed,
    committed,
    done,
    doomed,
    edge,
    new_chunks,
    planned,
    run_id,
    sidecar,
    snapshot_of,
    step,
)
from hakiri.catalog.testing.workload import SOME_STEPS, Step, work_on
from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Rate
from hakiri.core.ids import ChunkId, PipelineId, RunId, SelectionId, SpecId

UNSTORABLE = ("\0", "half a pair: \ud83d")
WRITES: dict[str, Callable[[Catalog, str], object]] = {
    "pipeline": lambda catalog, text: catalog.pipelines.declare(PipelineId(text), CursorKind.MONOTONIC, T0),
    "cursor": lambda catalog, text: catalog.cursors.put(PIPELINE, TABLE, text, run=RUN, now=T0),
    "spec": lambda catalog, text: catalog.selections.save_spec(SpecId("spec"), text, T0),
    "edge": lambda catalog, text: catalog.lineage.add([edge(2, 1, reason=text)]),
    "entry": lambda catalog, text: catalog.audit.note("auto", "tidy", T0, reason=text),
    "failure": lambda catalog, text: catalog.pipelines.fail(
        PIPELINE, Failure(run=RunId(text), kind="", message="", at=T0, spec_hash=None), T0
    ),
    "applied": lambda catalog, text: catalog.pipelines.note_applied(PIPELINE, text, "sha256:1", T0),
    "file": lambda catalog, text: catalog.garbage.doom([doomed(text)], T0),
}


class UpkeepContract(Contract):
    """What is asked of a catalog as a whole."""

    @pytest.mark.spec("AD-014")
    def test_another_handle_sees_every_write_by_asking(self, catalog: Catalog, opener: Opener) -> None:
        with opener.open() as other:
            planned(catalog, 2)
            attempt = claimed(other)

            assert catalog.chunks.page(PIPELINE) == other.chunks.page(PIPELINE)
            assert claimed(catalog).seq > attempt.seq

    @pytest.mark.spec("AD-014")
    def test_another_process_works_on_the_same_state(self, catalog: Catalog, opener: Opener) -> None:
        planned(catalog, 2)
        first = claimed(catalog)

        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
            second = processes.submit(_claim_elsewhere, opener).result(timeout=50)

        assert (second.chunk, second.node) == (2, ANNA)
        assert second.seq > first.seq
        assert catalog.chunks.tally(PIPELINE).running == 2

    def test_what_was_written_is_there_when_all_handles_were_closed(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        planned(catalog, 1)
        committed(catalog)
        before = catalog.chunks.page(PIPELINE)
        catalog.close()

        with opener.open() as again:
            assert again.chunks.page(PIPELINE) == before

    def test_closing_twice_is_once(self, opener: Opener) -> None:
        catalog = opener.open()

        catalog.close()
        catalog.close()

    def test_many_handles_opened_at_once_see_one_state(self, opener: Opener) -> None:
        """Also before anything was made there: whoever comes first makes it."""

        def use(number: int) -> int:
            with opener.open() as catalog:
                return catalog.number("opened")

        assert sorted(at_once(use)) == list(range(1, 9))

    def test_a_catalog_says_what_it_is(self, catalog: Catalog) -> None:
        info = catalog.info()

        assert info.backend
        assert info.location
        assert info.version == info.newest_version > 0
        assert info.divergences == catalog.divergences

    @pytest.mark.spec("AD-015")
    def test_every_declared_divergence_has_a_reason(self, catalog: Catalog) -> None:
        assert set(catalog.divergences) <= set(Invariant)
        assert all(reason.strip() for reason in catalog.divergences.values())

    def test_times_come_back_as_the_same_moment_in_utc(self, catalog: Catalog) -> None:
        east = datetime(2026, 5, 11, 10, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))

        state = catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, east)

        assert state.updated_at == T0
        assert state.updated_at.utcoffset() == timedelta()
        assert catalog.pipelines.get(PIPELINE) == state

    @pytest.mark.parametrize("text", UNSTORABLE, ids=["nul", "surrogate"])
    @pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
    def test_a_text_that_not_every_store_can_keep_is_refused_by_all(
        self, catalog: Catalog, write: Callable[[Catalog, str], object], text: str
    ) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)

        with pytest.raises(UnstorableText):
            write(catalog, text)

    def test_a_counter_gives_numbers_in_a_row_from_1_on(self, catalog: Catalog) -> None:
        numbers = [catalog.number("row ids"), catalog.number("row ids", 5), catalog.number("row ids")]

        assert numbers == [1, 2, 7]
        assert catalog.number("others", 3) == 1

    @pytest.mark.parametrize("name", ["claim", "selection", "audit"])
    def test_a_counter_begins_at_1_whatever_the_catalog_itself_counts(
        self, catalog: Catalog, name: str
    ) -> None:
        planned(catalog, 1)
        committed(catalog)
        _save_a_selection(catalog)
        catalog.audit.note("auto", "tidy", T0)

        assert catalog.number(name) == 1

        planned(catalog, 1, OTHER_PIPELINE)
        claimed(catalog, pipeline=OTHER_PIPELINE)
        assert catalog.number(name) == 2

    def test_no_number_is_given_twice(self, catalog: Catalog, opener: Opener) -> None:
        with opener.open() as other:
            handles = (catalog, other)
            firsts = at_once(lambda n: [handles[n % 2].number("row ids", 10) for _ in range(3)])

        assert sorted(first for some in firsts for first in some) == list(range(1, 240, 10))

    def test_a_healthy_catalog_has_no_breach(self, catalog: Catalog) -> None:
        kinds: list[str] = []
        _use_everything(catalog)

        assert catalog.check(kinds.append) == ()
        assert kinds
        assert len(set(kinds)) == len(kinds)

    def test_an_empty_catalog_has_no_breach(self, catalog: Catalog) -> None:
        assert catalog.check() == ()

    @settings(
        max_examples=5,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(steps=SOME_STEPS)
    def test_a_catalog_has_no_breach_whatever_was_done_through_the_contract(
        self, catalog: Catalog, steps: list[Step]
    ) -> None:
        pipeline = PipelineId(f"example {len(catalog.pipelines.all())}")
        catalog.pipelines.declare(pipeline, CursorKind.MONOTONIC, T0)

        for _ in work_on(catalog, pipeline, steps):
            pass

        assert catalog.check() == ()


def _claim_elsewhere(opener: Opener) -> ChunkAttempt:
    with opener.open() as catalog:
        return claimed(catalog)


def _save_a_selection(catalog: Catalog) -> None:
    from hakiri.catalog.contract.files import Selection

    selection = Selection(
        selection=SelectionId("selection"),
        spec=SpecId("spec"),
        snapshot_hash="sha256:1",
        logical_date="2026-05-11",
        watermark=None,
        created_at=T0,
    )
    catalog.selections.save(selection, [])


def _use_everything(catalog: Catalog) -> None:
    """Leave something in every part of the catalog."""
    planned(catalog, 4)
    committed(catalog)
    catalog.queue.give_back(claimed(catalog), T0, retry=False)
    claimed(catalog)
    catalog.queue.commit_some([(claimed(catalog), done())], T0)
    catalog.chunks.supersede(PIPELINE, [ChunkId(1)], "rewind", T0, by="operator:ada")
    catalog.chunks.supersede(PIPELINE, [ChunkId(4)], "cut anew", T0, into=new_chunks(3), by="auto")
    failure = Failure(run=RUN, kind="SourceGone", message="410", at=T0, spec_hash=None)
    catalog.pipelines.fail(PIPELINE, failure, T0)
    catalog.pipelines.decide(PIPELINE, Decision.RETRY, "agent:7", T0)
    catalog.pipelines.fail(PIPELINE, failure, T0)
    catalog.pipelines.note_applied(PIPELINE, "{}", "sha256:1", T0)
    catalog.pipelines.retire(PIPELINE, T0)
    catalog.budgets.take("github", wanted=3, most=5, rate=Rate.parse("60/min"), now=T0)
    catalog.cursors.put(PIPELINE, TABLE, "{}", run=RUN, now=T0)
    catalog.runs.start(RUN, PIPELINE, ANNA, T0, ttl=TTL)
    catalog.runs.end(RUN, SUCCESS, T0)
    catalog.runs.start(run_id(2), OTHER_PIPELINE, ANNA, T0, ttl=TTL)
    catalog.schemas.record(step(0), PIPELINE, T0)
    catalog.schemas.record(step(1), PIPELINE, T0)
    catalog.lineage.add([edge(2, 1)])
    catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
    catalog.snapshots.commit(snapshot_of(catalog.snapshots.revision(TABLE), indexes=(KEYS,)), T0)
    catalog.garbage.doom([doomed("a")], T0)
    catalog.revocations.bump(Scope(project="shop", tenant="acme", principal_class="agent"), T0)
    _save_a_selection(catalog)
