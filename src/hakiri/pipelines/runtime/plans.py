"""Which chunks there are: the history of a table when it is new, and what is new at every tick."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from typing import Any

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, NewChunk, Reread
from hakiri.core.canonical import sha256_of
from hakiri.core.ids import ChunkId, PipelineId, TableName
from hakiri.pipelines.chunks.bounds import just_above
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_name
from hakiri.pipelines.chunks.planning import plan_earlier, plan_table
from hakiri.pipelines.chunks.resuming import what_is_left
from hakiri.pipelines.chunks.streaming import next_tail, open_edge, pass_counter, sweep_after
from hakiri.pipelines.errors import OtherCursor
from hakiri.pipelines.events import ChunksPlanned
from hakiri.pipelines.reached import history_plan, late_beginnings
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.tables import TableWork
from hakiri.sources.contract import Connector, Extent, Window
from hakiri.store.manifests import AttemptManifest

_PAGE = 1000


def plan_history(ground: Ground, pipeline: PipelineId, work: TableWork, connector: Connector) -> int:
    """Plan the history of every stream of the table that has none yet; how many chunks were added.

    Nothing is fetched but what the source can say about itself. A stream is planned once, whoever asks.
    Streams take turns, so that neighbours in the queue are of different ones.
    """
    streams = {
        history_plan(stream_name(work.store, {} if work.is_pass else partitions[0])): partitions
        for partitions in ([work.partitions] if work.is_pass else [(one,) for one in work.partitions])
    }
    planned = 0
    # Once more when another worker has planned some of them meanwhile, and so none of them could be here.
    while new := [name for name in streams if not ground.catalog.chunks.is_planned(pipeline, name)]:
        facts, now = _facts(work, connector), ground.clock.now()
        read = _read_before(ground, pipeline, work.store)
        parts = [
            what_is_left(
                plan_table(replace(facts, partitions=streams[name]), work.knobs, now),
                [piece for piece in read if work.is_pass or piece.partition in streams[name]],
            )
            for name in new
        ]
        turns = zip_longest(*(_numbered(ground, pipeline, work, pieces) for pieces in parts))
        pieces = tuple(piece for turn in turns for piece in turn if piece is not None)
        planned += _plan(ground, pipeline, work.store, new[0], pieces, also=new[1:])
    return planned + _plan_earlier(ground, pipeline, work, connector)


def _read_before(ground: Ground, pipeline: PipelineId, table: TableName) -> list[Piece]:
    """What has landed of a table whose plan is not known: that of a catalog that was made anew."""
    if not ground.catalog.chunks.tally(pipeline).done:
        return []
    chunks = _all_chunks(ground, pipeline, table)
    return [Piece.parse(chunk.predicate) for chunk in chunks if chunk.winning_attempt is not None]


def _plan_earlier(ground: Ground, pipeline: PipelineId, work: TableWork, connector: Connector) -> int:
    """Plan what a later `start_from` left out when the history was planned; how many chunks were added."""
    if work.is_pass or work.cursor is None or not work.kind.is_cut:
        return 0
    start_from = work.knobs.start_from.value
    late = late_beginnings(
        ground.catalog,
        pipeline,
        work.store,
        field=work.cursor,
        partitions=work.partitions,
        start_from=start_from,
    )
    planned = 0
    for partition in work.partitions:
        stream = stream_name(work.store, partition)
        if (begins := late.get(stream)) is not None:
            facts = replace(_facts(work, connector), partitions=(partition,))
            pieces = plan_earlier(facts, work.knobs, ground.clock.now(), begins=begins)
            planned += _plan(ground, pipeline, work.store, f"{history_plan(stream)} before {begins}", pieces)
    return planned


def plan_tick(ground: Ground, pipeline: PipelineId, tick: str, work: TableWork, connector: Connector) -> int:
    """Plan what is new since the last time, for every stream of the table; how many chunks were added.

    The occasion is what was read last: of two workers that come to it at once, one plans it, so that a table
    without a key does not get the same rows from both. Where nothing was, it is the `tick`.
    """
    if work.is_pass:
        facts = _facts(work, connector)
        passes = _numbered(ground, pipeline, work, plan_table(facts, work.knobs, ground.clock.now()))
        return _plan(ground, pipeline, work.store, f"{work.store} at {tick}", passes)
    planned = 0
    claims = _latest_claims(ground, pipeline, work.store)
    for partition in work.partitions:
        piece = _next(ground, pipeline, work, partition)
        stream = stream_name(work.store, partition)
        after = f"after claim {claims[stream]}" if stream in claims else f"at {tick}"
        # A cursor that was moved by hand makes another piece of the same occasion.
        name = f"{stream} {after}: {sha256_of(piece.text())[-12:]}"
        planned += _plan(ground, pipeline, work.store, name, (piece,))
    return planned


def plan_what_is_missing(ground: Ground, pipeline: PipelineId, work: TableWork) -> int:
    """Plan what a crash kept somebody from planning: the next segment, and the sweep after a pass."""
    planned = 0
    for partition in work.partitions:
        last = last_chunk(ground, pipeline, work.store, partition)
        if last is None or last.manifest is None or last.status is not ChunkStatus.DONE:
            continue
        manifest = AttemptManifest.parse(last.manifest)
        piece = Piece.parse(last.predicate)
        if not manifest.ends_pass and piece.is_read_in_order and last.cursor_committed is not None:
            after = replace(piece, after=json.loads(last.cursor_committed))
            name = f"after-{last.chunk}"
            planned += _plan(ground, pipeline, work.store, name, (after,), reread=last.reread)
    return planned + plan_sweeps(ground, pipeline, work)


def plan_sweeps(ground: Ground, pipeline: PipelineId, work: TableWork) -> int:
    """Plan the search for deletes after every re-read that is done and was not looked through yet."""
    if work.spec.deletes != "missing" or not work.primary_key:
        return 0
    reads: dict[str, list[tuple[Piece, Chunk]]] = {}
    for chunk in ground.catalog.chunks.recent(pipeline, limit=_PAGE):
        if chunk.table != work.store or chunk.manifest is None or chunk.seq is None:
            continue
        piece = Piece.parse(chunk.predicate)
        if AttemptManifest.parse(chunk.manifest).unchanged:
            continue
        if piece.kind is PieceKind.FULL or (
            piece.kind is PieceKind.TAIL and work.spec.lag is not None and piece.after is not None
        ):
            reads.setdefault(sweep_plan(work.store, piece, chunk.chunk), []).append((piece, chunk))
    planned = 0
    for name, done in reads.items():
        piece = done[0][0]
        if piece.pass_size is not None and len(done) < piece.pass_size:
            continue
        window = _reread_window(piece, work)
        if window is None and piece.kind is PieceKind.TAIL:
            continue
        since_seq = min(chunk.seq or 0 for _, chunk in done)
        whole = replace(piece, window=window, partition={} if piece.pass_size else piece.partition)
        sweep = sweep_after(whole, since_seq)
        planned += _plan(ground, pipeline, work.store, name, (sweep,))
    return planned


def sweep_plan(table: str, piece: Piece, chunk: ChunkId) -> str:
    """The name of the plan of a sweep after a pass, or after a chunk that read behind a lag."""
    is_pass = piece.kind is PieceKind.FULL
    return f"sweep of {table} after " + (f"pass {piece.pass_number}" if is_pass else f"chunk {chunk}")


def ends_read_at(ground: Ground, pipeline: PipelineId, works: Sequence[TableWork]) -> datetime | None:
    """When the stream that is furthest behind was last read to its end; None if none has such an end."""
    latest: dict[str, datetime] = {}
    for chunk in ground.catalog.chunks.recent(pipeline, limit=_PAGE):
        piece = Piece.parse(chunk.predicate)
        if (piece.is_open or piece.kind is PieceKind.FULL) and chunk.started_at is not None:
            latest.setdefault(stream_name(chunk.table, piece.partition), chunk.started_at)
    wanted = {stream_name(work.store, partition) for work in works for partition in work.partitions}
    return min((at for stream, at in latest.items() if stream in wanted), default=None)


def last_chunk(
    ground: Ground, pipeline: PipelineId, table: TableName, partition: Mapping[str, str]
) -> Chunk | None:
    """The chunk of a stream that was completed last, among the latest ones of the pipeline."""
    for chunk in ground.catalog.chunks.recent(pipeline, limit=_PAGE):
        if chunk.table == table:
            piece = Piece.parse(chunk.predicate)
            if piece.partition == dict(partition) and piece.kind is not PieceKind.SWEEP:
                return chunk
    return None


def _latest_claims(ground: Ground, pipeline: PipelineId, table: TableName) -> dict[str, int]:
    """By stream, the number of the claim whose chunk was completed last, among the latest of the pipeline."""
    claims: dict[str, int] = {}
    for chunk in ground.catalog.chunks.recent(pipeline, limit=_PAGE):
        if chunk.table == table and chunk.seq is not None:
            claims.setdefault(stream_name(table, Piece.parse(chunk.predicate).partition), chunk.seq)
    return claims


def _reread_window(piece: Piece, work: TableWork) -> Window | None:
    """What a read behind a lag has brought for certain: all above the place that it began after."""
    if piece.kind is not PieceKind.TAIL or work.cursor is None or piece.after is None:
        return None
    since = just_above(piece.after[work.cursor])
    return None if since is None else Window(field=work.cursor, since=since)


def _next(ground: Ground, pipeline: PipelineId, work: TableWork, partition: Mapping[str, str]) -> Piece:
    stream = TableName(stream_name(work.store, partition))
    kept = ground.catalog.cursors.get(pipeline, stream)
    cursor = json.loads(kept.value) if kept is not None else None
    if work.cursor is not None and work.kind.is_cut:
        if cursor and work.cursor not in cursor and not work.primary_key:
            raise OtherCursor(work.store, next(iter(cursor)), work.cursor)
        edge = None
        if kept is None:
            chunks = _all_chunks(ground, pipeline, work.store)
            edge = open_edge((Piece.parse(chunk.predicate) for chunk in chunks), partition)
        # A cursor that somebody has reset is there, and says: from the start.
        return next_tail(cursor or None, edge, work.spec.lag, work.cursor, partition=partition)
    if not cursor:
        # The source came to its end without a place to go on from: from the start again.
        number = ground.catalog.number(pass_counter(pipeline, work.store))
        return Piece(kind=PieceKind.SEGMENT, partition=dict(partition), pass_number=number)
    last = last_chunk(ground, pipeline, work.store, partition)
    tail = next_tail(cursor, None, None, None, partition=partition)
    return replace(tail, pass_number=Piece.parse(last.predicate).pass_number if last is not None else None)


def _all_chunks(ground: Ground, pipeline: PipelineId, table: TableName) -> list[Chunk]:
    found: list[Chunk] = []
    after = None
    while page := ground.catalog.chunks.page(pipeline, after=after, limit=_PAGE):
        found += [chunk for chunk in page if chunk.table == table]
        after = page[-1].chunk
    return found


def _facts(work: TableWork, connector: Connector) -> Any:
    field = work.cursor or work.hint.cursor_field
    extent = connector.extent(work.table.name, field) if field is not None and work.kind.is_cut else Extent()
    return work.facts(extent)


def _numbered(
    ground: Ground, pipeline: PipelineId, work: TableWork, pieces: tuple[Piece, ...]
) -> tuple[Piece, ...]:
    """Passes have numbers that grow, so that a reader knows which is the latest."""
    if not any(piece.kind in (PieceKind.FULL, PieceKind.SEGMENT) for piece in pieces):
        return pieces
    number = ground.catalog.number(pass_counter(pipeline, work.store))
    return tuple(replace(piece, pass_number=number) for piece in pieces)


def _plan(
    ground: Ground,
    pipeline: PipelineId,
    table: TableName,
    name: str,
    pieces: tuple[Piece, ...],
    *,
    also: Sequence[str] = (),
    reread: Reread | None = None,
) -> int:
    chunks = [NewChunk(table=table, predicate=piece.text(), reread=reread) for piece in pieces]
    added = ground.catalog.chunks.plan(pipeline, name, chunks, ground.clock.now(), also=also)
    if added:
        ground.listen(ChunksPlanned(pipeline=pipeline, table=table, count=added))
    return added
