"""The store in a Python program: `hakiri.open_store("path/to/project").sql("SELECT …")`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hakiri.store.places import store_place
from hakiri.store.query.connecting import StoreState, attach_anew, connect, tables_on
from hakiri.store.query.moving import newest_state

if TYPE_CHECKING:
    import duckdb


class OpenStore:
    """The tables of a store, asked in SQL from one thread. Nothing in the store can be changed here."""

    def __init__(self, state: StoreState) -> None:
        self._state = state
        self._shown = state.published
        self.connection = connect(state)

    def sql(self, query: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyRelation:
        """What a query answers, with `?` for each of the values: `.fetchall()`, `.df()`, `.pl()`, `.arrow()`.

        It sees all that was committed before it was asked.
        """
        newest = self._state.published
        if newest != self._shown and attach_anew(self.connection, self._state):
            self._shown = newest
        return self.connection.sql(query, params=list(values))

    def tables(self) -> tuple[str, ...]:
        """What there is to ask, by name."""
        return tables_on(self.connection)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(project: Path | str = ".") -> OpenStore:
    """The store of the project in this folder. Raises NoProject, ManifestInvalid and StoreTooNew."""
    place = store_place(Path(project), os.environ)
    state, _ = newest_state(place.layout, place.catalog)
    return OpenStore(state)
