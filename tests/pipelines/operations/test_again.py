"""Whatever happened to a stream, after a reset every row of it comes once, and nothing is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.pipelines.operations.scenes import tail, window

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import ChunkId, PipelineId, TableName
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.operations.again import chunks_again, stream_again

TABLE = TableName("events")
STATUSES = st.sampled_from(
    [ChunkStatus.DONE, ChunkStatus.SKIPPED, ChunkStatus.PENDING, ChunkStatus.FAILED, ChunkStatus.SUPERSEDED]
)
EDGES = (100, 200, 300)
ROWS = range(0, 500, 25)


def chunk(number: int, piece: Piece, status: ChunkStatus, cursor: int | None = None) -> Chunk:
    return Chunk(
        pipeline=PipelineId("events"),
        chunk=ChunkId(number),
        table=TABLE,
        predicate=piece.text(),
        status=status,
        attempts=1,
        run=None,
        holder=None,
        leased_until=None,
        seq=None,
        started_at=None,
        completed_at=None,
        winning_attempt=None,
        cursor_committed=None if cursor is None else canonical_json({"id": cursor}),
        rows=None,
        bytes=None,
        manifest=None,
        error_kind=None,
        error_message=None,
        superseded_by=None,
    )


@st.composite
def streams(draw: st.DrawFn) -> list[Chunk]:
    """A history in which everything may have been left out or replaced, and tails after it."""
    chunks: list[Chunk] = []
    bounds = [(None, EDGES[0]), *pairwise(EDGES)]
    for since, until in bounds:
        status = draw(STATUSES)
        chunks.append(chunk(len(chunks) + 1, window(since, until), status))
        if status is ChunkStatus.SUPERSEDED:
            chunks.append(chunk(len(chunks) + 1, window(since, until), ChunkStatus.DONE))
    opened = draw(st.sampled_from([ChunkStatus.DONE, ChunkStatus.SKIPPED, ChunkStatus.PENDING]))
    chunks.append(chunk(len(chunks) + 1, window(EDGES[-1]), opened, cursor=350))
    reached = 350
    if opened is not ChunkStatus.PENDING:
        for _ in range(draw(st.integers(0, 2))):
            chunks.append(
                chunk(len(chunks) + 1, tail({"id": reached}), ChunkStatus.DONE, cursor=reached + 50)
            )
            reached += 50
        if draw(st.booleans()):
            waiting = draw(st.sampled_from([ChunkStatus.PENDING, ChunkStatus.FAILED]))
            chunks.append(chunk(len(chunks) + 1, tail({"id": reached}), waiting))
    return chunks


def reads(piece: Piece, row: int) -> bool:
    if piece.window is None:
        return piece.after is not None and row > piece.after["id"]
    since, until = piece.window.since, piece.window.until
    return (since is None or row >= since) and (until is None or row < until)


def read_afterwards(chunks: Sequence[Chunk]) -> Counter[int]:
    """How often each row is there once all that is pending was read, if nothing more was ever planned."""
    plan = stream_again(chunks, table=TABLE)
    given_way = {*plan.copied, *(old for each in plan.replaced for old in each)}
    pieces = [piece for new in plan.replaced.values() for piece in new]
    for each in chunks:
        is_kept = each.status is ChunkStatus.DONE and each.chunk not in given_way
        is_waiting = each.status in (ChunkStatus.PENDING, ChunkStatus.FAILED)
        is_waiting = is_waiting and each.chunk not in plan.set_aside
        if is_kept or is_waiting or each.chunk in {*plan.copied, *plan.reopened}:
            pieces.append(Piece.parse(each.predicate))
    return Counter(row for row in ROWS for piece in pieces if reads(piece, row))


@given(streams())
def test_after_a_reset_every_row_is_there_once(chunks: list[Chunk]) -> None:
    assert read_afterwards(chunks) == Counter(ROWS)


@given(streams())
def test_only_what_is_done_gives_way_and_only_what_waits_is_set_aside(chunks: list[Chunk]) -> None:
    status = {each.chunk: each.status for each in chunks}

    plan = stream_again(chunks, table=TABLE)

    old = {*plan.copied, *(chunk for each in plan.replaced for chunk in each)}
    assert {status[each] for each in old} <= {ChunkStatus.DONE}
    assert {status[each] for each in plan.reopened} <= {ChunkStatus.SKIPPED}
    assert {status[each] for each in plan.set_aside} <= {ChunkStatus.PENDING, ChunkStatus.FAILED}


@st.composite
def restored(draw: st.DrawFn) -> tuple[list[Chunk], set[ChunkId]]:
    """A stream, and the chunks whose rows it lost: some windows, and some tails that follow each other."""
    chunks = draw(streams())
    done = [each for each in chunks if each.status is ChunkStatus.DONE]
    growing = [each.chunk for each in done if Piece.parse(each.predicate).is_open]
    closed = [each.chunk for each in done if each.chunk not in growing]
    lost = draw(st.sets(st.sampled_from(closed))) if closed else set()
    ends = sorted(draw(st.tuples(st.integers(0, 3), st.integers(0, 3))))
    return chunks, {*lost, *growing[ends[0] : ends[1]]}


def has_read(each: Chunk, row: int) -> bool:
    piece = Piece.parse(each.predicate)
    cursor = None if each.cursor_committed is None else json.loads(each.cursor_committed)["id"]
    return reads(piece, row) and (not piece.is_open or cursor is None or row <= cursor)


@given(restored())
def test_after_lost_chunks_were_pulled_again_no_row_of_theirs_is_missing_and_none_is_there_twice(
    given: tuple[list[Chunk], set[ChunkId]],
) -> None:
    chunks, lost = given

    plan = chunks_again(chunks, lost, table=TABLE)

    given_way = {*plan.copied, *(old for each in plan.replaced for old in each)}
    assert lost <= given_way
    done = [each for each in chunks if each.status is ChunkStatus.DONE]
    kept = [each for each in done if each.chunk not in given_way]
    again = [Piece.parse(each.predicate) for each in done if each.chunk in plan.copied]
    again += [piece for new in plan.replaced.values() for piece in new]
    for row in ROWS:
        count = sum(has_read(each, row) for each in kept) + sum(reads(piece, row) for piece in again)
        was_read = any(has_read(each, row) for each in done)
        assert count == 1 if was_read else count <= 1


def test_passes_and_streams_of_tokens_are_pulled_again_as_a_whole() -> None:
    whole = [
        chunk(n, Piece(kind=PieceKind.FULL, pass_number=n, pass_size=1), ChunkStatus.DONE) for n in (1, 2)
    ]
    tokens = [
        chunk(n, Piece(kind=PieceKind.SEGMENT, pass_number=1, after={"t": n}), ChunkStatus.DONE)
        for n in (1, 2)
    ]

    assert list(chunks_again(whole, {ChunkId(2)}, table=TABLE).replaced) == [(2,)]
    assert chunks_again(whole, set(), table=TABLE).is_nothing
    (overlay,) = chunks_again(tokens, {ChunkId(2)}, table=TABLE).beside
    assert (overlay.piece.after, overlay.over) == (None, (1, 2))
