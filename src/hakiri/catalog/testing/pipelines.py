"""Tests of `catalog.pipelines`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.pipelines import Phase, PipelineState
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import PhaseMoved
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    ANNA,
    MINUTE,
    OTHER_PIPELINE,
    PIPELINE,
    RUN,
    T0,
    TTL,
    at_once,
    new_chunks,
    step,
    tried,
)
from hakiri.core.cursors import UNDECLARED_KIND, CursorKind
from hakiri.core.ids import PipelineId

FIRST_WRITES: dict[str, Callable[[Catalog], object]] = {
    "plan": lambda catalog: catalog.chunks.plan(PIPELINE, "backfill", new_chunks(1), T0),
    "lease": lambda catalog: catalog.leases.acquire(PIPELINE, ANNA, T0, TTL),
    "run": lambda catalog: catalog.runs.start(RUN, PIPELINE, ANNA, T0, ttl=TTL),
    "phase": lambda catalog: catalog.pipelines.move(PIPELINE, Phase.PLANNING, Phase.STREAMING, T0),
    "schema": lambda catalog: catalog.schemas.record(step(0), PIPELINE, T0),
}


class PipelineContract(Contract):
    """The pipelines that have state."""

    def test_a_pipeline_that_never_had_state_is_unknown(self, catalog: Catalog) -> None:
        assert catalog.pipelines.get(PIPELINE) is None
        assert catalog.pipelines.all() == ()

    @pytest.mark.parametrize("kind", CursorKind)
    def test_a_declared_kind_is_noted(self, catalog: Catalog, kind: CursorKind) -> None:
        declared = catalog.pipelines.declare(PIPELINE, kind, T0)

        assert declared == PipelineState(pipeline=PIPELINE, kind=kind, phase=Phase.PLANNING, updated_at=T0)
        assert catalog.pipelines.get(PIPELINE) == declared

    @pytest.mark.spec("HC-108")
    @pytest.mark.parametrize("write", FIRST_WRITES.values(), ids=FIRST_WRITES)
    def test_any_write_makes_an_unknown_pipeline_with_the_undeclared_kind(
        self, catalog: Catalog, write: Callable[[Catalog], object]
    ) -> None:
        write(catalog)

        made = catalog.pipelines.get(PIPELINE)
        assert made is not None
        assert made.kind is UNDECLARED_KIND is CursorKind.OPAQUE_TOKEN

    def test_a_read_makes_no_pipeline(self, catalog: Catalog) -> None:
        catalog.chunks.tally(PIPELINE)
        catalog.leases.current(PIPELINE)
        catalog.cursors.all(PIPELINE)

        assert catalog.pipelines.all() == ()

    def test_the_last_declared_kind_decides_who_needs_a_lease(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        catalog.pipelines.declare(PIPELINE, CursorKind.SNAPSHOT_ID, T0 + MINUTE)

        started = catalog.runs.start(RUN, PIPELINE, ANNA, T0 + MINUTE, ttl=TTL)

        assert started.lease is not None

    def test_declaring_the_same_kind_keeps_the_phase(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        moved = catalog.pipelines.move(PIPELINE, Phase.PLANNING, Phase.BACKFILLING, T0)

        assert catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0).phase is moved.phase

    def test_a_phase_moves_from_the_expected_one(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)

        moved = catalog.pipelines.move(PIPELINE, Phase.PLANNING, Phase.BACKFILLING, T0 + MINUTE)

        assert moved == PipelineState(
            pipeline=PIPELINE, kind=CursorKind.MONOTONIC, phase=Phase.BACKFILLING, updated_at=T0 + MINUTE
        )
        assert catalog.pipelines.get(PIPELINE) == moved

    def test_a_phase_does_not_move_from_another_one(self, catalog: Catalog) -> None:
        before = catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)

        with pytest.raises(PhaseMoved) as raised:
            catalog.pipelines.move(PIPELINE, Phase.BACKFILLING, Phase.STREAMING, T0 + MINUTE)

        assert (raised.value.expected, raised.value.actual) == (Phase.BACKFILLING, Phase.PLANNING)
        assert catalog.pipelines.get(PIPELINE) == before

    def test_all_pipelines_come_by_id(self, catalog: Catalog) -> None:
        names = [PipelineId(name) for name in ("b", "a-2", "Z", "ä", "a_1", "a", "日本")]
        for name in names:
            catalog.pipelines.declare(name, CursorKind.MONOTONIC, T0)

        assert [state.pipeline for state in catalog.pipelines.all()] == sorted(names)

    def test_pipelines_move_apart_from_each_other(self, catalog: Catalog) -> None:
        other = catalog.pipelines.declare(OTHER_PIPELINE, CursorKind.MONOTONIC, T0)

        catalog.pipelines.move(PIPELINE, Phase.PLANNING, Phase.STREAMING, T0)

        assert catalog.pipelines.get(OTHER_PIPELINE) == other

    @pytest.mark.spec("AD-001")
    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_of_many_who_move_a_phase_at_once_one_does(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)

        outcomes = at_once(
            lambda _: tried(lambda: catalog.pipelines.move(PIPELINE, Phase.PLANNING, Phase.BACKFILLING, T0))
        )

        assert sum(isinstance(outcome, PipelineState) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, PhaseMoved) for outcome in outcomes) == len(outcomes) - 1
