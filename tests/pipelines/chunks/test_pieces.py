from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipelines.chunks.plans import window_piece

from hakiri.pipelines.chunks.errors import BadPiece
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, reads, stream_name, stream_of
from hakiri.sources.contract import Read, Window

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
bounds = st.none() | st.integers() | texts
pieces = st.builds(
    Piece,
    kind=st.sampled_from(PieceKind),
    window=st.none() | st.builds(Window, field=texts, since=bounds, until=bounds, has_nulls=st.booleans()),
    partition=st.dictionaries(texts, texts, max_size=3),
    after=st.none() | st.dictionaries(texts, json_values, max_size=3),
    pass_number=st.none() | st.integers(),
    pass_size=st.none() | st.integers(),
    since_seq=st.none() | st.integers(),
)


@pytest.mark.spec("HP-115")
@given(pieces)
def test_a_piece_is_the_same_after_it_was_stored(piece: Piece) -> None:
    assert Piece.parse(piece.text()) == piece
    assert Piece.parse(piece.text()).text() == piece.text()


@given(pieces, pieces)
def test_two_pieces_have_one_text_only_if_they_are_equal(one: Piece, other: Piece) -> None:
    assert (one.text() == other.text()) == (one == other)


def test_the_text_of_a_piece_leaves_out_what_it_does_not_say() -> None:
    piece = window_piece("2020-01-01", "2020-02-01", partition={"repo": "a/b"})

    assert piece.text() == (
        '{"kind":"window","partition":{"repo":"a/b"},'
        '"window":{"field":"f","since":"2020-01-01","until":"2020-02-01"}}'
    )
    assert Piece(kind=PieceKind.SEGMENT).text() == '{"kind":"segment"}'
    assert Piece(kind=PieceKind.FULL, pass_number=2, pass_size=3).text() == (
        '{"kind":"full","pass":2,"pass_size":3}'
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is of no kind that is known"),
        ("{}", "it is of no kind that is known"),
        ('{"kind":"whole"}', "it is of no kind that is known"),
        ('{"kind":["tail"]}', "it is of no kind that is known"),
        ('{"kind":"tail","shard":1}', "`shard` is not known"),
        ('{"kind":"window","window":{"since":1}}', "its window has other keys than it should have"),
        (
            '{"kind":"window","window":{"field":"f","to":1}}',
            "its window has other keys than it should have",
        ),
        (
            '{"kind":"window","window":{"field":"f","since":1.5}}',
            "a value is of another type than it should be",
        ),
        ('{"kind":"window","window":{"field":7}}', "a value is of another type than it should be"),
        ('{"kind":"tail","after":"abc"}', "a value is of another type than it should be"),
        ('{"kind":"tail","partition":{"a":1}}', "a value is of another type than it should be"),
        ('{"kind":"full","pass":true}', "a value is of another type than it should be"),
    ],
)
def test_a_text_that_is_no_piece_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadPiece) as refused:
        Piece.parse(text)

    assert str(refused.value) == f"the predicate `{text}` of a chunk cannot be read: {why}"


def test_a_connector_is_asked_for_exactly_the_piece() -> None:
    schema = pa.schema([("id", pa.int64())])
    piece = window_piece(1, 5, partition={"repo": "a/b"}, after={"f": 3})

    asked = reads(piece, table="t", incremental="f", schema=schema, snapshot="s1")

    assert asked == Read(
        table="t",
        cursor={"f": 3},
        incremental="f",
        window=Window(field="f", since=1, until=5),
        partition={"repo": "a/b"},
        snapshot="s1",
        schema=schema,
    )


@pytest.mark.parametrize(
    ("piece", "limit"),
    [
        (Piece(kind=PieceKind.SEGMENT), 10),
        (Piece(kind=PieceKind.SEGMENT, after={"next": "x"}, pass_number=1), 10),
        (Piece(kind=PieceKind.TAIL, after={"f": 1}), 10),
        (Piece(kind=PieceKind.TAIL, window=Window(field="f", since=1)), None),
        (window_piece(1, 5), None),
        (window_piece(1), None),
        (Piece(kind=PieceKind.FULL, pass_number=1), None),
        (Piece(kind=PieceKind.SWEEP, since_seq=1), None),
    ],
)
def test_a_limit_is_passed_on_only_where_the_rest_can_be_read_after_it(
    piece: Piece, limit: int | None
) -> None:
    assert reads(piece, table="t", limit=10).limit == limit


@pytest.mark.parametrize(
    ("piece", "is_open"),
    [
        (window_piece(1, 5), False),
        (window_piece(None, 5), False),
        (window_piece(1), True),
        (Piece(kind=PieceKind.TAIL), True),
        (Piece(kind=PieceKind.SEGMENT), True),
        (Piece(kind=PieceKind.FULL), False),
        (Piece(kind=PieceKind.SWEEP), False),
    ],
)
def test_a_piece_that_moves_its_stream_on_is_open(piece: Piece, is_open: bool) -> None:
    assert piece.is_open is is_open


@pytest.mark.parametrize(
    ("partition", "name"),
    [
        ({}, "issues"),
        ({"repo": "torvalds/linux"}, "issues#repo=torvalds/linux"),
        ({"shop": "x", "area": "north"}, "issues#area=north,shop=x"),
        ({"a": "1,b=2"}, "issues#a=1%2Cb%3D2"),
        ({"a": "100%"}, "issues#a=100%25"),
    ],
)
def test_a_stream_is_named_by_its_table_and_its_partition(partition: dict[str, str], name: str) -> None:
    assert stream_name("issues", partition) == name
    assert stream_of(name) == ("issues", partition)


@given(texts, st.dictionaries(st.text(min_size=1, max_size=5), texts, max_size=3))
def test_no_two_streams_have_one_name(table: str, partition: dict[str, str]) -> None:
    assert stream_of(stream_name(table, partition)) == (table, partition)
