"""The one way to a connection that shows a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.store.errors import StoreError
from hakiri.store.layout import StoreLayout
from hakiri.store.names import literal, quoted
from hakiri.store.query.errors import UnknownTable
from hakiri.store.query.failures import in_our_words
from hakiri.store.view_heads import root_shown

if TYPE_CHECKING:
    import duckdb

STORE = "store"
"""What the database of the views is called on every connection."""
_ASIDE = "__quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """What a connection shows: the newest published views, or those that `texts` make, by their tables.

    The texts are statements as `views/<t>.sql` has them; views of another moment come this way, and those of
    a store that was moved here from the folder `moved_from`. `at` is the moment, unless it is the present,
    and `refused` says of tables that have no view why that is.
    """

    layout: StoreLayout
    texts: Mapping[str, str] | None = None
    at: datetime | None = None
    moved_from: str | None = None
    refused: Mapping[str, StoreError] = field(default_factory=dict)


FindState = Callable[[], StoreState]


class Shown:
    """A connection that has every view of a store, and can change none; what it shows is as new as wanted.

    Writers may go on meanwhile; the connection stays with the views that it opened until `refresh`, which
    asks `find` for the state of then. Tables of its own are temporary.
    """

    def __init__(self, layout: StoreLayout, find: FindState) -> None:
        self._layout = layout
        self._find = find
        # Before the state is found: what is published meanwhile is then found again.
        self._seen = published(layout)
        self.state = find()
        self.connection, self._refused = _connect(self.state)

    def refresh(self) -> bool:
        """Show the newest state if other views were published since; what is temporary stays.

        False if none were, if the state is one of the past, or if DuckDB does not let go of what it shows.
        """
        newest = published(self._layout)
        if self.state.at is not None or newest is None or newest == self._seen:
            return False
        state = self._find()
        refused = _attach_anew(self.connection, state)
        if refused is None:
            return False
        self._seen, self.state, self._refused = newest, state, refused
        return True

    def tables(self) -> tuple[str, ...]:
        """The tables that it shows, by name; those of quarantined rows too."""
        found = self.connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal ORDER BY 1",
            [STORE],
        )
        return tuple(name for (name,) in found.fetchall())

    def in_our_words(
        self, error: duckdb.Error, *, lines_before: int = 0, is_bound: bool = False
    ) -> StoreError:
        """The error that a person reads, for one of DuckDB; of a table without a view, why it has none."""
        told = in_our_words(
            error,
            root=self._layout.root,
            tables=self.tables,
            lines_before=lines_before,
            is_bound=is_bound,
        )
        return self._why_no_view(told) or told

    def why_refused(self, error: duckdb.Error) -> StoreError | None:
        """Why the table that DuckDB does not know has no view; None if that is not what went wrong."""
        return self._why_no_view(in_our_words(error, root=self._layout.root, tables=tuple))

    def _why_no_view(self, told: StoreError) -> StoreError | None:
        if not isinstance(told, UnknownTable):
            return None
        return self._refused.get(told.table) or self._refused.get(told.table.removesuffix(_ASIDE))


def connect(layout: StoreLayout) -> duckdb.DuckDBPyConnection:
    """A connection that has the newest published views, and can change none.

    Close it, or use it in a `with` statement.
    """
    return _connect(StoreState(layout=layout))[0]


def published(layout: StoreLayout) -> tuple[int, int] | None:
    """What changes whenever somebody publishes newer views; None while nothing is published."""
    try:
        facts = layout.duck_db.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns


def _connect(state: StoreState) -> tuple[duckdb.DuckDBPyConnection, dict[str, StoreError]]:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET parquet_metadata_cache = true")  # no file ever changes
    connection.execute("SET disable_parquet_prefetching = true")  # whole columns, for what may be one page
    return connection, _attach(connection, state)


def _attach(connection: duckdb.DuckDBPyConnection, state: StoreState) -> dict[str, StoreError]:
    """Give the connection the views of the state in a database of the name `store`, and go there.

    What keeps tables from having one is returned: the others are there.
    """
    import duckdb

    if state.texts is None and _is_attached(connection, state.layout):
        return {}
    connection.execute(f"ATTACH ':memory:' AS {STORE}")
    connection.execute(f"USE {STORE}")
    texts = _texts_on_disk(state.layout) if state.texts is None else state.texts
    refused = dict(state.refused)
    for table, text in texts.items():
        try:
            connection.execute(text)
        except duckdb.Error as error:
            refused[table] = in_our_words(error, root=state.layout.root, tables=tuple, is_bound=True)
    return refused


def _attach_anew(connection: duckdb.DuckDBPyConnection, state: StoreState) -> dict[str, StoreError] | None:
    """Show the state on a connection that shows another; what is temporary on it stays.

    None, and it shows what it did before, if DuckDB does not let the other go.
    """
    import duckdb

    ((place,),) = connection.execute("SELECT current_database()").fetchall()
    connection.execute("USE memory")
    try:
        connection.execute(f"DETACH {STORE}")
    except duckdb.Error:
        connection.execute(f"USE {quoted(place)}")
        return None
    refused = _attach(connection, state)
    if place != STORE:
        connection.execute(f"USE {quoted(place)}")
    return refused


def _texts_on_disk(layout: StoreLayout) -> dict[str, str]:
    """The texts of `views/`, but for files that somebody else has put there."""
    paths = (path for path in sorted(layout.views.glob("*.sql")) if path.is_file())
    texts = {path.stem: path.read_text("utf-8", errors="replace") for path in paths}
    return {table: text for table, text in texts.items() if root_shown(text) is not None}


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
