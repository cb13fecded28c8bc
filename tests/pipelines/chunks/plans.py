"""Tables and knobs for tests of chunks, and a reader that takes pieces as a database would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.manifest import BackfillSpec
from hakiri.pipelines.chunks.knobs import Knobs, knobs_in_force
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.planning import TableFacts
from hakiri.sources.contract import Bound, Extent, Hint, Window

NOW = datetime(2026, 5, 12, 8, 14, tzinfo=UTC)
MILLION = 1_000_000


def hint_of(
    kind: CursorKind = CursorKind.MONOTONIC, *, window: str | None = None, rate: str | None = None
) -> Hint:
    return Hint(
        cursor_kind=kind,
        natural_window=Duration.parse(window) if window else None,
        rate_budget=Rate.parse(rate) if rate else None,
    )


def knobs_of(hint: Hint | None = None, *, partitions: int = 1, **backfill: Any) -> Knobs:
    return knobs_in_force(BackfillSpec(**backfill), hint or hint_of(), table="orders", partitions=partitions)


def facts_of(
    lowest: Bound | None = None,
    highest: Bound | None = None,
    *,
    rows: int | None = None,
    kind: CursorKind = CursorKind.MONOTONIC,
    field: str | None = "f",
    partitions: Sequence[Mapping[str, str]] = ({},),
    **others: Any,
) -> TableFacts:
    extent = Extent(lowest=lowest, highest=highest, rows=rows)
    return TableFacts(table="orders", kind=kind, field=field, extent=extent, partitions=partitions, **others)


def window_piece(since: Bound | None = None, until: Bound | None = None, **others: Any) -> Piece:
    nulls = others.pop("has_nulls", False)
    window = Window(field="f", since=since, until=until, has_nulls=nulls)
    return Piece(kind=PieceKind.WINDOW, window=window, **others)


def ends(pieces: Sequence[Piece]) -> list[tuple[Bound | None, Bound | None]]:
    """The two ends of each window."""
    return [(piece.window.since, piece.window.until) for piece in pieces if piece.window is not None]


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece with its ends as values of the column, read by Python alone: ints, dates or datetimes."""

    piece: Piece
    since: Any
    until: Any
    after: Any

    def holds(self, value: Any) -> bool:
        """Whether a database would find the row with this value in the column; None is a NULL."""
        if value is None:
            return self.after is None and (self.piece.window is None or self.piece.window.has_nulls)
        return (
            (self.since is None or self.since <= value)
            and (self.until is None or value < self.until)
            and (self.after is None or self.after < value)
        )


def sliced(pieces: Sequence[Piece], read: Callable[[Any], Any] = lambda bound: bound) -> list[Slice]:
    """The pieces as a database sees them; `read` makes a value of the column out of a bound."""

    def value(bound: Bound | None) -> Any:
        return None if bound is None else read(bound)

    return [
        Slice(
            piece,
            value(piece.window.since if piece.window else None),
            value(piece.window.until if piece.window else None),
            value((piece.after or {}).get("f")),
        )
        for piece in pieces
    ]


def moment_of(text: str) -> datetime:
    """A moment that has an offset."""
    moment = datetime.fromisoformat(text)
    assert moment.tzinfo is not None, f"`{text}` lost its offset"
    return moment


def local_moment_of(text: str) -> datetime:
    """A moment that has none."""
    moment = datetime.fromisoformat(text)
    assert moment.tzinfo is None, f"`{text}` won an offset"
    return moment
