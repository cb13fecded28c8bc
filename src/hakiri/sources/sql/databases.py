"""What the connector asks of a database, whichever it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from hakiri.sources.contract import Extent
from hakiri.sources.sql.reading import Asked
from hakiri.sources.sql.relations import Column, Relation

# A batch of rows has about this many bytes: fewer cost time, more cost memory and bring nothing.
BATCH_BYTES = 16 * 1024**2


class Session(Asked, Protocol):
    """A connection that only reads, and sees one state of the database from the first question on."""

    def relations(self, names: Collection[str] | None) -> Sequence[Relation]:
        """The tables and views with these names that are there; without names, all of the schema."""

    def extent(self, relation: Relation, column: Column) -> Extent:
        """Where the column's values begin and end, as far as that can be said without reading the table."""

    def about(self) -> str:
        """What was reached, in one line without a secret."""


class Database(Protocol):
    """Where sessions come from. Raises the errors of sources, never those of a driver."""

    def session(self, snapshot: str | None = None) -> AbstractContextManager[Session]:
        """A connection until the block ends; with a `snapshot`, one that sees that state."""

    def still(self) -> AbstractContextManager[str | None]:
        """Keep one state readable for other sessions until the block ends, where the database can."""

    def close(self) -> None:
        """Let go of what is kept from one session to the next."""
