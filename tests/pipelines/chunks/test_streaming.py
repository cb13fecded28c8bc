from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.pipelines.chunks.plans import window_piece

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration
from hakiri.pipelines.chunks.errors import LagMisfit, NoProgress
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.streaming import (
    follow_up,
    is_caught_up,
    lane_of,
    next_pass,
    next_tail,
    open_edge,
    sweep_after,
)
from hakiri.sources.contract import Window

T0 = datetime(2026, 5, 12, tzinfo=UTC)
TWO_HOURS = Duration.parse("2h")
AT = "2026-05-11T08:00:00Z"


def tail(**facts: object) -> Piece:
    return Piece(kind=PieceKind.TAIL, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cursor", "edge", "lag", "piece"),
    [
        ({"f": AT, "_seen": ["x"]}, "2026-05-01", None, tail(after={"f": AT, "_seen": ["x"]})),
        ({"f": AT, "_seen": ["x"]}, None, TWO_HOURS, tail(after={"f": "2026-05-11T06:00:00Z"})),
        ({"f": 1000}, 1, 10, tail(after={"f": 990})),
        (None, 7, None, tail(window=Window(field="f", since=7))),
        (None, 7, 3, tail(window=Window(field="f", since=4))),
        ({}, AT, TWO_HOURS, tail(window=Window(field="f", since="2026-05-11T06:00:00Z"))),
        ({"f": None}, 7, None, tail(window=Window(field="f", since=7))),
        (None, None, 3, tail(window=Window(field="f"))),
    ],
)
def test_a_stream_goes_on_after_its_cursor_or_with_its_open_window(
    cursor: dict[str, object] | None, edge: int | str | None, lag: Duration | int | None, piece: Piece
) -> None:
    assert next_tail(cursor, edge, lag, "f") == piece


def test_a_stream_that_only_the_source_understands_goes_on_after_its_token() -> None:
    token = {"next_page_token": "abc"}

    assert next_tail(token, None, None, None) == tail(after=token)
    assert next_tail(None, None, None, None) == tail()


def test_a_stream_stays_in_its_partition() -> None:
    assert next_tail({"f": 1}, None, None, "f", partition={"repo": "a"}) == tail(
        after={"f": 1}, partition={"repo": "a"}
    )


def test_a_lag_in_time_behind_a_cursor_of_numbers_is_refused() -> None:
    with pytest.raises(LagMisfit):
        next_tail({"f": 1_700_000_000}, None, TWO_HOURS, "f")


def test_the_open_edge_is_where_the_open_window_of_the_partition_begins() -> None:
    pieces = [
        window_piece(None, 5, partition={"repo": "a"}),
        window_piece(5, None, partition={"repo": "a"}),
        window_piece(7, None, partition={"repo": "b"}),
        tail(after={"f": 9}, partition={"repo": "c"}),
    ]

    assert [open_edge(pieces, {"repo": repo}) for repo in "abc"] == [5, 7, None]


@pytest.mark.parametrize("kind", [PieceKind.SEGMENT, PieceKind.TAIL])
def test_a_read_that_came_to_its_limit_goes_on_after_its_cursor(kind: PieceKind) -> None:
    piece = Piece(kind=kind, partition={"repo": "a"}, after={"next": 1}, pass_number=3)

    on = follow_up(piece, rows=12, cursor={"next": 2}, limit=10)

    assert on == Piece(kind=kind, partition={"repo": "a"}, after={"next": 2}, pass_number=3)


@pytest.mark.parametrize(
    ("piece", "rows", "limit"),
    [
        (Piece(kind=PieceKind.SEGMENT), 9, 10),
        (Piece(kind=PieceKind.SEGMENT), 0, 10),
        (Piece(kind=PieceKind.SEGMENT), 10**9, None),
        (window_piece(1, 5), 10, 10),
        (window_piece(1), 10, 10),
        (tail(window=Window(field="f", since=1)), 10, 10),
        (Piece(kind=PieceKind.FULL, pass_number=1), 10, 10),
        (Piece(kind=PieceKind.SWEEP, since_seq=1), 10, 10),
    ],
)
def test_a_read_that_came_to_its_end_has_no_follow_up(piece: Piece, rows: int, limit: int | None) -> None:
    assert follow_up(piece, rows=rows, cursor={"next": 2}, limit=limit) is None


@pytest.mark.parametrize("cursor", [None, {"next": 1}])
def test_a_read_that_came_to_its_limit_without_a_new_cursor_fails(cursor: dict[str, object] | None) -> None:
    with pytest.raises(NoProgress) as failed:
        follow_up(Piece(kind=PieceKind.SEGMENT, after={"next": 1}), rows=10, cursor=cursor, limit=10)

    assert str(failed.value) == "the source gave 10 rows, and no cursor from which the rest can be read"


def test_the_next_pass_reads_the_same_parts_again_under_the_next_number() -> None:
    parts = [
        Piece(kind=PieceKind.FULL, window=Window(field="f", until=5), pass_number=4, pass_size=2),
        Piece(kind=PieceKind.FULL, window=Window(field="f", since=5), pass_number=4, pass_size=2),
    ]

    again = next_pass(parts, table="t", cursors={"t": {"etag": "x"}})

    assert again == (
        Piece(kind=PieceKind.FULL, window=Window(field="f", until=5), pass_number=5, pass_size=2),
        Piece(kind=PieceKind.FULL, window=Window(field="f", since=5), pass_number=5, pass_size=2),
    )


def test_a_pass_in_one_part_asks_whether_anything_changed() -> None:
    part = Piece(kind=PieceKind.FULL, partition={"repo": "a"}, pass_number=1, pass_size=1)

    (again,) = next_pass([part], table="t", cursors={"t#repo=a": {"etag": "x"}})

    assert (again.after, again.pass_number) == ({"etag": "x"}, 2)


def test_a_sweep_is_over_what_was_read_again() -> None:
    piece = window_piece(1, 5, partition={"repo": "a"})

    assert sweep_after(piece, 17) == Piece(
        kind=PieceKind.SWEEP, window=piece.window, partition={"repo": "a"}, since_seq=17
    )


@pytest.mark.parametrize(
    ("kind", "piece", "lane"),
    [
        (CursorKind.MONOTONIC, window_piece(1, 5), None),
        (CursorKind.MONOTONIC, Piece(kind=PieceKind.FULL, pass_number=1), None),
        (CursorKind.MONOTONIC, window_piece(5), "t"),
        (CursorKind.MONOTONIC, tail(after={"f": 1}), "t"),
        (CursorKind.PARTITIONED_MONOTONIC, window_piece(1, 5, partition={"repo": "a"}), None),
        (CursorKind.PARTITIONED_MONOTONIC, window_piece(5, partition={"repo": "a"}), "t#repo=a"),
        (CursorKind.PARTITIONED_MONOTONIC, tail(partition={"repo": "a"}), "t#repo=a"),
        (CursorKind.SNAPSHOT_ID, Piece(kind=PieceKind.SEGMENT, partition={"shard": "0"}), "t#shard=0"),
        (CursorKind.OPAQUE_TOKEN, Piece(kind=PieceKind.SEGMENT, partition={"repo": "a"}), "t"),
        (CursorKind.OPAQUE_TOKEN, Piece(kind=PieceKind.FULL, partition={"repo": "a"}), "t"),
    ],
)
def test_pieces_of_one_lane_are_read_one_after_the_other(
    kind: CursorKind, piece: Piece, lane: str | None
) -> None:
    assert lane_of(piece, kind, "t") == lane


@pytest.mark.spec("HP-101")
def test_a_stream_is_caught_up_within_the_sla_of_now() -> None:
    sla = timedelta(minutes=15)

    assert is_caught_up(T0, T0 + sla, sla)
    assert not is_caught_up(T0, T0 + sla + timedelta(microseconds=1), sla)
    assert not is_caught_up(None, T0, sla)
