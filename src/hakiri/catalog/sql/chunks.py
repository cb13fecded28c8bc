"""The plan of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, ChunkTally, NewChunk
from hakiri.catalog.sql.database import Database, Row, Transaction, built, listed, moment_or_none
from hakiri.catalog.sql.pipelines import lock_pipeline
from hakiri.catalog.sql.tables import bump_revision
from hakiri.core.ids import ChunkId, PipelineId

_PLANNED = ("pipeline_id", "chunk_id", "table_name", "predicate", "status", "supersedes")


class SqlChunks:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def plan(self, pipeline: PipelineId, plan: str, chunks: Iterable[NewChunk], now: datetime) -> int:
        # The transaction may be tried again, and an iterator gives its chunks only once.
        planned = tuple(chunks)

        def work(tx: Transaction) -> int:
            first = lock_pipeline(tx, pipeline, now)["last_chunk"] + 1
            if tx.one("plan", pipeline=pipeline, plan=plan) is not None:
                return 0
            tx.run("add_plan", pipeline=pipeline, plan=plan, chunks=len(planned), now=now)
            rows = (
                (pipeline, chunk_id, chunk.table, chunk.predicate, ChunkStatus.PENDING, None)
                for chunk_id, chunk in enumerate(planned, first)
            )
            return tx.fill("pipeline_chunks", _PLANNED, rows) if planned else 0

        return self._database.write(work)

    def reopen(self, pipeline: PipelineId, chunks: Sequence[ChunkId], now: datetime) -> int:
        return self._change("reopen_chunks", pipeline, chunks, now)

    def skip(self, pipeline: PipelineId, chunks: Sequence[ChunkId], now: datetime) -> int:
        return self._change("skip_chunks", pipeline, chunks, now)

    def supersede(
        self, pipeline: PipelineId, chunks: Sequence[ChunkId], reason: str, now: datetime
    ) -> tuple[ChunkId, ...]:
        def work(tx: Transaction) -> tuple[ChunkId, ...]:
            first = lock_pipeline(tx, pipeline, now)["last_chunk"] + 1
            done = tx.all("done_chunks", pipeline=pipeline, chunks=_listed(chunks))
            if not done:
                return ()
            rows = (
                (
                    pipeline,
                    chunk_id,
                    old["table_name"],
                    old["predicate"],
                    ChunkStatus.PENDING,
                    old["chunk_id"],
                )
                for chunk_id, old in enumerate(done, first)
            )
            tx.fill("pipeline_chunks", _PLANNED, rows)
            old_ids = _listed(old["chunk_id"] for old in done)
            tx.run("supersede_chunks", pipeline=pipeline, chunks=old_ids, reason=reason)
            for table in sorted({old["table_name"] for old in done}):
                bump_revision(tx, table)
            return tuple(ChunkId(first + position) for position in range(len(done)))

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
    )
