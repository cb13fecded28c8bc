"""The store in a Python program: `hakiri.open_store("path/to/project").sql("SELECT …")`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hakiri.store.places import store_place
from hakiri.store.query.connecting import FindState, Shown
from hakiri.store.query.moving import newest_state

if TYPE_CHECKING:
    import duckdb

    from hakiri.store.layout import StoreLayout


class OpenStore:
    """The tables of a store, asked in SQL from one thread. Nothing in the store can be changed here."""

    def __init__(self, layout: StoreLayout, find: FindState) -> None:
        self._shown = Shown(layout, find)
        self.connection = self._shown.connection

    def sql(self, query: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyRelation:
        """What a query answers, with `?` for each of the values: `.fetchall()`, `.df()`, `.pl()`, `.arrow()`.

        It sees all that was committed before it was asked. Raises what DuckDB does, but for a table whose
        files keep it from being shown, where the error names the file.
        """
        import duckdb

        self._shown.refresh()
        try:
            return self.connection.sql(query, params=list(values))
        except duckdb.CatalogException as error:
            if why := self._shown.why_refused(error):
                raise why from error
            raise

    def tables(self) -> tuple[str, ...]:
        """What there is to ask, by name."""
        return self._shown.tables()

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
    return OpenStore(place.layout, partial(newest_state, place.layout, place.catalog))
