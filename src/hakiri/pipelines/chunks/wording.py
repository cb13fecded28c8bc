"""A piece in words for people, and as a predicate for traces."""

from __future__ import annotations

from collections.abc import Mapping

from hakiri.core.canonical import canonical_json
from hakiri.core.grammar.text import shortened
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.sources.contract import Bound, Cursor, Window


def describe(piece: Piece) -> str:
    """What the piece reads: `created_at from 2020-01-01 until 2020-02-01, repo torvalds/linux`."""
    where = ", ".join(f"{key} {value}" for key, value in sorted(piece.partition.items()))
    return ", ".join(filter(None, [_subject(piece), where]))


def predicate_text(piece: Piece) -> str:
    """The piece as SQL would say it, for traces and logs; nobody runs it.

    `BETWEEN` is how plans of chunks are usually written; the upper end itself belongs to the next chunk.
    """
    conditions = [f"{key} = {_literal(value)}" for key, value in sorted(piece.partition.items())]
    if piece.window is not None:
        conditions += _window_conditions(piece.window, is_alone=not conditions and piece.after is None)
    if piece.after is not None:
        conditions.append(_after_condition(piece.after))
    return " AND ".join(conditions) or "TRUE"


def _subject(piece: Piece) -> str:
    window = "the whole table" if piece.window is None else _window_words(piece.window)
    if piece.kind is PieceKind.FULL:
        return f"pass {piece.pass_number}, {window}"
    if piece.kind is PieceKind.SWEEP:
        return f"rows that are gone, {window}"
    if piece.window is not None:
        return window
    what = "the first rows" if piece.kind is PieceKind.SEGMENT else "everything"
    if piece.after is None:
        return what
    return f"{what.replace('first', 'next')} after {_cursor_words(piece.after)}"


def _window_words(window: Window) -> str:
    ends = [f"from {window.since}" if window.since is not None else "", f"until {window.until}"]
    if window.until is None:
        ends[1] = "on" if window.since is not None else ""
    words = " ".join(filter(None, [window.field, *ends]))
    if window.since is None and window.until is None:
        return f"all of {words}"
    return f"{words} and without a value" if window.has_nulls else words


def _window_conditions(window: Window, *, is_alone: bool) -> list[str]:
    field, since, until = window.field, window.since, window.until
    if since is not None and until is not None:
        said = f"{field} BETWEEN {_literal(since)} AND {_literal(until)}"
    elif since is not None:
        said = f"{field} >= {_literal(since)}"
    elif until is not None:
        said = f"{field} < {_literal(until)}"
    else:
        return [] if window.has_nulls else [f"{field} IS NOT NULL"]
    if not window.has_nulls:
        return [said]
    said = f"{said} OR {field} IS NULL"
    return [said if is_alone else f"({said})"]


def _after_condition(after: Cursor) -> str:
    if len(after) == 1:
        ((field, value),) = after.items()
        if type(value) in (int, str):
            return f"{field} > {_literal(value)}"
    return f"AFTER {shortened(canonical_json(after))}"


def _cursor_words(after: Mapping[str, object]) -> str:
    values = [str(value) for value in after.values()]
    return shortened(values[0] if len(values) == 1 else canonical_json(after))


def _literal(bound: Bound) -> str:
    return str(bound) if isinstance(bound, int) else "'" + shortened(bound).replace("'", "''") + "'"
