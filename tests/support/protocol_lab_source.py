"""A source in memory, of every cursor kind, that writes down each read: for tries by the thousand."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration
from hakiri.pipelines.runtime.ground import CHUNKS_AT_ONCE
from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import Batch, Connector, Extent, Hint, Read, Table
from hakiri.sources.errors import PermanentFailure

FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
PARTS = ("east", "west")
TABLE = "items"
TROUBLE = "the list is lost"
_BATCH_ROWS = 5


class Row(NamedTuple):
    id: int
    day: int
    part: str
    v: str

    @property
    def at(self) -> datetime:
        return FIRST_DAY + timedelta(days=self.day)


class Change(NamedTuple):
    """What a change log says: an upsert, or a delete of which only the key is known."""

    number: int
    row: Row
    is_delete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A pipeline to try crashes with: what its source is like, and how large the pieces are."""

    name: str
    kind: CursorKind
    has_key: bool
    is_cursor: bool = True
    deletes: bool = False
    updates: bool = False
    parallelism: int | None = None
    chunks_at_once: int = CHUNKS_AT_ONCE
    segment_rows: int = 5

    @property
    def is_pass(self) -> bool:
        return self.kind is CursorKind.MONOTONIC and not self.is_cursor

    @property
    def tells_ops(self) -> bool:
        """Whether its rows say that they are deletes."""
        return self.kind is CursorKind.SNAPSHOT_ID


RECIPES = (
    Recipe(name="windows", kind=CursorKind.MONOTONIC, has_key=True, updates=True),
    Recipe(name="appends", kind=CursorKind.MONOTONIC, has_key=False, chunks_at_once=1),
    Recipe(name="tokens", kind=CursorKind.OPAQUE_TOKEN, has_key=False),
    Recipe(name="tokens with keys", kind=CursorKind.OPAQUE_TOKEN, has_key=True, segment_rows=4),
    Recipe(name="changes", kind=CursorKind.SNAPSHOT_ID, has_key=True, updates=True, deletes=True),
    Recipe(name="partitions", kind=CursorKind.PARTITIONED_MONOTONIC, has_key=False, parallelism=2),
    Recipe(
        name="passes",
        kind=CursorKind.MONOTONIC,
        has_key=False,
        is_cursor=False,
        updates=True,
        deletes=True,
        parallelism=2,
    ),
)


@dataclass(slots=True)
class Source:
    """The rows as they are, and every change that led to them."""

    recipe: Recipe
    log: Path
    rows: dict[int, Row] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    reads_left: int | None = None
    """How many reads there are before one fails; None is that none does."""

    def grow(self, count: int, chance: Random) -> None:
        """Add rows with later moments; where the kind can tell, change some and take some away."""
        known = sorted(self.rows)
        day = max((row.day for row in self.rows.values()), default=0)
        first = known[-1] + 1 if known else 1
        for number in range(first, first + count):
            day += 1
            self._put(Row(number, day, PARTS[number % len(PARTS)], f"value {number}"))
        if known and self.recipe.updates:
            changed = self.rows[chance.choice(known)]
            self._put(changed._replace(day=day + 1, v=f"{changed.v} again"))
        if known and self.recipe.deletes:
            gone = self.rows.pop(chance.choice(known))
            self.changes.append(Change(len(self.changes) + 1, gone, is_delete=True))

    def _put(self, row: Row) -> None:
        self.rows[row.id] = row
        self.changes.append(Change(len(self.changes) + 1, row, is_delete=False))

    def read(self, piece: Mapping[str, Any], limit: int | None) -> list[Change]:
        """What a read of this piece gives: the values of a window, or what comes after a cursor."""
        after = piece.get("after")
        if self.recipe.kind is CursorKind.SNAPSHOT_ID and after is not None:
            return [change for change in self.changes if change.number > after["number"]]
        rows = sorted(self.rows.values(), key=lambda row: (row.day, row.id))
        if self.recipe.kind is CursorKind.OPAQUE_TOKEN:
            rows = sorted(row for row in rows if after is None or row.id > after["token"])[:limit]
        elif after is not None and "at" in after:
            rows = [row for row in rows if row.at > datetime.fromisoformat(after["at"])]
        if window := piece.get("window"):
            rows = [row for row in rows if _is_inside(row.at, window)]
        if partition := piece.get("partition"):
            rows = [row for row in rows if row.part == partition["part"]]
        return [Change(0, row, is_delete=False) for row in rows]

    def cursor_after(self, given: Sequence[Change]) -> dict[str, Any] | None:
        if self.recipe.kind is CursorKind.SNAPSHOT_ID:
            return {"number": len(self.changes)}
        if not given:
            return None
        if self.recipe.kind is CursorKind.OPAQUE_TOKEN:
            return {"token": given[-1].row.id}
        return {"at": max(change.row.at for change in given).isoformat()}

    def note(self, piece: Mapping[str, Any]) -> None:
        """Write down that the piece was asked for, in one step that outlasts the process."""
        log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(log, f"{json.dumps(piece, sort_keys=True)}\n".encode())
        finally:
            os.close(log)

    def noted(self) -> list[str]:
        """Every read so far, by whatever process."""
        return self.log.read_text().splitlines() if self.log.exists() else []


def piece_key(predicate: str) -> str:
    """A chunk's predicate as the source notes the read of it."""
    said = json.loads(predicate)
    return json.dumps(
        {key: said[key] for key in ("after", "window", "partition") if key in said}, sort_keys=True
    )


def _is_inside(at: datetime, window: Mapping[str, Any]) -> bool:
    since, until = (window.get(end) for end in ("since", "until"))
    return (since is None or at >= datetime.fromisoformat(since)) and (
        until is None or at < datetime.fromisoformat(until)
    )


class ListedConfig(SourceConfig):
    pass


class ListedConnector(Connector):
    """Rows of the `Source` that this process was told of."""

    Config = ListedConfig
    summary = "rows of a list, with every read written down"
    source: Source

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        recipe = self.source.recipe
        return [
            Table(
                name=TABLE,
                schema=self._schema,
                primary_key=("id",) if recipe.has_key else (),
                cursor_fields=("at",),
                estimated_rows=len(self.source.rows),
            )
        ]

    def backfill_hint(self, table: str) -> Hint:
        recipe = self.source.recipe
        return Hint(
            cursor_kind=recipe.kind,
            cursor_field="at" if recipe.kind.is_cut else None,
            is_cursor=recipe.is_cursor,
            partition_keys=("part",) if recipe.kind is CursorKind.PARTITIONED_MONOTONIC else (),
            natural_window=Duration.parse("6d"),
        )

    def partitions(self, table: str) -> Sequence[Mapping[str, str]]:
        if self.source.recipe.kind is not CursorKind.PARTITIONED_MONOTONIC:
            return ({},)
        return tuple({"part": part} for part in PARTS)

    def extent(self, table: str, column: str) -> Extent:
        moments = [row.at.isoformat() for row in self.source.rows.values()]
        return Extent(lowest=min(moments), highest=max(moments), rows=len(moments), has_nulls=False)

    def open(self, read: Read) -> Iterator[Batch]:
        window = read.window
        piece: dict[str, Any] = {}
        if read.cursor is not None:
            piece["after"] = dict(read.cursor)
        if window is not None:
            ends = {"field": window.field, "since": window.since, "until": window.until}
            piece["window"] = {key: end for key, end in ends.items() if end is not None}
            piece["window"] |= {"has_nulls": True} if window.has_nulls else {}
        if read.partition:
            piece["partition"] = dict(read.partition)
        self.source.note(piece)
        if self.source.reads_left is not None:
            self.source.reads_left -= 1
            if self.source.reads_left < 0:
                raise PermanentFailure(TROUBLE)
        given = self.source.read(piece, read.limit)
        for start in range(0, len(given), _BATCH_ROWS):
            yield Batch(rows=self._arrow(given[start : start + _BATCH_ROWS]))
        yield Batch(rows=self._arrow([]), cursor=self.source.cursor_after(given))

    @property
    def _schema(self) -> pa.Schema:
        fields = {"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "part": pa.string(), "v": pa.string()}
        return pa.schema(fields | ({"_op": pa.string()} if self.source.recipe.tells_ops else {}))

    def _arrow(self, changes: Sequence[Change]) -> pa.RecordBatch:
        rows = [
            {
                "id": change.row.id,
                "at": change.row.at,
                "part": change.row.part,
                "v": change.row.v,
                "_op": "delete" if change.is_delete else "upsert",
            }
            for change in changes
        ]
        schema = self._schema
        kept = [{name: row[name] for name in schema.names} for row in rows]
        return pa.RecordBatch.from_pylist(kept, schema=schema)
