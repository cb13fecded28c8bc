"""Work on chunks: claim, renew, commit, give back."""

from __future__ import annotations

from datetime import datetime, timedelta

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkError, ChunkStatus
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.errors import LeaseLost, LeaseRequired
from hakiri.catalog.sql.cursors import write_cursor
from hakiri.catalog.sql.database import (
    Database,
    Row,
    Transaction,
    built,
    legible,
    moment,
    moment_or_none,
)
from hakiri.catalog.sql.lineage import add_edges
from hakiri.catalog.sql.pipelines import lock_pipeline, lock_pipeline_under
from hakiri.catalog.sql.schemas import take_step
from hakiri.core.ids import NodeId, PipelineId, RunId, fresh_nonce


class SqlChunkQueue:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(
        self,
        pipeline: PipelineId,
        run: RunId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        parallelism: int | None = None,
        under: Lease | None = None,
    ) -> ChunkAttempt | None:
        nonce = fresh_nonce()

        def work(tx: Transaction) -> ChunkAttempt | None:
            state = lock_pipeline_under(tx, pipeline, under, now)
            if not state["pending"] and not state["running"]:
                return None
            row = tx.one(
                "claim_chunk",
                pipeline=pipeline,
                run=run,
                node=node,
                nonce=nonce,
                now=now,
                claimed_at=max(now, moment_or_none(state["last_claim_at"]) or now),
                until=now + ttl,
                parallelism=parallelism,
            )
            return built(_attempt, row)

        return self._database.write(work)

    def renew(self, attempt: ChunkAttempt, now: datetime, ttl: timedelta) -> ChunkAttempt:
        def work(tx: Transaction) -> ChunkAttempt:
            lock_pipeline(tx, attempt.pipeline, now)
            if tx.one("renew_chunk", until=now + ttl, **_identity(attempt)) is None:
                raise _lost(tx, attempt)
            return _attempt(_chunk_row(tx, attempt))

        return self._database.write(work)

    def commit(
        self, attempt: ChunkAttempt, commit: ChunkCommit, now: datetime, under: Lease | None = None
    ) -> None:
        def work(tx: Transaction) -> None:
            try:
                lock_pipeline_under(tx, attempt.pipeline, under, now)
            except (LeaseLost, LeaseRequired):
                # Doing it again is no write, whoever has the lease by now.
                if _has_won(tx, attempt):
                    return
                raise
            is_first = tx.run(
                "finish_chunk",
                winner=attempt.place,
                now=now,
                cursor=commit.cursor,
                rows=commit.rows,
                bytes=commit.bytes,
                manifest=commit.manifest,
                **_identity(attempt),
            )
            if not is_first:
                if _has_won(tx, attempt):
                    return
                raise _lost(tx, attempt)
            if commit.cursor is not None:
                write_cursor(tx, _cursor(attempt, commit.cursor, now))
            if commit.schema is not None:
                take_step(tx, commit.schema, attempt.pipeline, now)
            if commit.edges:
                add_edges(tx, commit.edges)

        self._database.write(work)

    def give_back(
        self, attempt: ChunkAttempt, now: datetime, error: ChunkError | None = None, *, retry: bool = True
    ) -> None:
        def work(tx: Transaction) -> None:
            lock_pipeline(tx, attempt.pipeline, now)
            tx.run(
                "give_chunk_back",
                status=ChunkStatus.PENDING if retry else ChunkStatus.FAILED,
                error_kind=error and legible(error.kind),
                error_message=error and legible(error.message),
                **_identity(attempt),
            )

        self._database.write(work)


def _identity(attempt: ChunkAttempt) -> dict[str, object]:
    return {
        "pipeline": attempt.pipeline,
        "chunk": attempt.chunk,
        "number": attempt.number,
        "nonce": attempt.nonce,
    }


def _chunk_row(tx: Transaction, attempt: ChunkAttempt) -> Row:
    row = tx.one("chunk", pipeline=attempt.pipeline, chunk=attempt.chunk)
    if row is None:
        raise LeaseLost(_name(attempt), attempt.number, "there is no such chunk")
    return row


def _has_won(tx: Transaction, attempt: ChunkAttempt) -> bool:
    row = _chunk_row(tx, attempt)
    return row["winning_attempt"] is not None and row["nonce"] == attempt.nonce


def _lost(tx: Transaction, attempt: ChunkAttempt) -> LeaseLost:
    row = _chunk_row(tx, attempt)
    if row["winning_attempt"] is not None:
        why = f"`{row['winning_attempt']}` has committed it"
    elif row["status"] == ChunkStatus.RUNNING:
        why = f"`{row['holder_node']}` works on attempt {row['attempts']}"
    else:
        why = f"the chunk is {row['status']}"
    return LeaseLost(_name(attempt), attempt.number, why)


def _cursor(attempt: ChunkAttempt, value: str, now: datetime) -> Cursor:
    return Cursor(
        pipeline=attempt.pipeline,
        table=attempt.table,
        value=value,
        run=attempt.run,
        seq=attempt.seq,
        updated_at=now,
    )


def _name(attempt: ChunkAttempt) -> str:
    return f"chunk {attempt.chunk} of pipeline `{attempt.pipeline}`"


def _attempt(row: Row) -> ChunkAttempt:
    return ChunkAttempt(
        pipeline=row["pipeline_id"],
        chunk=row["chunk_id"],
        table=row["table_name"],
        predicate=row["predicate"],
        run=row["run_id"],
        node=row["holder_node"],
        number=row["attempts"],
        nonce=row["nonce"],
        seq=row["seq"],
        claimed_at=moment(row["claimed_at"]),
        leased_until=moment(row["leased_until"]),
    )
