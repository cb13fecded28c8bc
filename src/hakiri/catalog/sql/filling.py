"""Filling an empty catalog with what the files of a store tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.catalog.contract.contents import CatalogContents, KnownPipeline
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.contract.snapshots import Sidecar, Snapshot
from hakiri.catalog.errors import CatalogNotEmpty
from hakiri.catalog.sql.counters import count_on, counter_name
from hakiri.catalog.sql.cursors import write_cursor
from hakiri.catalog.sql.database import Database, Transaction, sure
from hakiri.catalog.sql.lineage import add_edges
from hakiri.catalog.sql.rereads import reread_text
from hakiri.catalog.sql.runs import add_run
from hakiri.catalog.sql.schemas import take_step
from hakiri.catalog.sql.snapshots import add_snapshot, doom_files
from hakiri.catalog.sql.tables import bump_revision, lock_tables
from hakiri.core.ids import ChunkId, PipelineId, TableName

_CHUNKS = (
    "pipeline_id",
    "chunk_id",
    "table_name",
    "predicate",
    "status",
    "attempts",
    "run_id",
    "seq",
    "started_at",
    "claimed_at",
    "completed_at",
    "winning_attempt",
    "cursor_committed",
    "row_count",
    "bytes",
    "manifest",
    "supersedes",
    "superseded_by",
    "reason",
    "successors",
    "reread",
)
_PIPELINES = (
    "pipeline_id",
    "cursor_kind",
    "phase",
    "last_chunk",
    "last_claim_at",
    "done",
    "superseded",
    "row_count",
    "bytes",
    "updated_at",
)
_PLANS = ("pipeline_id", "plan", "chunks", "planned_at")


def fill_catalog(database: Database, contents: CatalogContents, now: datetime) -> None:
    """Fill it in one step. Raises CatalogNotEmpty, and then nothing has changed."""

    def work(tx: Transaction) -> None:
        if (used := sure(tx.one("first_use"))["what"]) is not None:
            raise CatalogNotEmpty(database.location, used)
        if contents.claims:
            tx.one("count_claims", claims=contents.claims)
        for name, last in sorted(contents.counters.items()):
            count_on(tx, counter_name(name), last)
        _fill_tables(tx, contents)
        _fill_chunks(tx, contents.chunks)
        # After their chunks: the store counts for pipelines that are there when a chunk comes.
        _fill_pipelines(tx, contents, now)
        for run in contents.runs:
            add_run(tx, run)
        for cursor in contents.cursors:
            write_cursor(tx, cursor)
        add_edges(tx, contents.edges)
        doom_files(tx, contents.doomed, now)

    database.write(work)


def _fill_tables(tx: Transaction, contents: CatalogContents) -> None:
    for change in sorted(contents.schemas, key=lambda each: (each.table, each.version)):
        step = SchemaStep(
            table=change.table,
            based_on=change.version - 1,
            change_kind=change.change_kind,
            after=change.after,
            primary_key=contents.keys.get(change.table, ()),
            decided_by=change.decided_by,
        )
        take_step(tx, step, change.pipeline, change.at)
    sidecars: dict[str, list[Sidecar]] = defaultdict(list)
    for sidecar in contents.sidecars:
        sidecars[sidecar.snapshot].append(sidecar)
    for snapshot in contents.snapshots:
        _fill_snapshot(tx, snapshot, sidecars[snapshot.snapshot])
    landed: Counter[TableName] = Counter()
    for chunk in contents.chunks:
        landed[chunk.table] += 2 if chunk.status is ChunkStatus.SUPERSEDED else 1
    lock_tables(tx, landed)
    for table, count in landed.items():
        tx.run("set_landed", table=table, landed=count)


def _fill_snapshot(tx: Transaction, snapshot: Snapshot, sidecars: Iterable[Sidecar]) -> None:
    for sidecar in sidecars:
        tx.run(
            "note_sidecar",
            snapshot=sidecar.snapshot,
            index=sidecar.index,
            manifest_hash=sidecar.manifest_hash,
            bytes=sidecar.bytes,
            now=snapshot.created_at,
        )
    revision = bump_revision(tx, snapshot.table)
    add_snapshot(tx, replace(snapshot, based_on=revision - 1), revision, snapshot.created_at)


def _fill_chunks(tx: Transaction, chunks: tuple[Chunk, ...]) -> None:
    first_old: dict[tuple[PipelineId, ChunkId], ChunkId] = {}
    for chunk in chunks:
        if chunk.superseded_by is not None:
            place = (chunk.pipeline, chunk.superseded_by)
            first_old[place] = min(first_old.get(place, chunk.chunk), chunk.chunk)
    tx.fill(
        "pipeline_chunks",
        _CHUNKS,
        (
            (
                chunk.pipeline,
                chunk.chunk,
                chunk.table,
                chunk.predicate,
                chunk.status,
                chunk.attempts,
                chunk.run,
                chunk.seq,
                chunk.started_at,
                chunk.started_at,
                chunk.completed_at,
                chunk.winning_attempt,
                chunk.cursor_committed,
                chunk.rows,
                chunk.bytes,
                chunk.manifest,
                first_old.get((chunk.pipeline, chunk.chunk)),
                chunk.superseded_by,
                chunk.reason,
                chunk.successors,
                reread_text(chunk.reread),
            )
            for chunk in chunks
        ),
    )


def _fill_pipelines(tx: Transaction, contents: CatalogContents, now: datetime) -> None:
    chunks: dict[PipelineId, list[Chunk]] = defaultdict(list)
    for chunk in contents.chunks:
        chunks[chunk.pipeline].append(chunk)
    tx.fill(
        "pipeline_state",
        _PIPELINES,
        (_pipeline_row(known, chunks[known.pipeline], now) for known in contents.pipelines),
    )
    plans = ((known.pipeline, plan, 0, now) for known in contents.pipelines for plan in known.plans)
    tx.fill("pipeline_plan", _PLANS, plans)


def _pipeline_row(known: KnownPipeline, chunks: list[Chunk], now: datetime) -> tuple[object, ...]:
    done = [chunk for chunk in chunks if chunk.status is ChunkStatus.DONE]
    return (
        known.pipeline,
        known.kind,
        known.phase,
        known.last_chunk,
        known.last_claim_at,
        len(done),
        len(chunks) - len(done),
        sum(chunk.rows or 0 for chunk in done),
        sum(chunk.bytes or 0 for chunk in done),
        now,
    )
