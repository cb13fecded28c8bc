"""The rows of a catalog that is made of settled tables. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, Replacement
from hakiri.catalog.contract.contents import CatalogContents, KnownPipeline
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import Run, RunStatus
from hakiri.catalog.contract.snapshots import DoomedFile, Snapshot
from hakiri.core.canonical import canonical_json
from hakiri.core.cursors import UNDECLARED_KIND, CursorKind
from hakiri.core.ids import ChunkId, PipelineId, RunId, TableName, compaction_queue
from hakiri.store.layout import snapshot_name
from hakiri.store.manifests import FILE_NAME, AttemptManifest
from hakiri.store.rebuild.settling import PipelineFacts, Reading, SettledTable
from hakiri.store.rebuild.standing import attempt_files, files_beside, snapshot_files
from hakiri.store.snapshots import Place, SnapshotManifest


def contents_of(tables: Sequence[SettledTable], reading: Reading) -> CatalogContents:
    """All of it. The runs of attempts that lost are known too, so that their files can be collected."""
    by_pipeline: dict[PipelineId, list[AttemptManifest]] = defaultdict(list)
    sealed: dict[PipelineId, list[AttemptManifest]] = defaultdict(list)
    for table in tables:
        for one in table.landed:
            by_pipeline[one.pipeline].append(one)
        for one in table.tree.attempts:
            sealed[one.pipeline].append(one)
    landed = {one.seq for some in by_pipeline.values() for one in some}
    facts = {name: reading.facts_of(name, some) for name, some in by_pipeline.items()}
    compacted = [table for table in tables if table.chain]
    claims = [one.seq for table in tables for one in table.tree.attempts]
    claims += [each.frontier - 1 for table in tables for each in table.tree.snapshots]
    return CatalogContents(
        pipelines=(
            *(
                _pipeline(name, some, facts[name], max(one.chunk for one in sealed[name]))
                for name, some in sorted(by_pipeline.items())
            ),
            *(_queue(compaction_queue(table.name)) for table in compacted),
        ),
        runs=(
            *(run for name in by_pipeline for run in _runs(sealed[name], landed)),
            *(_compaction(each, compaction_queue(table.name)) for table in compacted for each in table.chain),
        ),
        chunks=tuple(chunk for table in tables for chunk in _chunks(table)),
        cursors=tuple(_cursors(one for table in tables for one in table.landed)),
        schemas=tuple(change for table in tables for change in table.versions),
        keys={table.name: table.key for table in tables},
        snapshots=tuple(_snapshot(each, table) for table in tables for each in table.chain),
        sidecars=tuple(
            found.sidecar
            for table in tables
            for each in table.chain
            for found in table.tree.sidecars.get(each.snapshot, ())
        ),
        edges=tuple(edge for table in tables for edge in _edges(table)),
        doomed=tuple(file for table in tables for file in _doomed(table, reading)),
        counters={name: last for each in facts.values() for name, last in each.counters.items()},
        claims=max(claims, default=0),
    )


def _pipeline(
    name: PipelineId, landed: Sequence[AttemptManifest], facts: PipelineFacts, highest: int
) -> KnownPipeline:
    kinds = [one.commit.cursor_kind for one in landed if one.commit is not None]
    return KnownPipeline(
        pipeline=name,
        kind=next((kind for kind in kinds if kind.needs_lease), kinds[0] if kinds else UNDECLARED_KIND),
        phase=facts.phase,
        last_chunk=ChunkId(highest),
        last_claim_at=max(one.ingested_at for one in landed),
        plans=facts.plans,
    )


def _queue(name: PipelineId) -> KnownPipeline:
    return KnownPipeline(
        pipeline=name,
        kind=CursorKind.MONOTONIC,
        phase=Phase.PLANNING,
        last_chunk=ChunkId(0),
        last_claim_at=None,
    )


def _runs(sealed: Iterable[AttemptManifest], landed: set[int]) -> Iterator[Run]:
    """The runs of a pipeline, each from its first claim to the last that it sealed."""
    by_run: dict[RunId, list[AttemptManifest]] = defaultdict(list)
    for one in sealed:
        by_run[one.run].append(one)
    for run, some in sorted(by_run.items()):
        won = [one for one in some if one.seq in landed]
        yield Run(
            run=run,
            pipeline=some[0].pipeline,
            node=some[0].node,
            status=RunStatus.SUCCESS if won else RunStatus.PARTIAL,
            started_at=min(one.ingested_at for one in some),
            ended_at=max(_sealed_at(one) for one in some),
            rows=sum(one.rows for one in won),
            bytes=sum(one.bytes for one in won),
        )


def _compaction(each: SnapshotManifest, queue: PipelineId) -> Run:
    return Run(
        run=each.run,
        pipeline=queue,
        node=each.node,
        status=RunStatus.SUCCESS,
        started_at=each.created_at,
        ended_at=each.created_at,
        rows=each.rows,
        bytes=each.bytes,
    )


def _chunks(table: SettledTable) -> Iterator[Chunk]:
    reasons = {
        (one.pipeline, one.chunk): one.commit.reread.reason
        for one in table.landed
        if one.commit is not None and one.commit.reread is not None
    }
    for one in table.landed:
        replaced = table.landing.replaced.get((one.pipeline, one.chunk))
        reason = None if replaced is None else reasons.get((one.pipeline, replaced.last))
        yield _chunk(one, replaced, reason)


def _chunk(one: AttemptManifest, replaced: Replacement | None, reason: str | None) -> Chunk:
    return Chunk(
        pipeline=one.pipeline,
        chunk=one.chunk,
        table=one.table,
        predicate=canonical_json(one.predicate),
        status=ChunkStatus.DONE if replaced is None else ChunkStatus.SUPERSEDED,
        attempts=one.attempt,
        run=one.run,
        holder=None,
        leased_until=None,
        seq=one.seq,
        started_at=one.ingested_at,
        completed_at=_sealed_at(one),
        winning_attempt=f"{one.node}/attempt-{one.attempt}",
        cursor_committed=None if one.commit is None else one.commit.cursor,
        rows=one.rows,
        bytes=one.bytes,
        manifest=one.text(),
        error_kind=None,
        error_message=None,
        superseded_by=None if replaced is None else replaced.last,
        reason=reason,
        successors=None if replaced is None else replaced.last - replaced.first + 1,
        reread=None if one.commit is None else one.commit.reread,
    )


def _cursors(landed: Iterable[AttemptManifest]) -> Iterator[Cursor]:
    """Of every stream that of the latest claim."""
    newest: dict[tuple[PipelineId, TableName], Cursor] = {}
    for one in sorted(landed, key=lambda each: each.seq):
        commit = one.commit
        if commit is not None and commit.cursor is not None and commit.moves_stream:
            newest[one.pipeline, commit.stream] = Cursor(
                pipeline=one.pipeline,
                table=commit.stream,
                value=commit.cursor,
                run=one.run,
                seq=one.seq,
                updated_at=commit.sealed_at,
            )
    yield from newest.values()


def _snapshot(each: SnapshotManifest, table: SettledTable) -> Snapshot:
    return Snapshot(
        snapshot=each.snapshot,
        table=each.table,
        created_at=each.created_at,
        includes_runs=_folded_runs(each, table),
        indexes=each.indexes,
        rows=each.rows,
        based_on=0,
        manifest=each.text(),
    )


def _folded_runs(each: SnapshotManifest, table: SettledTable) -> tuple[RunId, ...]:
    """The runs that a snapshot folded, by id; where it does not tell, all that it holds."""
    if each.includes_runs is not None:
        return each.includes_runs
    held = {one.run for one in table.landed if each.place_of(one.seq) is Place.SNAPSHOT}
    return tuple(sorted(held))


def _edges(table: SettledTable) -> Iterator[Edge]:
    for one in table.landed:
        reread = None if one.commit is None else one.commit.reread
        for run in () if reread is None else reread.runs:
            yield Edge(
                child=one.run,
                parent=run,
                kind=EdgeKind.REWIND,
                at=one.ingested_at,
                record=None if reread is None else reread.asked_at.isoformat(),
                reason=None if reread is None else reread.reason,
            )
    for each in table.chain:
        for run in _folded_runs(each, table):
            yield Edge(child=each.run, parent=run, kind=EdgeKind.COMPACTION, at=each.created_at)


def _doomed(table: SettledTable, reading: Reading) -> Iterator[DoomedFile]:
    """The files that are there, and that the snapshot in force has replaced."""
    if table.snapshot is None:
        return
    keep_until = reading.now + reading.keep(table.name)
    read = snapshot_files(table.snapshot).keys()
    beside = {one.seq for one in files_beside(table.landed, table.snapshot)}
    paths = [path for one in table.landed if one.seq not in beside for path in attempt_files(one)]
    sidecars: list[str] = []
    for each in table.chain[:-1]:
        paths += snapshot_files(each)
        paths.append(f"tables/{table.name}/data/{snapshot_name(each.snapshot)}/{FILE_NAME}")
        sidecars += [path for found in table.tree.sidecars.get(each.snapshot, ()) for path in found.files]
    there = [path for path in paths if path in table.tree.sizes or path.endswith(FILE_NAME)]
    for path in dict.fromkeys([*there, *sidecars]):
        if path not in read:
            yield DoomedFile(
                path=path, table=table.name, reason="folded into a snapshot", keep_until=keep_until
            )


def _sealed_at(one: AttemptManifest) -> datetime:
    return one.ingested_at if one.commit is None else one.commit.sealed_at
