"""How many rows and chunks are to come, for every way in which a table can be read and every stage of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.pipelines.operations.scenes import tail, window

from hakiri.core.cursors import CursorKind
from hakiri.manifest import BackfillSpec
from hakiri.pipelines.chunks.knobs import Knobs, knobs_in_force
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.planning import TableFacts
from hakiri.pipelines.estimates import StreamState, ToCome, to_come
from hakiri.sources.contract import Extent, Hint

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# 1,000 rows with the ids 1 to 1,000.
IDS = Extent(lowest=1, highest=1000, rows=1000)
# 100 rows, one for each of the first hundred days of 2024.
DAYS = Extent(lowest="2024-01-01", highest="2024-04-09", rows=100)
KEYED = TableFacts(table="orders", kind=CursorKind.MONOTONIC, field="id", extent=IDS)
DAILY = TableFacts(table="orders", kind=CursorKind.MONOTONIC, field="day", extent=DAYS)
WHOLE = TableFacts(
    table="orders", kind=CursorKind.MONOTONIC, field="id", extent=Extent(rows=300), is_pass=True
)
TOKENS = TableFacts(table="orders", kind=CursorKind.OPAQUE_TOKEN, estimated_rows=500)
REPOS = ({"repo": "a"}, {"repo": "b"}, {"repo": "c"}, {"repo": "d"})
PARTITIONED = TableFacts(
    table="orders", kind=CursorKind.PARTITIONED_MONOTONIC, field="id", extent=IDS, partitions=REPOS
)


def knobs(facts: TableFacts, **backfill: Any) -> Knobs:
    return knobs_in_force(BackfillSpec(**backfill), Hint(cursor_kind=facts.kind), table="orders")


def coming(
    facts: TableFacts,
    *streams: StreamState,
    pulls_news: bool = False,
    done: int | None = None,
    **backfill: Any,
) -> ToCome:
    return to_come(facts, knobs(facts, **backfill), streams, pulls_news=pulls_news, now=NOW, rows_done=done)


def read(**state: Any) -> StreamState:
    return StreamState(is_planned=True, **state)


@pytest.mark.spec("HP-030")
def test_a_table_that_was_never_read_has_all_rows_to_come() -> None:
    assert coming(KEYED, StreamState()) == ToCome(rows=1000, chunks=1)
    assert coming(TOKENS, StreamState()) == ToCome(rows=500, chunks=1)
    assert coming(WHOLE, StreamState()) == ToCome(rows=300, chunks=1)


def test_a_history_that_is_not_planned_yet_is_cut_as_a_run_would_cut_it() -> None:
    assert coming(DAILY, StreamState(), window="10d") == ToCome(rows=100, chunks=12)


def test_rows_before_the_start_are_not_to_come() -> None:
    assert coming(DAILY, StreamState(), start_from="2024-03-31") == ToCome(rows=10, chunks=1)


def test_of_a_half_read_history_the_windows_that_are_left_count() -> None:
    left = (window(500, 750), window(750, 1001), window(1001))

    assert coming(KEYED, read(left=left)) == ToCome(rows=501, chunks=3)


def test_rows_that_came_behind_the_plan_belong_to_its_open_end() -> None:
    left = (window(901),)

    assert coming(KEYED, read(left=left, cursor={"id": 100})) == ToCome(rows=100, chunks=1)


def test_a_rewound_window_is_read_beside_what_is_new() -> None:
    left = (window(1, 101),)

    assert coming(KEYED, read(left=left, cursor={"id": 950})) == ToCome(rows=150, chunks=1)


@pytest.mark.parametrize(("pulls_news", "chunks"), [(True, 1), (False, 0)])
@pytest.mark.spec("HP-030")
def test_a_stream_has_to_come_what_is_behind_its_cursor(pulls_news: bool, chunks: int) -> None:
    seen = coming(KEYED, read(cursor={"id": 900}), pulls_news=pulls_news)

    assert seen == ToCome(rows=100, chunks=chunks)


def test_a_stream_at_the_end_of_its_source_has_nothing_to_come() -> None:
    assert coming(KEYED, read(cursor={"id": 1000}), pulls_news=True) == ToCome(rows=0, chunks=1)
    assert coming(KEYED, read(cursor={"id": 2000})) == ToCome(rows=0, chunks=0)


def test_while_no_row_came_behind_the_history_its_edge_counts() -> None:
    assert coming(KEYED, read(edge=1001), pulls_news=True) == ToCome(rows=0, chunks=1)
    assert coming(KEYED, read(edge=991), pulls_news=True) == ToCome(rows=10, chunks=1)


def test_a_stream_that_was_reset_reads_everything_again() -> None:
    assert coming(KEYED, read(cursor=None), pulls_news=True) == ToCome(rows=1000, chunks=1)


def test_a_pass_reads_all_rows_again_when_it_is_due() -> None:
    assert coming(WHOLE, read(), pulls_news=True) == ToCome(rows=300, chunks=1, is_reread=True)


def test_nobody_knows_what_changed_in_a_table_that_is_only_read_as_a_whole() -> None:
    assert coming(WHOLE, read()) == ToCome(rows=None, chunks=0)


def test_of_a_half_read_pass_the_parts_that_are_left_count() -> None:
    parts = [
        Piece(kind=PieceKind.FULL, window=window(since, until).window, pass_number=1, pass_size=2)
        for since, until in ((None, 501), (501, None))
    ]
    facts = TableFacts(table="orders", kind=CursorKind.MONOTONIC, field="id", extent=IDS, is_pass=True)

    assert coming(facts, read(left=tuple(parts[1:]))) == ToCome(rows=500, chunks=1)


def test_what_is_left_behind_a_token_is_what_was_not_read_yet() -> None:
    segment = Piece(kind=PieceKind.SEGMENT, after={"token": "abc"})

    assert coming(TOKENS, read(left=(segment,)), done=380) == ToCome(rows=120, chunks=1)
    assert coming(TOKENS, read(cursor={"token": "z"}), done=500, pulls_news=True) == ToCome(rows=0, chunks=1)
    assert coming(TOKENS, read(cursor={"token": "z"}), done=700) == ToCome(rows=0, chunks=0)


def test_without_a_count_nobody_knows_what_is_behind_a_token() -> None:
    assert coming(TOKENS, read(cursor={"token": "z"}), pulls_news=True) == ToCome(rows=None, chunks=1)


def test_a_source_that_counts_nothing_leaves_the_rows_open() -> None:
    facts = TableFacts(table="orders", kind=CursorKind.MONOTONIC, field="id")

    assert coming(facts, StreamState()) == ToCome(rows=None, chunks=1)
    assert coming(facts, read(cursor={"id": 5}), pulls_news=True) == ToCome(rows=None, chunks=1)


@pytest.mark.spec("HP-030")
def test_partitions_share_the_rows_of_their_table() -> None:
    streams = [
        StreamState(partitions=(REPOS[0],)),
        read(partitions=(REPOS[1],), cursor={"id": 900}),
        read(partitions=(REPOS[2],), left=(window(500, partition=REPOS[2]),)),
        read(partitions=(REPOS[3],), cursor={"id": 1000}),
    ]

    seen = coming(PARTITIONED, *streams, pulls_news=True)

    # A quarter of 1,000 for the new one, of 100 behind a cursor, of 501 in a window, and nothing.
    assert seen == ToCome(rows=250 + 25 + 126, chunks=4)


def test_a_cursor_of_another_form_than_the_values_tells_nothing() -> None:
    assert coming(DAILY, read(cursor={"day": 5})).rows is None
    assert coming(DAILY, read(left=(tail({"other": 1}),))).rows is None


def test_a_sweep_brings_no_rows() -> None:
    sweep = Piece(kind=PieceKind.SWEEP, since_seq=7)

    assert coming(KEYED, read(left=(sweep,), cursor={"id": 1000})) == ToCome(rows=0, chunks=1)
