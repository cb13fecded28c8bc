"""What chunks that landed tell of a pipeline's plans, when nothing else is known of it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.chunks.errors import BadPiece
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_name
from hakiri.pipelines.chunks.resuming import is_whole
from hakiri.pipelines.chunks.streaming import pass_counter
from hakiri.pipelines.reached import history_plan
from hakiri.pipelines.runtime.plans import sweep_plan
from hakiri.store.manifests import AttemptManifest
from hakiri.store.rebuild.settling import PipelineFacts


def facts_of(pipeline: PipelineId, landed: Sequence[AttemptManifest]) -> PipelineFacts:
    """Which plans were made and worked off, how far passes were counted, and in which phase that leaves it.

    A history of which something is missing is not among the plans: whoever runs the pipeline next plans what
    is left of it.
    """
    tables: dict[TableName, list[tuple[AttemptManifest, Piece]]] = defaultdict(list)
    for one in landed:
        if (piece := _piece(one)) is not None:
            tables[one.table].append((one, piece))
    plans: list[str] = []
    counters: dict[str, int] = {}
    is_all_there = bool(tables)
    for table, some in sorted(tables.items()):
        for stream, pieces in _streams(table, [piece for _, piece in some]):
            if is_whole(pieces):
                plans.append(history_plan(stream))
            else:
                is_all_there = False
        plans += _sweeps(table, some)
        numbers = [piece.pass_number for _, piece in some if piece.pass_number is not None]
        if numbers:
            counters[pass_counter(pipeline, table)] = max(numbers)
    return PipelineFacts(
        phase=Phase.STREAMING if is_all_there else Phase.BACKFILLING, plans=tuple(plans), counters=counters
    )


def _piece(one: AttemptManifest) -> Piece | None:
    """What the attempt read; None if a later version has written it."""
    try:
        return Piece.parse(canonical_json(one.predicate))
    except BadPiece:
        return None


def _streams(table: TableName, pieces: Sequence[Piece]) -> Iterator[tuple[str, list[Piece]]]:
    """What was read of each stream. A pass is over all partitions at once."""
    streams: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.kind is not PieceKind.SWEEP:
            is_pass = piece.kind is PieceKind.FULL
            streams[stream_name(table, {} if is_pass else piece.partition)].append(piece)
    yield from sorted(streams.items())


def _sweeps(table: TableName, landed: Sequence[tuple[AttemptManifest, Piece]]) -> Iterator[str]:
    """The plans of the sweeps that landed: each names the first claim of what it came after."""
    claims = {one.seq: (one, piece) for one, piece in landed}
    for _, piece in landed:
        after = claims.get(piece.since_seq or 0) if piece.kind is PieceKind.SWEEP else None
        if after is not None:
            yield sweep_plan(table, after[1], after[0].chunk)
