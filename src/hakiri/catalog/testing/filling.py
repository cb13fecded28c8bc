"""An empty catalog can be filled at once, and goes on from there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, ChunkTally, NewChunk, Replacement, Reread
from hakiri.catalog.contract.contents import CatalogContents, KnownPipeline
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.pipelines import Phase, PipelineState
from hakiri.catalog.contract.runs import Run, RunStatus
from hakiri.catalog.contract.schemas import SchemaChange, TableSchema
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import CatalogNotEmpty
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.samples import ANNA, HOUR, MINUTE, PIPELINE, RUN, T0, TABLE, TTL, done, run_id
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, IndexId, PipelineId, SnapshotId

WHY = Reread(
    reason="RT-481",
    asked_at=T0,
    runs=(RUN,),
    replacement=Replacement(first=ChunkId(3), last=ChunkId(3), old=(ChunkId(1),)),
)
ONE = Chunk(
    pipeline=PIPELINE,
    chunk=ChunkId(1),
    table=TABLE,
    predicate='{"day":1}',
    status=ChunkStatus.SUPERSEDED,
    attempts=2,
    run=RUN,
    holder=None,
    leased_until=None,
    seq=17,
    started_at=T0,
    completed_at=T0 + MINUTE,
    winning_attempt="anna/attempt-2",
    cursor_committed='{"id":7}',
    rows=3,
    bytes=40,
    manifest="{}",
    error_kind=None,
    error_message=None,
    superseded_by=ChunkId(3),
    reason="RT-481",
    successors=1,
)
TWO = replace(
    ONE,
    chunk=ChunkId(3),
    status=ChunkStatus.DONE,
    seq=21,
    rows=5,
    reread=WHY,
    superseded_by=None,
    reason=None,
    successors=None,
)
EARLIER = Run(
    run=RUN,
    pipeline=PIPELINE,
    node=ANNA,
    status=RunStatus.SUCCESS,
    started_at=T0,
    ended_at=T0 + MINUTE,
    rows=5,
    bytes=40,
)
CURSOR = Cursor(pipeline=PIPELINE, table=TABLE, value='{"id":7}', run=RUN, seq=21, updated_at=T0)
STEPS = tuple(
    SchemaChange(
        table=TABLE,
        version=version,
        pipeline=PIPELINE,
        change_kind="add_column",
        before=None if version == 1 else f"{version - 1}",
        after=f"{version}",
        decided_by="operator:anna",
        at=T0 + version * MINUTE,
    )
    for version in (1, 2)
)
SNAPSHOTS = tuple(
    Snapshot(
        snapshot=SnapshotId(name),
        table=TABLE,
        created_at=T0,
        includes_runs=(RUN,),
        indexes=(IndexId("pk"),),
        rows=8,
        based_on=0,
        manifest="{}",
    )
    for name in ("first", "second")
)
EDGE = Edge(child=run_id(2), parent=RUN, kind=EdgeKind.COMPACTION, at=T0)
DOOMED = DoomedFile(path="a/b", table=TABLE, reason="folded into a snapshot", keep_until=T0)
CONTENTS = CatalogContents(
    pipelines=(
        KnownPipeline(
            pipeline=PIPELINE,
            kind=CursorKind.MONOTONIC,
            phase=Phase.STREAMING,
            last_chunk=ChunkId(9),
            last_claim_at=T0 + HOUR,
            plans=("history", "more"),
        ),
    ),
    runs=(EARLIER,),
    chunks=(ONE, TWO),
    cursors=(CURSOR,),
    schemas=STEPS,
    keys={TABLE: ("id",)},
    snapshots=SNAPSHOTS,
    sidecars=tuple(
        Sidecar(snapshot=each.snapshot, index=IndexId("pk"), manifest_hash="ff", bytes=9)
        for each in SNAPSHOTS
    ),
    edges=(EDGE,),
    doomed=(DOOMED,),
    counters={"pass": 4},
    claims=30,
)


class FillContract(Contract):
    """A catalog that was filled is like one in which all of it happened."""

    @pytest.mark.spec("HC-027")
    def test_a_filled_catalog_tells_what_it_was_filled_with_and_breaks_no_promise(
        self, catalog: Catalog
    ) -> None:
        catalog.fill(CONTENTS, T0)

        assert catalog.check() == ()
        assert catalog.pipelines.get(PIPELINE) == PipelineState(
            pipeline=PIPELINE, kind=CursorKind.MONOTONIC, phase=Phase.STREAMING, updated_at=T0
        )
        assert catalog.chunks.page(PIPELINE) == (ONE, TWO)
        assert catalog.chunks.landed(TABLE) == (ONE, TWO)
        assert catalog.chunks.version(TABLE) == 3
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(done=1, superseded=1, rows=5, bytes=40)
        assert [catalog.chunks.is_planned(PIPELINE, plan) for plan in ("history", "more", "other")] == [
            True,
            True,
            False,
        ]
        assert catalog.runs.get(RUN) == EARLIER
        assert catalog.cursors.all(PIPELINE) == (CURSOR,)
        assert catalog.schemas.log(TABLE) == STEPS
        assert catalog.schemas.current(TABLE) == TableSchema(
            table=TABLE,
            version=2,
            arrow_schema="2",
            primary_key=("id",),
            created_at=T0 + MINUTE,
            updated_at=T0 + 2 * MINUTE,
        )
        assert [each.snapshot for each in catalog.snapshots.all(TABLE)] == ["first", "second"]
        assert catalog.snapshots.current_id(TABLE) == "second"
        assert catalog.lineage.parents(run_id(2)) == (EDGE,)
        assert catalog.garbage.due(T0) == (DOOMED,)

    @pytest.mark.spec("HC-028")
    def test_it_gives_no_number_twice_and_goes_on_as_any_other(self, catalog: Catalog) -> None:
        catalog.fill(CONTENTS, T0)

        assert catalog.number("pass") == 5
        assert catalog.snapshots.frontier(TABLE) == 31
        catalog.chunks.plan(PIPELINE, "next", [NewChunk(table=TABLE, predicate="{}")], T0)
        attempt = catalog.queue.claim(PIPELINE, run_id(3), ANNA, T0, ttl=TTL)
        assert attempt is not None
        assert (attempt.chunk, attempt.seq, attempt.claimed_at) == (10, 31, T0 + HOUR)
        catalog.queue.commit(attempt, done(), T0)
        revision = catalog.snapshots.revision(TABLE)
        third = replace(SNAPSHOTS[0], snapshot=SnapshotId("third"), indexes=(), based_on=revision)
        catalog.snapshots.commit(third, T0)
        assert catalog.snapshots.current_id(TABLE) == "third"
        assert catalog.chunks.supersede(PIPELINE, [TWO.chunk], "again", T0) == (11,)
        assert catalog.check() == ()

    def test_one_that_was_used_is_not_filled(self, catalog: Catalog) -> None:
        other = PipelineId("other")
        catalog.pipelines.declare(other, CursorKind.MONOTONIC, T0)

        with pytest.raises(CatalogNotEmpty):
            catalog.fill(CONTENTS, T0)

        assert [state.pipeline for state in catalog.pipelines.all()] == [other]
        assert catalog.chunks.landed(TABLE) == ()
        assert catalog.runs.get(RUN) is None

    def test_nothing_fills_it_with_nothing_and_it_is_still_empty(self, catalog: Catalog) -> None:
        catalog.fill(CatalogContents(), T0)
        catalog.fill(CONTENTS, T0)

        assert catalog.chunks.version(TABLE) == 3
