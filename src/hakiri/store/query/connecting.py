"""The one way to a connection that shows a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.store.errors import StoreError
from hakiri.store.layout import StoreLayout
from hakiri.store.names import literal, quoted

if TYPE_CHECKING:
    import duckdb

STORE = "store"
"""What the database of the views is called on every connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """What a connection shows: the newest published views, or those that `texts` make.

    `texts` are statements as `views/<t>.sql` has them; the views of another moment come this way. `at` is
    that moment, and `refused` says of tables that have no view then why that is.
    """

    layout: StoreLayout
    texts: tuple[str, ...] | None = None
    at: datetime | None = None
    refused: Mapping[str, StoreError] = field(default_factory=dict)

    @property
    def published(self) -> tuple[int, int] | None:
        """What changes whenever somebody publishes newer views; None while nothing is published."""
        if self.texts is not None:
            return None
        try:
            facts = self.layout.duck_db.stat()
        except OSError:
            return None
        return facts.st_ino, facts.st_mtime_ns


def connect(state: StoreState) -> duckdb.DuckDBPyConnection:
    """A connection that has every view of the state, and can change none.

    Writers may go on meanwhile; the connection stays with the views that it opened. Tables of its own are
    temporary. Close it, or use it in a `with` statement.
    """
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET parquet_metadata_cache = true")  # no file ever changes
    connection.execute("SET disable_parquet_prefetching = true")  # whole columns, for what may be one page
    attach(connection, state)
    return connection


def attach(connection: duckdb.DuckDBPyConnection, state: StoreState) -> None:
    """Give the connection the views of the state in a database of the name `store`, and go there."""
    if state.texts is None and _is_attached(connection, state.layout):
        return
    texts = state.texts
    if texts is None:
        texts = tuple(path.read_text("utf-8") for path in sorted(state.layout.views.glob("*.sql")))
    connection.execute(f"ATTACH ':memory:' AS {STORE}")
    connection.execute(f"USE {STORE}")
    for text in texts:
        connection.execute(text)


def attach_anew(connection: duckdb.DuckDBPyConnection, state: StoreState) -> bool:
    """Show the state on a connection that shows another; what is temporary on it stays.

    False, and it shows what it did before, if DuckDB does not let the other go.
    """
    import duckdb

    ((place,),) = connection.execute("SELECT current_database()").fetchall()
    connection.execute("USE memory")
    try:
        connection.execute(f"DETACH {STORE}")
    except duckdb.Error:
        connection.execute(f"USE {quoted(place)}")
        return False
    attach(connection, state)
    if place != STORE:
        connection.execute(f"USE {quoted(place)}")
    return True


def tables_on(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """The tables that the connection shows, by name; those of quarantined rows too."""
    found = connection.execute(
        "SELECT view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal ORDER BY 1", [STORE]
    )
    return tuple(name for (name,) in found.fetchall())


def _is_attached(connection: duckdb.DuckDBPyConnection, layout: StoreLayout) -> bool:
    """Whether the file of the views could be opened; somebody may have it open for writing, or damaged it."""
    import duckdb

    if not layout.duck_db.exists():
        return False
    try:
        connection.execute(f"ATTACH {literal(str(layout.duck_db))} AS {STORE} (READ_ONLY)")
        connection.execute(f"USE {STORE}")
    except duckdb.Error:
        connection.execute(f"DETACH DATABASE IF EXISTS {STORE}")
        return False
    return True
