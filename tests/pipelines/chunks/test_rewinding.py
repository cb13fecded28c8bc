from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pipelines.chunks.plans import NOW, facts_of, knobs_of, moment_of, sliced, window_piece

from hakiri.core.grammar import Duration
from hakiri.core.ids import ChunkId
from hakiri.pipelines.chunks.errors import CannotRewind, RangeMisfit
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.planning import plan_table
from hakiri.pipelines.chunks.ranges import ValueRange
from hakiri.pipelines.chunks.rewinding import DoneChunk, Overlay, Rewound, rewind
from hakiri.pipelines.chunks.streaming import next_tail, open_edge
from hakiri.sources.contract import Window


def done(chunk: int, piece: Piece, cursor: Any = None) -> DoneChunk:
    return DoneChunk(chunk=ChunkId(chunk), piece=piece, cursor=None if cursor is None else {"f": cursor})


def overlay(piece: Piece, *over: int) -> Overlay:
    return Overlay(piece=piece, over=tuple(ChunkId(chunk) for chunk in over))


def tail(after: Any, **others: Any) -> Piece:
    return Piece(kind=PieceKind.TAIL, after={"f": after}, **others)


def rewound(
    chunks: list[DoneChunk], since: str, until: str, *, has_key: bool, length: Duration | int | None = None
) -> Rewound:
    return rewind(
        chunks,
        ValueRange.parse(since, until),
        table="orders",
        field="f",
        has_key=has_key,
        now=NOW,
        length=length,
    )


HISTORY = [
    done(1, window_piece(None, 100, has_nulls=True)),
    done(2, window_piece(100, 200)),
    done(3, window_piece(200, 300)),
    done(4, window_piece(300), 350),
    done(5, tail(350), 400),
    done(6, tail(400), 450),
]


@pytest.mark.spec("HP-142")
@pytest.mark.parametrize("has_key", [True, False])
@pytest.mark.parametrize(
    ("since", "until", "again"),
    [("150", "250", [2, 3]), ("100", "199", [2]), ("0", "99", [1]), ("200", "200", [3])],
)
def test_closed_windows_that_meet_the_range_are_planned_again_as_they_were(
    has_key: bool, since: str, until: str, again: list[int]
) -> None:
    plan = rewound(HISTORY, since, until, has_key=has_key)

    assert plan == Rewound(supersede={(ChunkId(n),): (HISTORY[n - 1].piece,) for n in again})


def test_with_a_key_the_range_alone_is_read_again_beside_what_the_stream_brought() -> None:
    plan = rewound(HISTORY, "320", "420", has_key=True, length=50)

    assert plan == Rewound(
        supersede={},
        beside=(
            overlay(window_piece(320, 350), 4),
            overlay(window_piece(350, 400), 4, 5),
            overlay(window_piece(400, 421), 5, 6),
        ),
    )


def test_with_a_key_nothing_is_planned_beyond_what_was_read() -> None:
    plan = rewound(HISTORY, "440", "9999", has_key=True)

    assert plan == Rewound(supersede={}, beside=(overlay(window_piece(440, 451), 6),))


def test_with_a_key_a_second_rewind_reads_no_row_twice() -> None:
    again = [*HISTORY, done(7, window_piece(320, 350)), done(8, window_piece(350, 421))]

    plan = rewound(again, "310", "430", has_key=True)

    assert plan == Rewound(
        supersede={(ChunkId(7),): (window_piece(320, 350),), (ChunkId(8),): (window_piece(350, 421),)},
        beside=(overlay(window_piece(310, 320), 4), overlay(window_piece(421, 431), 6)),
    )


@pytest.mark.parametrize(
    ("since", "until", "old", "new"),
    [
        ("310", "320", (4, 5, 6), window_piece(300)),
        ("360", "370", (5, 6), tail(350)),
        ("420", "9999", (6,), tail(400)),
        ("380", "420", (5, 6), tail(350)),
    ],
)
def test_without_a_key_the_stream_is_read_again_in_one_piece_from_where_the_range_begins(
    since: str, until: str, old: tuple[int, ...], new: Piece
) -> None:
    plan = rewound(HISTORY, since, until, has_key=False)

    assert plan == Rewound(supersede={tuple(ChunkId(n) for n in old): (new,)})


@pytest.mark.parametrize("has_key", [True, False])
def test_a_range_that_was_never_read_is_nothing_to_plan(has_key: bool) -> None:
    assert rewound(HISTORY, "500", "600", has_key=has_key).is_empty
    assert rewound([done(1, window_piece(300))], "300", "600", has_key=has_key).is_empty
    assert rewound([], "300", "600", has_key=has_key).is_empty


def test_partitions_are_rewound_each_by_itself() -> None:
    one, other = {"repo": "a"}, {"repo": "b"}
    chunks = [
        done(1, window_piece(None, 100, partition=one)),
        done(2, window_piece(100, partition=one), 150),
        done(3, window_piece(None, 100, partition=other)),
        done(4, window_piece(100, partition=other), 300),
        done(5, tail(150, partition=one), 220),
    ]

    plan = rewound(chunks, "160", "400", has_key=False)

    assert plan == Rewound(
        supersede={
            (ChunkId(5),): (tail(150, partition=one),),
            (ChunkId(4),): (window_piece(100, partition=other),),
        }
    )


@pytest.mark.spec("HP-142")
def test_the_months_of_a_correction_are_rewound_with_the_last_day_included() -> None:
    months = [f"2024-{month:02d}-01T00:00:00Z" for month in range(1, 9)]
    chunks = [
        done(number, window_piece(since, until))
        for number, (since, until) in enumerate(pairwise(months), start=1)
    ]

    plan = rewound(chunks, "2024-01-01", "2024-06-30", has_key=True)

    assert list(plan.supersede) == [(ChunkId(number),) for number in range(1, 7)]


def test_new_windows_in_time_are_cut_where_all_windows_are() -> None:
    chunks = [done(1, window_piece("2026-01-01T00:00:00Z"), "2026-04-10T00:00:00Z")]

    plan = rewound(chunks, "2026-01-20", "2026-03-10", has_key=True, length=Duration.parse("P1M"))

    assert [overlay.piece for overlay in plan.beside] == [
        window_piece("2026-01-20T00:00:00Z", "2026-02-01T00:00:00Z"),
        window_piece("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        window_piece("2026-03-01T00:00:00Z", "2026-03-11T00:00:00Z"),
    ]


def test_a_source_that_writes_its_cursors_as_numbers_is_taken_to_be_read_until_now() -> None:
    chunks = [done(1, window_piece("2026-05-01T00:00:00Z"), 1_777_777_777)]

    plan = rewound(chunks, "2026-05-10", "2026-06-30", has_key=True)

    assert plan.beside == (overlay(window_piece("2026-05-10T00:00:00Z", "2026-05-12T08:14:00.000001Z"), 1),)


def test_a_pass_is_read_again_as_a_whole_under_the_next_number() -> None:
    def part(number: int, until: int | None) -> Piece:
        window = Window(field="f", until=until)
        return Piece(kind=PieceKind.FULL, window=window, pass_number=number, pass_size=2)

    chunks = [done(1, part(1, 5)), done(2, part(1, None)), done(3, part(2, 5)), done(4, part(2, None))]

    plan = rewound(chunks, "1", "2", has_key=False)

    assert plan == Rewound(supersede={(ChunkId(3), ChunkId(4)): (part(3, 5), part(3, None))})


@pytest.mark.parametrize(
    "piece",
    [
        Piece(kind=PieceKind.SEGMENT),
        Piece(kind=PieceKind.SEGMENT, after={"next": "x"}),
        Piece(kind=PieceKind.TAIL, after={"lsn": "0/1"}),
    ],
)
def test_what_no_values_bound_cannot_be_rewound(piece: Piece) -> None:
    with pytest.raises(CannotRewind) as refused:
        rewound([done(1, piece)], "1", "2", has_key=True)

    assert refused.value.exit_code == 4
    assert str(refused.value) == (
        "table `orders` is read in the order of the source's own tokens, "
        "which do not tell where a range begins"
    )
    assert refused.value.hint == "read it anew from the start: `hakiri cursor reset`"


def test_a_range_of_dates_over_a_column_of_numbers_is_refused() -> None:
    with pytest.raises(RangeMisfit) as refused:
        rewound(HISTORY, "2024-01-01", "2024-06-30", has_key=True)

    assert str(refused.value) == "`2024-01-01T00:00:00Z` cannot be compared with numbers"


def test_sweeps_are_not_read_again() -> None:
    sweep = Piece(kind=PieceKind.SWEEP, window=Window(field="f", since=1, until=9), since_seq=3)

    assert rewound([done(1, sweep)], "1", "5", has_key=True).is_empty


@dataclass
class Ledger:
    """A source, and the chunks that were read from it as the store keeps them."""

    source: list[datetime] = field(default_factory=list)
    pieces: dict[int, Piece] = field(default_factory=dict)
    rows: dict[int, list[datetime]] = field(default_factory=dict)
    cursors: dict[int, Any] = field(default_factory=dict)
    superseded: set[int] = field(default_factory=set)

    def read(self, piece: Piece) -> list[datetime]:
        (slice_,) = sliced([piece], moment_of)
        chunk = len(self.pieces) + 1
        found = [value for value in self.source if slice_.holds(value)]
        self.pieces[chunk], self.rows[chunk] = piece, found
        self.cursors[chunk] = max(found).isoformat() if found else None
        return found

    @property
    def live(self) -> list[int]:
        return [chunk for chunk in self.pieces if chunk not in self.superseded]

    def cursor(self) -> Mapping[str, Any] | None:
        moving = [self.cursors[chunk] for chunk in self.live if self.pieces[chunk].is_open]
        known = [cursor for cursor in moving if cursor is not None]
        return {"f": known[-1]} if known else None

    def tick(self) -> None:
        self.read(next_tail(self.cursor(), open_edge(self.pieces.values(), {}), None, "f"))

    def rewind(self, span: ValueRange, *, has_key: bool) -> list[datetime]:
        """What was read again."""
        plan = rewind(
            [done(chunk, self.pieces[chunk], self.cursors[chunk]) for chunk in self.live],
            span,
            table="t",
            field="f",
            has_key=has_key,
            now=NOW,
            length=Duration.parse("7d"),
        )
        again: list[datetime] = []
        for old, new in plan.supersede.items():
            self.superseded |= set(old)
            again += [row for piece in new for row in self.read(piece)]
        return again + [row for overlay in plan.beside for row in self.read(overlay.piece)]


START = datetime(2026, 1, 1, tzinfo=UTC)
# Few different days, so that several rows have one value and ranges often begin with it.
offsets = st.integers(0, 100).map(lambda day: START + timedelta(days=day))


@settings(deadline=None)
@given(
    first=st.lists(offsets, max_size=20),
    later=st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=4),
    ranges=st.lists(st.tuples(offsets, offsets).map(sorted), min_size=1, max_size=3),
    has_key=st.booleans(),
)
def test_after_any_rewinds_every_row_is_there_and_the_range_was_read_again(
    first: list[datetime], later: list[list[int]], ranges: list[list[datetime]], has_key: bool
) -> None:
    ledger = Ledger(source=list(first))
    known = [value.isoformat() for value in ((min(first), max(first)) if first else ())]
    for piece in plan_table(facts_of(*known), knobs_of(window="20d"), NOW):
        ledger.read(piece)
    for steps in later:
        newest = max(ledger.source, default=START)
        ledger.source += [newest + timedelta(days=step) for step in steps]
        ledger.tick()

    for since, until in ranges:
        span = ValueRange(since=since.isoformat(), until=until.isoformat())
        wanted = Counter(value for value in ledger.source if since <= value < until)

        again = Counter(ledger.rewind(span, has_key=has_key))

        assert again >= wanted
        if has_key:
            assert all(again[value] == wanted[value] for value in wanted), "a row was read again twice"
        else:
            rows = Counter(row for chunk in ledger.live for row in ledger.rows[chunk])
            assert rows == Counter(ledger.source), "without a key, every row is there exactly once"
    ledger.tick()
    assert {row for rows in ledger.rows.values() for row in rows} == set(ledger.source)
    if not has_key:
        assert Counter(row for chunk in ledger.live for row in ledger.rows[chunk]) == Counter(ledger.source)
