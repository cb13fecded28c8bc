from __future__ import annotations

import pytest
from tests.pipelines.chunks.plans import window_piece

from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.wording import describe, predicate_text
from hakiri.sources.contract import Window

JANUARY = ("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z")
MONTH = Window(field="created_at", since=JANUARY[0], until=JANUARY[1])


@pytest.mark.parametrize(
    ("piece", "predicate", "words"),
    [
        (
            Piece(kind=PieceKind.WINDOW, window=MONTH),
            "created_at BETWEEN '2020-01-01T00:00:00Z' AND '2020-02-01T00:00:00Z'",
            "created_at from 2020-01-01T00:00:00Z until 2020-02-01T00:00:00Z",
        ),
        (
            Piece(kind=PieceKind.WINDOW, window=MONTH, partition={"repo": "it's"}),
            "repo = 'it''s' AND created_at BETWEEN '2020-01-01T00:00:00Z' AND '2020-02-01T00:00:00Z'",
            "created_at from 2020-01-01T00:00:00Z until 2020-02-01T00:00:00Z, repo it's",
        ),
        (window_piece(None, 7, has_nulls=True), "f < 7 OR f IS NULL", "f until 7 and without a value"),
        (
            window_piece(1, 7, has_nulls=True, partition={"a": "b"}),
            "a = 'b' AND (f BETWEEN 1 AND 7 OR f IS NULL)",
            "f from 1 until 7 and without a value, a b",
        ),
        (window_piece(7), "f >= 7", "f from 7 on"),
        (window_piece(has_nulls=True), "TRUE", "all of f"),
        (window_piece(), "f IS NOT NULL", "all of f"),
        (Piece(kind=PieceKind.TAIL, after={"id": 7}), "id > 7", "everything after 7"),
        (
            Piece(kind=PieceKind.TAIL, after={"at": JANUARY[0], "_seen": ["x"]}),
            'AFTER {"_seen":["x"],"at":"2020-01-01T00:00:00Z"}',
            'everything after {"_seen":["x"],"at":"2020-01-01T00:00:00Z"}',
        ),
        (
            Piece(kind=PieceKind.TAIL, window=Window(field="f", since=7)),
            "f >= 7",
            "f from 7 on",
        ),
        (Piece(kind=PieceKind.TAIL), "TRUE", "everything"),
        (Piece(kind=PieceKind.SEGMENT), "TRUE", "the first rows"),
        (
            Piece(kind=PieceKind.SEGMENT, after={"next_page_token": "abc"}),
            "next_page_token > 'abc'",
            "the next rows after abc",
        ),
        (Piece(kind=PieceKind.FULL, pass_number=3), "TRUE", "pass 3, the whole table"),
        (
            Piece(kind=PieceKind.FULL, pass_number=3, window=Window(field="f", until=9)),
            "f < 9",
            "pass 3, f until 9",
        ),
        (
            Piece(kind=PieceKind.SWEEP, since_seq=4, window=Window(field="f", since=1, until=9)),
            "f BETWEEN 1 AND 9",
            "rows that are gone, f from 1 until 9",
        ),
        (Piece(kind=PieceKind.SWEEP, since_seq=4), "TRUE", "rows that are gone, the whole table"),
    ],
)
def test_a_piece_is_told_as_a_predicate_and_in_words(piece: Piece, predicate: str, words: str) -> None:
    assert predicate_text(piece) == predicate
    assert describe(piece) == words


def test_a_long_cursor_is_cut_short() -> None:
    piece = Piece(kind=PieceKind.TAIL, after={"files": [f"part-{number}.csv" for number in range(1000)]})

    assert len(predicate_text(piece)) < 80
    assert len(describe(piece)) < 100
