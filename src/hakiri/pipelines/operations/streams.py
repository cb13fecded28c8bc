"""The streams of a pipeline: tables, or partitions of them, each with chunks and a cursor of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.core.ids import ChunkId, PipelineId, RunId, TableName
from hakiri.pipelines.chunks.bounds import axis_of
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_name, stream_of
from hakiri.pipelines.operations.errors import BadCursor, NeverRead, NoSuchStream

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec

CHUNKS_A_PAGE = 1000


def all_chunks(
    catalog: Catalog,
    pipeline: PipelineId,
    *,
    status: ChunkStatus | None = None,
    after: ChunkId | None = None,
) -> Iterator[Chunk]:
    """Every chunk of a pipeline by id, of one status and behind one of them if given, a page at a time."""
    while page := catalog.chunks.page(pipeline, status=status, after=after, limit=CHUNKS_A_PAGE):
        yield from page
        after = page[-1].chunk


def chunks_brought(catalog: Catalog, run: RunId) -> list[Chunk]:
    """The chunks that a run has committed, also those that others have taken the place of since."""
    found = catalog.runs.get(run)
    if found is None:
        return []
    return [
        chunk
        for status in (ChunkStatus.DONE, ChunkStatus.SUPERSEDED)
        for chunk in all_chunks(catalog, found.pipeline, status=status)
        if chunk.run == run
    ]


def stream_of_chunk(chunk: Chunk) -> TableName:
    """The stream that a chunk is a piece of."""
    return TableName(stream_name(chunk.table, Piece.parse(chunk.predicate).partition))


def streams_of(catalog: Catalog, pipeline: PipelineId) -> tuple[TableName, ...]:
    """Every stream that has a cursor or a chunk, by name."""
    with_cursors = {cursor.table for cursor in catalog.cursors.all(pipeline)}
    return tuple(sorted(with_cursors | {stream_of_chunk(chunk) for chunk in all_chunks(catalog, pipeline)}))


def read_whole_at(catalog: Catalog, pipeline: PipelineId) -> dict[TableName, datetime]:
    """When each stream was last read that is read as a whole every time, as nothing tells what is new."""
    cursors = {cursor.table for cursor in catalog.cursors.all(pipeline) if json.loads(cursor.value)}
    latest: dict[TableName, tuple[bool, datetime]] = {}
    for chunk in all_chunks(catalog, pipeline, status=ChunkStatus.DONE):
        kind, stream = Piece.parse(chunk.predicate).kind, stream_of_chunk(chunk)
        if chunk.started_at is None or kind is PieceKind.SWEEP or stream in cursors:
            continue
        is_whole = kind in (PieceKind.FULL, PieceKind.SEGMENT)
        if stream not in latest or latest[stream][1] <= chunk.started_at:
            latest[stream] = (is_whole, chunk.started_at)
    return {stream: at for stream, (is_whole, at) in latest.items() if is_whole}


def store_tables(spec: PipelineSpec, name: str | None) -> tuple[TableName, ...]:
    """The names in the store of all tables, or of the one that goes by this name there or at the source."""
    return tuple(
        TableName(spec.store_name(table))
        for table in spec.tables
        if name in (None, table.name, spec.source_name(table), spec.store_name(table))
    )


def streams_named(catalog: Catalog, spec: PipelineSpec, name: str) -> tuple[TableName, ...]:
    """The stream of this name, or those of the table of this name.

    Raises NoSuchStream, and NeverRead for a table that no chunk was planned of.
    """
    known = streams_of(catalog, PipelineId(spec.id))
    if name in known:
        return (TableName(name),)
    tables = store_tables(spec, name)
    if not tables:
        raise NoSuchStream(spec.id, name, sorted({*known, *store_tables(spec, None)}))
    found = tuple(stream for stream in known if stream_of(stream)[0] in tables)
    if not found:
        raise NeverRead(spec.id, tables[0])
    return found


def field_of(chunks: Sequence[Chunk]) -> str | None:
    """The column by which the chunks were cut; None where none was cut by values."""
    windows = (Piece.parse(chunk.predicate).window for chunk in chunks)
    return next((window.field for window in windows if window is not None), None)


def check_cursor(stream: str, value: object, *, field: str | None, present: str | None) -> None:
    """Raise BadCursor unless a run could go on from the value: an object, with a value of the column in it.

    The present cursor tells what values of the column look like.
    """
    if not isinstance(value, dict) or not value:
        raise BadCursor(stream, "it is not a JSON object", present)
    if field is None:
        return
    if field not in value:
        raise BadCursor(stream, f"it has no `{field}`", present)
    before = _object(present).get(field)
    if not _is_bound(value[field]) or (before is not None and not _are_alike(value[field], before)):
        raise BadCursor(stream, f"`{field}` is `{json.dumps(value[field])}`", present)


def _object(text: str | None) -> Mapping[str, Any]:
    value = None if text is None else json.loads(text)
    return value if isinstance(value, dict) else {}


def _is_bound(value: object) -> bool:
    return type(value) in (int, str)


def _are_alike(value: Any, other: Any) -> bool:
    if type(value) is not type(other):
        return False
    axis, known = axis_of([value]), axis_of([other])
    return known is None or (axis is not None and axis.is_time == known.is_time)
