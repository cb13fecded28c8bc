from __future__ import annotations

from datetime import timedelta

import pytest
from tests.pipelines.chunks.plans import MILLION, NOW, ends, facts_of, hint_of, knobs_of

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration
from hakiri.pipelines.chunks.errors import LagMisfit
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.planning import MOST_CHUNKS, estimate, plan_table
from hakiri.sources.contract import Extent, Window

REPOS = ({"repo": "a/b"}, {"repo": "c/d"}, {"repo": "e/f"})


@pytest.mark.spec("HP-107")
def test_ids_are_cut_into_round_ranges_of_about_a_million_rows() -> None:
    facts = facts_of(1, 3 * MILLION, rows=3 * MILLION)

    pieces = plan_table(facts, knobs_of(), NOW)

    assert ends(pieces) == [
        (None, MILLION),
        (MILLION, 2 * MILLION),
        (2 * MILLION, 3 * MILLION + 1),
        (3 * MILLION + 1, None),
    ]
    assert {piece.kind for piece in pieces} == {PieceKind.WINDOW}


@pytest.mark.spec("HP-107")
def test_a_table_in_time_is_cut_by_the_window_at_multiples_since_1970() -> None:
    facts = facts_of("2026-01-20T10:00:00Z", "2026-03-15T10:00:00+02:00", rows=5)

    pieces = plan_table(facts, knobs_of(window="P1M"), NOW)

    assert ends(pieces) == [
        (None, "2026-02-01T00:00:00Z"),
        ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("2026-03-01T00:00:00Z", "2026-03-15T08:00:00.000001Z"),
        ("2026-03-15T08:00:00.000001Z", None),
    ]


def test_a_table_in_time_without_a_window_is_cut_at_midnights_by_its_rows() -> None:
    facts = facts_of("2026-01-01T10:00:00Z", "2026-01-11T10:00:00Z", rows=5 * MILLION)

    pieces = plan_table(facts, knobs_of(), NOW)

    assert [until for _, until in ends(pieces)] == [
        "2026-01-04T00:00:00Z",
        "2026-01-07T00:00:00Z",
        "2026-01-10T00:00:00Z",
        "2026-01-11T10:00:00.000001Z",
        None,
    ]


def test_the_connectors_window_is_taken_where_the_manifest_names_none() -> None:
    facts = facts_of("2026-05-09T10:00:00Z", "2026-05-11T10:00:00Z")

    pieces = plan_table(facts, knobs_of(hint_of(window="1d")), NOW)

    assert [until for _, until in ends(pieces)] == [
        "2026-05-10T00:00:00Z",
        "2026-05-11T00:00:00Z",
        "2026-05-11T10:00:00.000001Z",
        None,
    ]


def test_moments_are_written_as_the_source_writes_them() -> None:
    facts = facts_of("2026-05-08 10:00:00", "2026-05-09 10:00:00")

    pieces = plan_table(facts, knobs_of(window="1d"), NOW)

    assert ends(pieces)[1:] == [
        ("2026-05-09 00:00:00", "2026-05-09 10:00:00.000001"),
        ("2026-05-09 10:00:00.000001", None),
    ]


def test_a_table_that_fits_into_one_chunk_is_one_open_piece() -> None:
    pieces = plan_table(facts_of(1, 900_000, rows=900_000), knobs_of(), NOW)

    assert pieces == (Piece(kind=PieceKind.WINDOW, window=Window(field="f", has_nulls=True)),)


@pytest.mark.parametrize(
    "extent", [Extent(), Extent(rows=9 * MILLION), Extent(lowest="aa", highest="zz", rows=9 * MILLION)]
)
def test_a_table_whose_values_nobody_knows_is_one_open_piece_a_partition(extent: Extent) -> None:
    facts = facts_of(
        extent.lowest, extent.highest, rows=extent.rows,
        kind=CursorKind.PARTITIONED_MONOTONIC, partitions=REPOS,
    )  # fmt: skip

    pieces = plan_table(facts, knobs_of(), NOW)

    assert [dict(piece.partition) for piece in pieces] == list(REPOS)
    assert ends(pieces) == [(None, None)] * 3


@pytest.mark.parametrize(("lowest", "highest"), [(None, 9 * MILLION), (1, None), (None, "2026-01-01")])
def test_a_table_of_which_one_end_is_known_is_one_open_piece(
    lowest: int | None, highest: int | str | None
) -> None:
    pieces = plan_table(facts_of(lowest, highest, rows=9 * MILLION), knobs_of(window="30d"), NOW)

    assert ends(pieces) == [(None, None)]


def test_a_start_is_written_as_the_source_writes_its_values() -> None:
    pieces = plan_table(facts_of("2026-01-01"), knobs_of(window="30d", start_from="2026-04-01T06:00Z"), NOW)

    assert ends(pieces) == [("2026-04-02", "2026-05-02"), ("2026-05-02", None)]


def test_ids_that_nobody_counted_are_cut_into_a_few_parts_only() -> None:
    pieces = plan_table(facts_of(0, 10**15), knobs_of(), NOW)

    assert len(pieces) <= 18


@pytest.mark.spec("HP-110")
def test_three_repositories_over_four_months_are_twelve_chunks() -> None:
    kind = CursorKind.PARTITIONED_MONOTONIC
    facts = facts_of("2026-02-10T00:00:00Z", kind=kind, partitions=REPOS)

    pieces = plan_table(facts, knobs_of(window="P1M"), NOW)

    months = [
        (None, "2026-03-01T00:00:00Z"),
        ("2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"),
        ("2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z"),
        ("2026-05-01T00:00:00Z", None),
    ]
    assert ends(pieces) == months * 3
    assert [dict(piece.partition) for piece in pieces] == [repo for repo in REPOS for _ in months]


@pytest.mark.spec("HP-114")
@pytest.mark.parametrize("lowest", [None, "2009-04-04T00:00:00Z", "2010-01-20T00:00:00Z"])
def test_nothing_older_than_start_from_is_planned_and_windows_count_from_there(lowest: str | None) -> None:
    facts = facts_of(lowest, "2010-03-05T00:00:00Z")

    pieces = plan_table(facts, knobs_of(window="30d", start_from="2010-01-01"), NOW)

    assert ends(pieces) == [
        ("2010-01-01T00:00:00Z", "2010-01-31T00:00:00Z"),
        ("2010-01-31T00:00:00Z", "2010-03-02T00:00:00Z"),
        ("2010-03-02T00:00:00Z", "2010-03-05T00:00:00.000001Z"),
        ("2010-03-05T00:00:00.000001Z", None),
    ]


@pytest.mark.spec("HP-114")
def test_with_start_from_and_a_window_a_source_need_not_tell_where_it_begins() -> None:
    pieces = plan_table(facts_of(), knobs_of(window="P1M", start_from="2026-03-31"), NOW)

    assert ends(pieces) == [
        ("2026-03-31T00:00:00Z", "2026-04-30T00:00:00Z"),
        ("2026-04-30T00:00:00Z", None),
    ]


def test_a_value_in_the_future_does_not_move_the_open_end_there() -> None:
    facts = facts_of("2026-03-10T00:00:00Z", "2099-01-01T00:00:00Z")

    pieces = plan_table(facts, knobs_of(window="P1M"), NOW)

    assert ends(pieces)[-1] == ("2026-05-01T00:00:00Z", None)


def test_the_present_day_is_left_to_the_open_end_because_more_rows_may_get_it() -> None:
    facts = facts_of("2026-05-01", "2026-05-12")

    pieces = plan_table(facts, knobs_of(window="4d"), NOW)

    assert ends(pieces)[-1][1] is None
    assert str(ends(pieces)[-1][0]) <= "2026-05-12"


@pytest.mark.parametrize(
    ("lowest", "highest", "lag", "edge"),
    [
        ("2026-01-01T00:00:00Z", "2026-03-05T12:00:00Z", Duration.parse("2h"), "2026-03-05T10:00:00.000001Z"),
        ("2026-01-01", "2026-03-05", Duration.parse("2h"), "2026-03-05"),
        (1, 4 * MILLION, 1000, 4 * MILLION - 999),
    ],
)
def test_what_is_younger_than_the_lag_is_left_to_the_open_end(
    lowest: str | int, highest: str | int, lag: Duration | int, edge: str | int
) -> None:
    facts = facts_of(lowest, highest, rows=4 * MILLION, lag=lag)

    pieces = plan_table(facts, knobs_of(window="30d"), NOW)

    assert ends(pieces)[-1] == (edge, None)


def test_a_lag_of_another_kind_than_the_column_is_refused() -> None:
    with pytest.raises(LagMisfit) as refused:
        plan_table(facts_of(1, 9, lag=Duration.parse("2h")), knobs_of(), NOW)

    assert str(refused.value) == "a `lag` of `2h` cannot be taken from numbers"
    assert refused.value.exit_code == 2


@pytest.mark.spec("HP-108")
def test_a_source_of_tokens_is_walked_from_its_start() -> None:
    pieces = plan_table(facts_of(kind=CursorKind.OPAQUE_TOKEN, field=None, rows=9 * MILLION), knobs_of(), NOW)

    assert pieces == (Piece(kind=PieceKind.SEGMENT),)


def test_a_source_of_tokens_is_not_cut_by_the_column_that_the_manifest_follows() -> None:
    facts = facts_of(1, 9 * MILLION, kind=CursorKind.OPAQUE_TOKEN, rows=9 * MILLION)

    assert plan_table(facts, knobs_of(), NOW) == (Piece(kind=PieceKind.SEGMENT),)


@pytest.mark.spec("HP-109")
def test_a_source_of_positions_begins_with_its_snapshot_one_a_stream() -> None:
    facts = facts_of(kind=CursorKind.SNAPSHOT_ID, field=None, partitions=({"shard": "0"}, {"shard": "1"}))

    pieces = plan_table(facts, knobs_of(), NOW)

    assert pieces == (
        Piece(kind=PieceKind.SEGMENT, partition={"shard": "0"}),
        Piece(kind=PieceKind.SEGMENT, partition={"shard": "1"}),
    )


def test_a_table_without_a_cursor_is_read_in_passes_of_a_known_number_of_parts() -> None:
    facts = facts_of(1, 2 * MILLION, rows=2 * MILLION, is_pass=True)

    pieces = plan_table(facts, knobs_of(), NOW, pass_number=7)

    assert [(piece.kind, piece.pass_number, piece.pass_size) for piece in pieces] == [
        (PieceKind.FULL, 7, len(pieces))
    ] * len(pieces)
    assert ends(pieces) == [(None, MILLION), (MILLION, 2 * MILLION + 1), (2 * MILLION + 1, None)]


def test_a_table_that_cannot_be_cut_is_one_part_of_a_pass() -> None:
    facts = facts_of(kind=CursorKind.OPAQUE_TOKEN, field=None, is_pass=True)

    assert plan_table(facts, knobs_of(), NOW) == (Piece(kind=PieceKind.FULL, pass_number=1, pass_size=1),)


@pytest.mark.parametrize("partitions", [1, 7, 40_000, 200_000])
def test_a_window_that_makes_too_many_chunks_is_taken_several_times_over(partitions: int) -> None:
    parts = [{"n": str(number)} for number in range(partitions)]
    facts = facts_of(
        "2000-01-01T00:00:00Z", "2026-01-01T00:00:00Z",
        kind=CursorKind.PARTITIONED_MONOTONIC, partitions=parts,
    )  # fmt: skip

    pieces = plan_table(facts, knobs_of(window="1m"), NOW)

    assert len(pieces) <= max(MOST_CHUNKS, partitions)
    assert len(pieces) > MOST_CHUNKS // 3


def test_a_window_shorter_than_a_day_is_a_day_where_values_are_days() -> None:
    pieces = plan_table(facts_of("2026-05-01", "2026-05-04"), knobs_of(window="1h"), NOW)

    assert [until for _, until in ends(pieces)] == ["2026-05-02", "2026-05-03", "2026-05-05", None]


@pytest.mark.spec("HP-115")
def test_the_same_facts_give_the_same_plan_and_it_survives_being_stored() -> None:
    facts = facts_of("2010-01-20T10:00:00Z", "2026-03-15T10:00:00Z", partitions=({"repo": "a,b=c#%"}, {}))

    plan = plan_table(facts, knobs_of(window="30d"), NOW)

    assert plan == plan_table(facts, knobs_of(window="30d"), NOW)
    assert tuple(Piece.parse(piece.text()) for piece in plan) == plan


@pytest.mark.spec("HP-126")
def test_a_plan_of_312_chunks_goes_on_with_the_248th() -> None:
    repos = [{"repo": f"r{number:02d}"} for number in range(26)]
    facts = facts_of("2025-06-10T00:00:00Z", kind=CursorKind.PARTITIONED_MONOTONIC, partitions=repos)
    plan = plan_table(facts, knobs_of(window="P1M"), NOW)
    done = {piece.text() for piece in plan[:247]}

    left = [piece for piece in plan if piece.text() not in done]

    assert (len(plan), len(left), left[0]) == (312, 65, plan[247])


@pytest.mark.spec("HP-099")
def test_planning_needs_facts_alone_and_reads_no_source() -> None:
    facts = facts_of(1, 10, rows=10)

    assert plan_table(facts, knobs_of(), NOW) == plan_table(facts, knobs_of(), NOW + timedelta(days=9))


def test_a_table_without_partitions_at_present_has_no_pieces() -> None:
    assert plan_table(facts_of(1, 10, partitions=()), knobs_of(), NOW) == ()


@pytest.mark.parametrize(
    ("cursor", "rows"),
    [
        (None, 1000),
        ({"f": 0}, 1000),
        ({"f": 250}, 750),
        ({"f": 999}, 1),
        ({"f": 1000}, 0),
        ({"f": 9999}, 0),
        ({"f": -50}, 1000),
        ({"next": "abc"}, None),
        ({"f": "2026-01-01"}, None),
        ({}, 1000),
    ],
)
def test_rows_to_come_are_estimated_by_how_much_of_the_line_is_left(
    cursor: dict[str, object] | None, rows: int | None
) -> None:
    assert estimate(facts_of(1, 1000, rows=1000), cursor=cursor) == rows


def test_rows_to_come_are_those_from_start_on() -> None:
    knobs = knobs_of(start_from="2020-01-06")
    facts = facts_of("2020-01-01", "2020-01-10", rows=1000)

    assert estimate(facts, start_from=knobs.start_from.value) == 500


@pytest.mark.parametrize(
    ("facts", "cursor", "rows"),
    [
        (facts_of(1, 1000), {"f": 5}, None),
        (facts_of(rows=70, is_pass=True), {"etag": "x"}, 70),
        (facts_of(estimated_rows=80), None, 80),
        (facts_of(rows=80), {"f": 5}, None),
    ],
)
def test_rows_to_come_are_told_where_anything_is_known(
    facts: object, cursor: dict[str, object] | None, rows: int | None
) -> None:
    assert estimate(facts, cursor=cursor) == rows  # type: ignore[arg-type]
