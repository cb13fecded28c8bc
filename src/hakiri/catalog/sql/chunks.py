"""The plan of a pipeline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType

from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, ChunkTally, NewChunk, Replacement, Reread
from hakiri.catalog.contract.deciders import check_decider
from hakiri.catalog.sql.audit import add_entry
from hakiri.catalog.sql.database import Database, Row, Transaction, built, listed, moment_or_none
from hakiri.catalog.sql.pipelines import lock_pipeline
from hakiri.catalog.sql.rereads import reread_from, reread_text
from hakiri.catalog.sql.tables import bump_revision, lock_tables
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import ChunkId, PipelineId, RunId, TableName

MANY_CHUNKS = 1000
_PLANNED = ("pipeline_id", "chunk_id", "table_name", "predicate", "status", "supersedes", "reread")


class SqlChunks:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def plan(
        self,
        pipeline: PipelineId,
        plan: str,
        chunks: Iterable[NewChunk],
        now: datetime,
        *,
        also: Collection[str] = (),
    ) -> int:
        # The transaction may be tried again, and an iterator gives its chunks only once.
        planned = tuple(chunks)
        counts = {**dict.fromkeys(also, 0), plan: len(planned)}

        def work(tx: Transaction) -> int:
            first = ChunkId(lock_pipeline(tx, pipeline, now)["last_chunk"] + 1)
            if any(tx.one("plan", pipeline=pipeline, plan=name) is not None for name in counts):
                return 0
            for name, count in counts.items():
                tx.run("add_plan", pipeline=pipeline, plan=name, chunks=count, now=now)
            added = _add(tx, pipeline, first, planned) if planned else 0
            if added >= MANY_CHUNKS:
                tx.run("learn_chunks")
            return added

        return self._database.write(work)

    def is_planned(self, pipeline: PipelineId, plan: str) -> bool:
        return self._database.one("plan", pipeline=pipeline, plan=plan) is not None

    def reopen(self, pipeline: PipelineId, chunks: Sequence[ChunkId], now: datetime) -> int:
        return self._change("reopen_chunks", pipeline, chunks, now)

    def skip(self, pipeline: PipelineId, chunks: Sequence[ChunkId], now: datetime) -> int:
        return self._change("skip_chunks", pipeline, chunks, now)

    def supersede(
        self,
        pipeline: PipelineId,
        chunks: Sequence[ChunkId],
        reason: str,
        now: datetime,
        *,
        into: Sequence[NewChunk] | None = None,
        by: str | None = None,
    ) -> tuple[ChunkId, ...]:
        if into is not None and not into:
            raise ValueError("chunks are superseded by one chunk or more, not by none")
        if by is not None:
            check_decider(by)

        def work(tx: Transaction) -> tuple[ChunkId, ...]:
            first = ChunkId(lock_pipeline(tx, pipeline, now)["last_chunk"] + 1)
            done = tx.all("done_chunks", pipeline=pipeline, chunks=_listed(chunks))
            if not done:
                return ()
            tables = sorted({old["table_name"] for old in done})
            lock_tables(tx, tables)
            old_ids = [ChunkId(old["chunk_id"]) for old in done]
            why = partial(_reread, reason=reason, now=now)
            if into is None:
                planned = [
                    NewChunk(
                        table=old["table_name"], predicate=old["predicate"], reread=why([old], place, place)
                    )
                    for place, old in enumerate(done, first)
                ]
            else:
                last = first + len(into) - 1
                planned = [
                    replace(chunk, reread=why(done, first, last, is_last=place == last))
                    for place, chunk in enumerate(into, first)
                ]
            new_ids = tuple(ChunkId(first + position) for position in range(len(planned)))
            successors = [new_ids[-1]] * len(done) if into else new_ids
            # Of several that one supersedes, it knows the first.
            known = dict(zip(reversed(successors), reversed(old_ids), strict=True))
            _add(tx, pipeline, first, planned, known)
            tx.run(
                "supersede_chunks",
                pipeline=pipeline,
                chunks=listed("chunk", zip(old_ids, successors, strict=True)),
                count=len(done),
                reason=reason,
                successors=len(into) if into else 1,
            )
            for table in tables:
                bump_revision(tx, table)
            if by is not None:
                entry = NewEntry(
                    by=by,
                    action="rewind",
                    pipeline=pipeline,
                    table=tables[0] if len(tables) == 1 else None,
                    before=canonical_json(old_ids),
                    after=canonical_json(new_ids),
                    reason=reason,
                )
                add_entry(tx, entry, now)
            return new_ids

        return self._database.write(work)

    def get(self, pipeline: PipelineId, chunk: ChunkId) -> Chunk | None:
        row = self._database.one("chunk", pipeline=pipeline, chunk=chunk)
        return built(_chunk, row)

    def page(
        self,
        pipeline: PipelineId,
        *,
        status: ChunkStatus | None = None,
        after: ChunkId | None = None,
        limit: int = 1000,
    ) -> tuple[Chunk, ...]:
        name = "chunks" if status is None else "chunks_with_status"
        rows = self._database.all(name, pipeline=pipeline, status=status, after=after or 0, limit=limit)
        return tuple(_chunk(row) for row in rows)

    def recent(self, pipeline: PipelineId, *, limit: int = 50) -> tuple[Chunk, ...]:
        rows = self._database.all("recent_chunks", pipeline=pipeline, limit=limit)
        return tuple(_chunk(row) for row in rows)

    def landed(
        self, table: TableName, *, after: tuple[PipelineId, ChunkId] | None = None, limit: int = 1000
    ) -> tuple[Chunk, ...]:
        pipeline, chunk = after or ("", 0)
        rows = self._database.all("landed_chunks", table=table, pipeline=pipeline, chunk=chunk, limit=limit)
        return tuple(_chunk(row) for row in rows)

    def version(self, table: TableName) -> int:
        row = self._database.one("landed", table=table)
        return 0 if row is None else row["landed"]

    def tally(self, pipeline: PipelineId) -> ChunkTally:
        row = self._database.one("pipeline", pipeline=pipeline)
        if row is None:
            return ChunkTally()
        counts = {status.value: row[status.value] for status in ChunkStatus}
        return ChunkTally(**counts, rows=row["row_count"], bytes=row["bytes"])

    def _change(self, name: str, pipeline: PipelineId, chunks: Sequence[ChunkId], now: datetime) -> int:
        def work(tx: Transaction) -> int:
            lock_pipeline(tx, pipeline, now)
            return tx.run(name, pipeline=pipeline, chunks=_listed(chunks))

        return self._database.write(work)


def _reread(
    done: Sequence[Row], first: int, last: int, *, reason: str, now: datetime, is_last: bool = True
) -> Reread:
    """What a chunk knows that comes in the place of these."""
    return Reread(
        reason=reason,
        asked_at=now,
        runs=tuple(sorted({RunId(old["run_id"]) for old in done})),
        replacement=Replacement(
            first=ChunkId(first),
            last=ChunkId(last),
            old=tuple(ChunkId(old["chunk_id"]) for old in done) if is_last else (),
        ),
    )


def _add(
    tx: Transaction,
    pipeline: PipelineId,
    first: ChunkId,
    planned: Sequence[NewChunk],
    superseded: Mapping[ChunkId, ChunkId] = MappingProxyType({}),
) -> int:
    """Add pending chunks with ids from `first` on; those that supersede another know which."""
    rows = (
        (
            pipeline,
            chunk_id,
            chunk.table,
            chunk.predicate,
            ChunkStatus.PENDING,
            superseded.get(ChunkId(chunk_id)),
            reread_text(chunk.reread),
        )
        for chunk_id, chunk in enumerate(planned, first)
    )
    return tx.fill("pipeline_chunks", _PLANNED, rows)


def _listed(chunks: Iterable[ChunkId]) -> str:
    return listed("chunk", ((chunk,) for chunk in chunks))


def _chunk(row: Row) -> Chunk:
    return Chunk(
        pipeline=row["pipeline_id"],
        chunk=row["chunk_id"],
        table=row["table_name"],
        predicate=row["predicate"],
        status=ChunkStatus(row["status"]),
        attempts=row["attempts"],
        run=row["run_id"],
        holder=row["holder_node"],
        leased_until=moment_or_none(row["leased_until"]),
        seq=row["seq"],
        started_at=moment_or_none(row["started_at"]),
        completed_at=moment_or_none(row["completed_at"]),
        winning_attempt=row["winning_attempt"],
        cursor_committed=row["cursor_committed"],
        rows=row["row_count"],
        bytes=row["bytes"],
        manifest=row["manifest"],
        error_kind=row["error_kind"],
        error_message=row["error_msg"],
        superseded_by=row["superseded_by"],
        reason=row["reason"],
        successors=row["successors"],
        reread=reread_from(row["reread"]),
    )
