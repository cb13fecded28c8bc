"""What the roles need of a SQL database, and what every value looks like on its way there and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import islice
from typing import Any, Protocol, TypeVar

from hakiri.catalog.errors import UnstorableText

Row = Mapping[str, Any]
Values = Mapping[str, object]
Result = TypeVar("Result")
Item = TypeVar("Item")


class Transaction(Protocol):
    """Statements that happen together. A statement is known by its name in the `.sql` files."""

    def run(self, name: str, **values: object) -> int:
        """Run a statement and say how many rows it touched."""

    def one(self, name: str, **values: object) -> Row | None:
        """The first row of an answer, or None."""

    def all(self, name: str, **values: object) -> list[Row]:
        """All rows of an answer."""

    def fill(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> int:
        """Insert many rows the fastest way there is, and say how many."""


class Database(Protocol):
    """A pool of connections to one database."""

    location: str
    """Where it is, without a password, for errors and reports."""

    clocks_apart: timedelta
    """How far the clocks of those may be apart who have it open; nothing if all are on one machine."""

    def one(self, name: str, **values: object) -> Row | None:
        """One statement that only reads: its first row, or None."""

    def all(self, name: str, **values: object) -> list[Row]:
        """One statement that only reads: all its rows."""

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Let `work` read the state of one moment."""

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Let `work` change the state: all of it is kept, on disk, when this returns; none if it raises.

        `work` may be called again when others were in the way, so it changes nothing but through its
        transaction.
        """

    def close(self) -> None:
        """Give everything back."""


def storable(name: str, value: object) -> object:
    """The value as all databases can keep it. Raises UnstorableText."""
    if isinstance(value, str):
        if "\0" in value:
            raise UnstorableText(name)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise UnstorableText(name) from None
        return value.value if isinstance(value, Enum) else value
    return value


def listed(name: str, rows: Iterable[tuple[object, ...]]) -> str:
    """Many rows as one value: a JSON object of arrays, which all databases open with `json_each` and `->>`.

    In JSON a NUL is written as text that no later check would notice, so every value is checked here.
    """
    checked = ([storable(name, value) for value in row] for row in rows)
    return json.dumps({str(number): row for number, row in enumerate(checked)}, ensure_ascii=False)


def parts_of(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in their order, at most so many at a time."""
    remaining = iter(items)
    while part := list(islice(remaining, size)):
        yield part


def legible(message: str | None) -> str | None:
    """A message from outside, with what databases cannot keep written out."""
    return message and message.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def built(build: Callable[[Row], Result], row: Row | None) -> Result | None:
    """What `build` makes of the row, if there is one."""
    return None if row is None else build(row)


def sure(row: Row | None) -> Row:
    """The row of a statement that always answers."""
    if row is None:
        raise LookupError("a statement that always answers gave no row")
    return row


def moment(value: Any) -> datetime:
    """A moment that came from the database, in UTC."""
    stored: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return stored.astimezone(UTC)


def moment_or_none(value: Any) -> datetime | None:
    """The same for a column that may be empty."""
    return None if value is None else moment(value)
