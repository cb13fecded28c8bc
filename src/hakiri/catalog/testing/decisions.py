"""Tests of `catalog.pipelines`: failures that wait for a decision, and what was applied."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import AuditEntry
from hakiri.catalog.contract.chunks import ChunkError, ChunkStatus
from hakiri.catalog.contract.pipelines import AppliedSpec, Decision, Failure, Phase
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    MINUTE,
    OTHER_PIPELINE,
    PIPELINE,
    RUN,
    T0,
    at_once,
    claimed,
    committed,
    planned,
    run_id,
)
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, PipelineId

ADA = "operator:ada"
FAILURE = Failure(
    run=RUN, kind="SourceGone", message="410 Gone — «für immer»", at=T0 - MINUTE, spec_hash="sha256:1"
)


def with_failed_chunks(catalog: Catalog) -> None:
    """Chunks 1 and 3 failed, 2 is done, 4 is skipped, 5 pending; and the pipeline failed."""
    planned(catalog, 5)
    error = ChunkError(kind="SourceGone", message="410")
    failed = [claimed(catalog), committed(catalog), claimed(catalog)]
    for attempt in failed[::2]:
        catalog.queue.give_back(attempt, T0, error, retry=False)
    catalog.chunks.skip(PIPELINE, [ChunkId(4)], T0)
    catalog.pipelines.fail(PIPELINE, FAILURE, T0)


def statuses(catalog: Catalog) -> list[ChunkStatus]:
    return [chunk.status for chunk in catalog.chunks.page(PIPELINE)]


class DecisionContract(Contract):
    """A pipeline that failed waits until someone decides."""

    def test_a_failure_is_kept_with_all_that_is_known_of_it(self, catalog: Catalog) -> None:
        declared = catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        assert declared.failure is None

        failed = catalog.pipelines.fail(PIPELINE, FAILURE, T0 + MINUTE)

        assert failed == replace(declared, failure=FAILURE, updated_at=T0 + MINUTE)
        assert catalog.pipelines.get(PIPELINE) == failed
        assert catalog.pipelines.all() == (failed,)

    def test_a_failure_may_have_no_run_and_no_spec(self, catalog: Catalog) -> None:
        failure = Failure(run=None, kind="", message="", at=T0, spec_hash=None)

        assert catalog.pipelines.fail(PIPELINE, failure, T0).failure == failure

    def test_a_later_failure_takes_the_place_of_one_that_nobody_decided(self, catalog: Catalog) -> None:
        catalog.pipelines.fail(PIPELINE, FAILURE, T0)
        later = replace(FAILURE, run=run_id(2), message="another one")

        assert catalog.pipelines.fail(PIPELINE, later, T0).failure == later

    def test_what_no_store_can_keep_of_a_message_is_written_out(self, catalog: Catalog) -> None:
        failed = catalog.pipelines.fail(PIPELINE, replace(FAILURE, message="a\0b \ud83d"), T0)

        assert failed.failure == replace(FAILURE, message="a\\0b \\ud83d")

    def test_a_failure_stays_whatever_else_becomes_of_the_pipeline(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        catalog.pipelines.fail(PIPELINE, FAILURE, T0)

        catalog.pipelines.declare(PIPELINE, CursorKind.PARTITIONED_MONOTONIC, T0)
        catalog.pipelines.move(PIPELINE, Phase.PLANNING, Phase.BACKFILLING, T0)
        committed(catalog)

        state = catalog.pipelines.get(PIPELINE)
        assert state is not None
        assert state.failure == FAILURE

    def test_a_retry_reopens_the_failed_chunks(self, catalog: Catalog) -> None:
        with_failed_chunks(catalog)

        assert catalog.pipelines.decide(PIPELINE, Decision.RETRY, ADA, T0 + MINUTE)

        pending = ChunkStatus.PENDING
        assert statuses(catalog) == [pending, ChunkStatus.DONE, pending, ChunkStatus.SKIPPED, pending]
        chunk = catalog.chunks.get(PIPELINE, ChunkId(1))
        assert chunk is not None
        assert (chunk.error_kind, chunk.error_message) == (None, None)
        state = catalog.pipelines.get(PIPELINE)
        assert state is not None
        assert (state.failure, state.updated_at) == (None, T0 + MINUTE)

    def test_a_skip_gives_the_failed_chunks_up(self, catalog: Catalog) -> None:
        with_failed_chunks(catalog)

        assert catalog.pipelines.decide(PIPELINE, Decision.SKIP, "agent:7", T0)

        skipped = ChunkStatus.SKIPPED
        assert statuses(catalog) == [skipped, ChunkStatus.DONE, skipped, skipped, ChunkStatus.PENDING]
        state = catalog.pipelines.get(PIPELINE)
        assert state is not None
        assert state.failure is None

    @pytest.mark.parametrize("decision", Decision)
    def test_a_decision_is_in_the_audit_log(self, catalog: Catalog, decision: Decision) -> None:
        with_failed_chunks(catalog)

        catalog.pipelines.decide(PIPELINE, decision, ADA, T0 + MINUTE)

        assert catalog.audit.page() == (
            AuditEntry(
                number=1,
                at=T0 + MINUTE,
                by=ADA,
                action=decision.value,
                pipeline=PIPELINE,
                table=None,
                before=FAILURE.as_json,
                after='{"chunks":2}',
                reason=None,
            ),
        )
        assert json.loads(FAILURE.as_json) == {
            "run": RUN,
            "kind": FAILURE.kind,
            "message": FAILURE.message,
            "at": "2026-05-11T07:59:00.123456Z",
            "spec_hash": "sha256:1",
        }

    @pytest.mark.parametrize("decision", Decision)
    def test_without_a_failure_there_is_nothing_to_decide(self, catalog: Catalog, decision: Decision) -> None:
        with_failed_chunks(catalog)
        catalog.pipelines.decide(PIPELINE, Decision.SKIP, ADA, T0)
        planned(catalog, 1, OTHER_PIPELINE)
        catalog.queue.give_back(claimed(catalog, pipeline=OTHER_PIPELINE), T0, retry=False)
        before = statuses(catalog), catalog.chunks.page(OTHER_PIPELINE), catalog.audit.page()

        for pipeline in (PIPELINE, OTHER_PIPELINE, PipelineId("unknown")):
            assert not catalog.pipelines.decide(pipeline, decision, ADA, T0)

        assert (statuses(catalog), catalog.chunks.page(OTHER_PIPELINE), catalog.audit.page()) == before

    @pytest.mark.parametrize("by", ["", "ada", "operator:", "agent: 7", "auto:1"])
    def test_nobody_else_decides_about_a_failure(self, catalog: Catalog, by: str) -> None:
        with_failed_chunks(catalog)

        with pytest.raises(ValueError, match="decides nothing"):
            catalog.pipelines.decide(PIPELINE, Decision.RETRY, by, T0)

        state = catalog.pipelines.get(PIPELINE)
        assert state is not None
        assert state.failure == FAILURE

    def test_a_decision_that_cannot_be_written_down_is_not_taken(self, catalog: Catalog) -> None:
        with_failed_chunks(catalog)
        before = catalog.pipelines.get(PIPELINE), catalog.chunks.page(PIPELINE)

        with pytest.raises(UnstorableText):
            catalog.pipelines.decide(PIPELINE, Decision.RETRY, "operator:\0", T0)

        assert (catalog.pipelines.get(PIPELINE), catalog.chunks.page(PIPELINE)) == before
        assert catalog.audit.page() == ()

    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_of_many_who_decide_at_once_one_does(self, catalog: Catalog) -> None:
        with_failed_chunks(catalog)
        decisions = [*Decision]

        answers = at_once(lambda n: catalog.pipelines.decide(PIPELINE, decisions[n % 2], ADA, T0))

        assert sorted(answers) == [False] * (len(answers) - 1) + [True]
        [entry] = catalog.audit.page()
        settled = ChunkStatus.PENDING if entry.action == Decision.RETRY else ChunkStatus.SKIPPED
        assert statuses(catalog)[:3:2] == [settled, settled]


class AppliedContract(Contract):
    """What was applied last."""

    def test_what_was_applied_is_noted_byte_for_byte(self, catalog: Catalog) -> None:
        spec = ' {"schedule": "«täglich»", "a": 1.0}'

        noted = catalog.pipelines.note_applied(PIPELINE, spec, "sha256:1", T0)

        assert noted == AppliedSpec(
            pipeline=PIPELINE, spec_json=spec, spec_hash="sha256:1", applied_at=T0, retired_at=None
        )
        assert catalog.pipelines.applied(PIPELINE) == noted
        assert catalog.pipelines.applied(OTHER_PIPELINE) is None

    def test_another_spec_takes_its_place_and_the_same_keeps_its_time(self, catalog: Catalog) -> None:
        first = catalog.pipelines.note_applied(PIPELINE, "{}", "sha256:1", T0)

        same = catalog.pipelines.note_applied(PIPELINE, "{}", "sha256:1", T0 + MINUTE)
        other = catalog.pipelines.note_applied(PIPELINE, "[]", "sha256:2", T0 + MINUTE)

        assert same == first
        assert other == replace(first, spec_json="[]", spec_hash="sha256:2", applied_at=T0 + MINUTE)
        assert catalog.pipelines.applied(PIPELINE) == other

    def test_what_left_the_manifest_is_retired_until_it_is_applied_again(self, catalog: Catalog) -> None:
        first = catalog.pipelines.note_applied(PIPELINE, "{}", "sha256:1", T0)

        assert catalog.pipelines.retire(PIPELINE, T0 + MINUTE)
        assert not catalog.pipelines.retire(PIPELINE, T0 + 2 * MINUTE)
        retired = catalog.pipelines.applied(PIPELINE)
        again = catalog.pipelines.note_applied(PIPELINE, "{}", "sha256:1", T0 + 3 * MINUTE)

        assert retired == replace(first, retired_at=T0 + MINUTE)
        assert again == replace(first, applied_at=T0 + 3 * MINUTE)
        assert catalog.pipelines.applied(PIPELINE) == again

    def test_what_was_never_applied_is_not_retired(self, catalog: Catalog) -> None:
        assert not catalog.pipelines.retire(PIPELINE, T0)
        assert catalog.pipelines.applied(PIPELINE) is None

    def test_all_that_was_applied_comes_by_pipeline(self, catalog: Catalog) -> None:
        names = [PipelineId(name) for name in ("b", "a-2", "Z", "ä", "a_1")]
        for name in names:
            catalog.pipelines.note_applied(name, "{}", "sha256:1", T0)
        catalog.pipelines.retire(PipelineId("Z"), T0)

        applied = catalog.pipelines.all_applied()

        assert [spec.pipeline for spec in applied] == sorted(names)
        assert [spec.pipeline for spec in applied if spec.retired_at] == ["Z"]

    def test_nothing_was_applied_for_a_pipeline_that_only_has_state(self, catalog: Catalog) -> None:
        planned(catalog, 1)

        assert catalog.pipelines.all_applied() == ()
