"""A piece of a table: what one chunk reads, as the catalog keeps it and as a connector is asked for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hakiri.core.canonical import canonical_json
from hakiri.pipelines.chunks.errors import BadPiece
from hakiri.sources.contract import Cursor, Read, Window

if TYPE_CHECKING:
    import pyarrow as pa

_KEYS = frozenset({"kind", "window", "partition", "after", "pass", "pass_size", "since_seq"})
_WINDOW_KEYS = frozenset({"field", "since", "until", "has_nulls"})
_ESCAPED_IN_TABLE = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%#"})
_ESCAPED = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%#,="})


class PieceKind(StrEnum):
    """How a piece is bounded."""

    WINDOW = "window"
    """Values of a column between two ends, of which one or both may be open."""
    TAIL = "tail"
    """What came after a cursor, to the end."""
    FULL = "full"
    """A part of a pass over a whole table that has no cursor to go on from."""
    SEGMENT = "segment"
    """The next rows after a cursor that only the source understands, in its order."""
    SWEEP = "sweep"
    """No rows: the keys that a pass or a window that was read again did not bring are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one chunk reads. Equal pieces have equal texts.

    - `window`: the values it is bounded by; with `after` as well, it goes on inside of them.
    - `after`: the cursor from which it goes on; None is from the start.
    - `pass_number` and `pass_size`: which pass over the whole table it is a part of, and in how many parts
      that pass is read, where this is known before.
    - `since_seq`: a sweep deletes what no claim from this number on has brought.
    """

    kind: PieceKind
    window: Window | None = None
    partition: Mapping[str, str] = field(default_factory=dict)
    after: Cursor | None = None
    pass_number: int | None = None
    pass_size: int | None = None
    since_seq: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether rows that are written later may belong to it, so that reading it moves its stream on."""
        match self.kind:
            case PieceKind.WINDOW:
                return self.window is None or self.window.until is None
            case PieceKind.TAIL | PieceKind.SEGMENT:
                return True
            case PieceKind.FULL | PieceKind.SWEEP:
                return False

    @property
    def is_read_in_order(self) -> bool:
        """Whether it may be broken off at a number of rows, and gone on with after the cursor."""
        return self.kind in (PieceKind.TAIL, PieceKind.SEGMENT) and self.window is None

    def text(self) -> str:
        """The canonical JSON that the catalog keeps as the chunk's predicate. What is None is left out."""
        window = self.window
        said: dict[str, Any] = {
            "kind": self.kind.value,
            "window": None if window is None else _window_facts(window),
            "partition": dict(self.partition) or None,
            "after": None if self.after is None else dict(self.after),
            "pass": self.pass_number,
            "pass_size": self.pass_size,
            "since_seq": self.since_seq,
        }
        return canonical_json({key: value for key, value in said.items() if value is not None})

    @classmethod
    def parse(cls, text: str) -> Piece:
        """The piece that has this text. Raises BadPiece, also for what a later version may have written."""
        try:
            said = json.loads(text)
        except ValueError as error:
            raise BadPiece(text, "it is not JSON") from error
        if not isinstance(said, dict) or said.get("kind") not in list(PieceKind):
            raise BadPiece(text, "it is of no kind that is known")
        if unknown := sorted(said.keys() - _KEYS):
            raise BadPiece(text, f"`{unknown[0]}` is not known")
        piece = cls(
            kind=PieceKind(said["kind"]),
            window=_window(said.get("window"), text),
            partition=said.get("partition", {}),
            after=said.get("after"),
            pass_number=said.get("pass"),
            pass_size=said.get("pass_size"),
            since_seq=said.get("since_seq"),
        )
        if not _is_well_formed(piece):
            raise BadPiece(text, "a value is of another type than it should be")
        return piece


def reads(
    piece: Piece,
    *,
    table: str,
    incremental: str | None = None,
    schema: pa.Schema | None = None,
    snapshot: str | None = None,
    limit: int | None = None,
) -> Read:
    """What a connector is asked for. The limit holds only where the read can go on after it."""
    return Read(
        table=table,
        cursor=piece.after,
        incremental=incremental,
        window=piece.window,
        partition=piece.partition,
        snapshot=snapshot,
        schema=schema,
        limit=limit if piece.is_read_in_order else None,
    )


def stream_name(table: str, partition: Mapping[str, str]) -> str:
    """The name under which the cursor of a table, or of one partition of it, is kept.

    `issues`, or `issues#repo=torvalds/linux`. The signs `%#,=` are written as in a URL, so that no two
    streams have one name.
    """
    name = table.translate(_ESCAPED_IN_TABLE)
    parts = [f"{key.translate(_ESCAPED)}={partition[key].translate(_ESCAPED)}" for key in sorted(partition)]
    return f"{name}#{','.join(parts)}" if parts else name


def stream_of(name: str) -> tuple[str, dict[str, str]]:
    """The table and the partition that have this stream name."""
    table, _, rest = name.partition("#")
    pairs = [part.partition("=") for part in rest.split(",")] if rest else []
    return unquote(table), {unquote(key): unquote(value) for key, _, value in pairs}


def _window_facts(window: Window) -> dict[str, Any]:
    said: dict[str, Any] = {"field": window.field, "since": window.since, "until": window.until}
    said["has_nulls"] = window.has_nulls or None
    return {key: value for key, value in said.items() if value is not None}


def _window(said: Any, text: str) -> Window | None:
    if said is None:
        return None
    if not isinstance(said, dict) or said.keys() - _WINDOW_KEYS or "field" not in said:
        raise BadPiece(text, "its window has other keys than it should have")
    return Window(
        field=said["field"],
        since=said.get("since"),
        until=said.get("until"),
        has_nulls=said.get("has_nulls", False),
    )


def _is_well_formed(piece: Piece) -> bool:
    window = piece.window
    numbers = (piece.pass_number, piece.pass_size, piece.since_seq)
    return (
        (piece.after is None or isinstance(piece.after, dict))
        and isinstance(piece.partition, dict)
        and all(isinstance(value, str) for value in piece.partition.values())
        and all(number is None or type(number) is int for number in numbers)
        and (
            window is None
            or (
                isinstance(window.field, str)
                and isinstance(window.has_nulls, bool)
                and all(end is None or type(end) in (int, str) for end in (window.since, window.until))
            )
        )
    )
