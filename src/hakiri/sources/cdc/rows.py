"""Messages of a slot as rows of one table: whole transactions, in the order of their commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from hakiri.sources.cdc.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Delete,
    Insert,
    Message,
    Note,
    Relation,
    Truncate,
    Update,
    Values,
)
from hakiri.sources.cdc.positions import REWIND
from hakiri.sources.cdc.snapshot import UPSERT
from hakiri.sources.cdc.tables import Column, SourceTable
from hakiri.sources.cdc.types import arrow_type, may_become
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible

DELETE = "delete"


@dataclass(slots=True)
class Rows:
    """Rows of a table in the order of the log, by the table's own columns.

    `unknown` are the places of rows with a large value that was not sent. `xids` are the transactions that
    these rows came from: the table shows what they did only once they are visible.
    """

    ops: list[str] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)
    xids: set[int] = field(default_factory=set)
    size_bytes: int = 0

    def add(self, op: str, values: Values, xid: int, size_bytes: int) -> None:
        if UNCHANGED in values:
            self.unknown.append(len(self.ops))
            self.xids.add(xid)
        self.ops.append(op)
        self.values.append(values)
        self.size_bytes += size_bytes

    def extend(self, later: Rows) -> None:
        self.unknown += [len(self.ops) + place for place in later.unknown]
        self.ops += later.ops
        self.values += later.values
        self.xids |= later.xids
        self.size_bytes += later.size_bytes

    def __len__(self) -> int:
        return len(self.ops)


class Assembler:
    """Takes messages one by one. `whole` has the rows of transactions that are complete, `begun` the rows
    of the one that is under way; whoever takes rows away puts empty ones in their place."""

    def __init__(self, table: SourceTable, columns: Sequence[Column]) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._key = [place for place, column in enumerate(columns) if column.name in table.key]
        self._places: list[int | None] = []
        self._xid = 0
        self._size_bytes = 0
        self.whole = Rows()
        self.begun = Rows()
        self.is_between_transactions = True

    def take(self, message: Message, size_bytes: int) -> None:
        """Raises PermanentFailure and SchemaIncompatible for changes that cannot be told row by row."""
        self._size_bytes = size_bytes
        match message:
            case Insert() | Update() | Delete():
                if message.relation == self._table.oid:
                    self._take_change(message)
            case Begin():
                self._xid, self.is_between_transactions = message.xid, False
            case Commit():
                self.whole.extend(self.begun)
                self.begun, self.is_between_transactions = Rows(), True
            case Relation():
                if message.oid == self._table.oid:
                    self._places = self._places_in(message)
            case Truncate():
                if self._table.oid in message.relations:
                    raise PermanentFailure(
                        f"table `{self._table.name}` was emptied with TRUNCATE, which names no rows",
                        hint=REWIND,
                    )
            case Note():
                return
            case _:
                assert_never(message)

    def _take_change(self, change: Insert | Update | Delete) -> None:
        if isinstance(change, Insert):
            self.begun.add(UPSERT, self._ordered(change.new), self._xid, self._size_bytes)
            return
        old = self._ordered(change.old) if change.old is not None else None
        if isinstance(change, Update):
            new = self._ordered(change.new)
            if old is not None:
                self._fill(new, old, is_old_whole=change.is_old_whole)
                if any(old[place] != new[place] for place in self._key):
                    self._add_delete(old)
            self.begun.add(UPSERT, new, self._xid, self._size_bytes)
        elif old is not None:
            self._add_delete(old)

    def _add_delete(self, old: Values) -> None:
        values: Values = [None] * len(old)
        for place in self._key:
            values[place] = old[place]
        self.begun.add(DELETE, values, self._xid, self._size_bytes)

    def _fill(self, new: Values, old: Values, *, is_old_whole: bool) -> None:
        """Take large values that did not change from the old row, as far as it was sent."""
        for place in range(len(new)) if is_old_whole else self._key:
            if new[place] is UNCHANGED:
                new[place] = old[place]

    def _ordered(self, values: Values) -> Values:
        return [None if place is None else values[place] for place in self._places]

    def _places_in(self, relation: Relation) -> list[int | None]:
        """Where each of our columns stands in the rows that follow, which may have an older form."""
        places = {column.name: place for place, column in enumerate(relation.columns)}
        identity = {column.name for column in relation.columns if column.is_in_identity}
        lost = [name for name in self._table.key if name not in identity]
        if lost:
            raise SchemaIncompatible(
                f"the key of table `{self._table.name}` has changed: changes do not tell `{lost[0]}`",
                hint=REWIND,
            )
        for column in self._columns:
            if column.name not in places:
                continue
            then = relation.columns[places[column.name]]
            if (then.type_oid, then.modifier) == (column.type_oid, column.modifier):
                continue
            if not may_become(arrow_type(then.type_oid, then.modifier, {}), column.kind):
                raise SchemaIncompatible(
                    f"column `{column.name}` of table `{self._table.name}` is {column.type_text} now, and "
                    "changes that were not read yet were made with another type",
                    hint=REWIND,
                )
        # A column that was added later has no value in any row of before: else the read had been refused.
        return [places.get(column.name) for column in self._columns]
