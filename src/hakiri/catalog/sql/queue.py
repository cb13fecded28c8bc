"""Work on chunks: claim, renew, commit, give back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkError, ChunkStatus
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.errors import LeaseLost, LeaseRequired
from hakiri.catalog.sql.cursors import write_cursor
from hakiri.catalog.sql.database import (
    Database,
    Row,
    Transaction,
    built,
    legible,
    listed,
    moment,
    moment_or_none,
    sure,
)
from hakiri.catalog.sql.lineage import add_edges
from hakiri.catalog.sql.pipelines import lock_pipeline, lock_pipeline_under
from hakiri.catalog.sql.rereads import reread_from
from hakiri.catalog.sql.schemas import take_step
from hakiri.catalog.sql.tables import lock_tables
from hakiri.core.ids import EPOCH, NodeId, PipelineId, RunId, TableName, fresh_nonce

Commit = tuple[ChunkAttempt, ChunkCommit]


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
                claimed_at=_claimed_at(state, now),
                until=now + ttl,
                parallelism=parallelism,
            )
            return built(_attempt, row)

        return self._database.write(work)

    def claim_some(
        self,
        pipeline: PipelineId,
        run: RunId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        limit: int,
        parallelism: int | None = None,
        under: Lease | None = None,
        tables: Collection[TableName] | None = None,
    ) -> tuple[ChunkAttempt, ...]:
        def work(tx: Transaction) -> tuple[ChunkAttempt, ...]:
            state = lock_pipeline_under(tx, pipeline, under, now)
            if not state["pending"] and not state["running"]:
                return ()
            chunks = _open_chunks(tx, pipeline, now, limit=limit, parallelism=parallelism, tables=tables)
            if not chunks:
                return ()
            numbers = tx.all("next_seqs", count=len(chunks))
            claims = (
                (chunk["chunk_id"], fresh_nonce(), number["seq"])
                for chunk, number in zip(chunks, numbers, strict=True)
            )
            rows = tx.all(
                "claim_chunks",
                pipeline=pipeline,
                run=run,
                node=node,
                now=now,
                claimed_at=_claimed_at(state, now),
                until=now + ttl,
                chunks=listed("chunk", claims),
                count=len(chunks),
            )
            return tuple(sorted(map(_attempt, rows), key=lambda attempt: attempt.chunk))

        return self._database.write(work)

    def renew(self, attempt: ChunkAttempt, now: datetime, ttl: timedelta) -> ChunkAttempt:
        def work(tx: Transaction) -> ChunkAttempt:
            lock_pipeline(tx, attempt.pipeline, now)
            renewed = _renew(tx, attempt.pipeline, (attempt,), now + ttl)
            if not renewed:
                raise _lost(tx, attempt)
            return renewed[attempt.nonce]

        return self._database.write(work)

    def renew_some(
        self, attempts: Sequence[ChunkAttempt], now: datetime, ttl: timedelta
    ) -> tuple[ChunkAttempt, ...]:
        by_pipeline: dict[PipelineId, list[ChunkAttempt]] = {}
        for attempt in attempts:
            by_pipeline.setdefault(attempt.pipeline, []).append(attempt)

        def work(tx: Transaction) -> tuple[ChunkAttempt, ...]:
            renewed: dict[str, ChunkAttempt] = {}
            for pipeline, some in sorted(by_pipeline.items()):
                lock_pipeline(tx, pipeline, now)
                renewed |= _renew(tx, pipeline, some, now + ttl)
            return tuple(renewed[attempt.nonce] for attempt in attempts if attempt.nonce in renewed)

        return self._database.write(work)

    def commit(
        self, attempt: ChunkAttempt, commit: ChunkCommit, now: datetime, under: Lease | None = None
    ) -> None:
        self.commit_some(((attempt, commit),), now, under)

    def commit_some(
        self,
        commits: Sequence[Commit],
        now: datetime,
        under: Lease | None = None,
    ) -> None:
        pipelines = {attempt.pipeline for attempt, _ in commits}
        if len(pipelines) > 1:
            raise ValueError(f"chunks of one pipeline are committed at once, not of {len(pipelines)}")

        def work(tx: Transaction) -> None:
            for pipeline in pipelines:
                try:
                    lock_pipeline_under(tx, pipeline, under, now)
                except (LeaseLost, LeaseRequired):
                    # Doing it again is no write, whoever has the lease by now.
                    if all(_has_won(tx, attempt) for attempt, _ in commits):
                        return
                    raise
                _write_all(tx, pipeline, _finish(tx, pipeline, commits, now), now)

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
                pipeline=attempt.pipeline,
                chunk=attempt.chunk,
                number=attempt.number,
                nonce=attempt.nonce,
            )

        self._database.write(work)

    def release_node(self, node: NodeId, now: datetime) -> tuple[RunId, ...]:
        left = self._database.all("open_runs_of_node", node=node)
        for pipeline in dict.fromkeys(PipelineId(row["pipeline_id"]) for row in left):
            self._database.write(partial(_release, pipeline, node, now))
        return tuple(RunId(row["run_id"]) for row in left)


def _release(pipeline: PipelineId, node: NodeId, now: datetime, tx: Transaction) -> None:
    lock_pipeline(tx, pipeline, now)
    tx.run("give_back_of_node", pipeline=pipeline, node=node)
    lease = tx.one("lease", pipeline=pipeline)
    if lease is not None and lease["holder_node"] == node:
        tx.one("extend_lease", pipeline=pipeline, until=EPOCH)


def _claimed_at(state: Row, now: datetime) -> datetime:
    """The time of a claim, which never goes back within a pipeline."""
    return max(now, moment_or_none(state["last_claim_at"]) or now)


def _open_chunks(
    tx: Transaction,
    pipeline: PipelineId,
    now: datetime,
    *,
    limit: int,
    parallelism: int | None,
    tables: Collection[TableName] | None,
) -> list[Row]:
    """The lowest chunks of one table that a claim may take."""
    if parallelism is not None:
        worked_on = sure(tx.one("worked_on", pipeline=pipeline, now=now))["chunks"]
        limit = min(limit, parallelism - worked_on)
    if limit < 1:
        return []
    if tables is None:
        first = tx.one("first_open_table", pipeline=pipeline, now=now)
    else:
        names = listed("table", ((table,) for table in tables))
        first = tx.one("first_open_table_of", pipeline=pipeline, now=now, tables=names)
    if first is None:
        return []
    return tx.all("open_chunks", pipeline=pipeline, table=first["table_name"], now=now, limit=limit)


def _renew(
    tx: Transaction, pipeline: PipelineId, attempts: Collection[ChunkAttempt], until: datetime
) -> dict[str, ChunkAttempt]:
    """Renew those of a pipeline that are still held, by their nonces."""
    rows = tx.all(
        "renew_chunks",
        pipeline=pipeline,
        until=until,
        chunks=listed("chunk", map(_key, attempts)),
        count=len(attempts),
    )
    return {row["nonce"]: _attempt(row) for row in rows}


def _finish(tx: Transaction, pipeline: PipelineId, commits: Sequence[Commit], now: datetime) -> list[Commit]:
    """Make the attempts winners, and return the commits of those that were not yet. Raises LeaseLost."""
    first: dict[str, Commit] = {}
    for attempt, commit in commits:
        first.setdefault(attempt.nonce, (attempt, commit))
    _lock_tables_of(tx, first.values())
    won = (
        (*_key(attempt), attempt.place, commit.cursor, commit.rows, commit.bytes, commit.manifest)
        for attempt, commit in first.values()
    )
    rows = tx.all("finish_chunks", pipeline=pipeline, now=now, chunks=listed("commit", won), count=len(first))
    finished = {row["nonce"] for row in rows}
    for attempt, _ in commits:
        if attempt.nonce not in finished and not _has_won(tx, attempt):
            raise _lost(tx, attempt)
    return [commit for nonce, commit in first.items() if nonce in finished]


def _lock_tables_of(tx: Transaction, commits: Collection[Commit]) -> None:
    """Lock several tables in the order in which everybody does; one alone cannot be locked crosswise."""
    tables = {attempt.table for attempt, _ in commits}
    tables |= {commit.schema.table for _, commit in commits if commit.schema is not None}
    if len(tables) > 1:
        lock_tables(tx, tables)


def _write_all(tx: Transaction, pipeline: PipelineId, finished: Iterable[Commit], now: datetime) -> None:
    """Write everything that comes with chunks that were finished just now."""
    edges: list[Edge] = []
    newest: dict[TableName, Cursor] = {}
    for attempt, commit in finished:
        stream = commit.stream or attempt.table
        if commit.cursor is not None and commit.moves_stream:
            cursor = _cursor(attempt, stream, commit.cursor, now)
            newest[stream] = max(newest.get(stream, cursor), cursor, key=lambda each: each.seq)
        if commit.schema is not None:
            take_step(tx, commit.schema, pipeline, now)
        edges += commit.edges
    for cursor in newest.values():
        write_cursor(tx, cursor)
    if edges:
        add_edges(tx, edges)


def _key(attempt: ChunkAttempt) -> tuple[object, ...]:
    return attempt.chunk, attempt.number, attempt.nonce


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


def _cursor(attempt: ChunkAttempt, stream: TableName, value: str, now: datetime) -> Cursor:
    return Cursor(
        pipeline=attempt.pipeline,
        table=stream,
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
        reread=reread_from(row["reread"]),
    )
