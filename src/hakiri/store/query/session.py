"""A person's connection to a store: statements in, answers out, and nothing of the store changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hakiri.store.names import quoted
from hakiri.store.query.beside import Beside
from hakiri.store.query.connecting import FindState, Shown, StoreState
from hakiri.store.query.errors import QueryFailed, SqlRefused, WritesIntoStore
from hakiri.store.query.failures import DAMAGE_HINT
from hakiri.store.query.guarding import written_into
from hakiri.store.query.lexing import statement_end
from hakiri.store.query.values import Column, Form, select_list

if TYPE_CHECKING:
    import duckdb

    from hakiri.store.layout import StoreLayout

Row = tuple[Any, ...]
MakeTables = Callable[["duckdb.DuckDBPyConnection"], None]
# Those whose answer another statement can read as a table; `PIVOT` becomes several.
_QUERIES = frozenset({"SELECT", "MULTI"})
# Those that answer with a number of rows, unless they are asked for the rows themselves.
_CHANGES = frozenset({"DELETE", "INSERT", "MERGE_INTO", "UPDATE"})
_COUNTS = frozenset({"COPY", "CREATE"})
_BEGIN = re.compile(r"begin|start", re.IGNORECASE)
_RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)
_SETTINGS = (
    "SET python_enable_replacements = false",  # a table is never a variable of this program
    "SET TimeZone = 'UTC'",  # moments read alike on every machine
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
)
_SYSTEM = re.compile(r"\bhakiri\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement of a text, as DuckDB's own parser has found it.

    `line` is the one of the text that it begins in; from 0 on.
    """

    sql: str
    kind: str
    has_rows: bool
    line: int

    @property
    def is_query(self) -> bool:
        return self.kind in _QUERIES


class Answer:
    """The rows of a statement, which come as they are asked for."""

    def __init__(self, session: Session, columns: Sequence[Column], *, lines_before: int) -> None:
        self._session = session
        self._lines_before = lines_before
        self.columns = tuple(columns)

    def fetch(self, most: int) -> list[Row]:
        """The next rows; none when there are no more. Raises what keeps DuckDB from making them."""
        with self._session.failures_told(lines_before=self._lines_before, is_bound=True):
            return self._session.connection.fetchmany(most)

    def count_rest(self, most: int) -> tuple[int, bool]:
        """How many rows are left, and whether these are all; stops counting at `most`."""
        counted = 0
        while rows := self.fetch(min(_FEW_ROWS, most - counted)):
            counted += len(rows)
            if counted == most:
                return counted, not self.fetch(1)
        return counted, True


_FEW_ROWS = 2048
_STOPPED = "Query interrupted"  # what DuckDB says in the thread that Ctrl-C comes to


class Session:
    """One connection. One thread asks; any other may interrupt it, or look how far it is.

    `find` gives the state of the store that it is to show, and is called again after somebody has published.
    `make_tables` makes `hakiri.tables` on the connection; it is called only if a statement names it.
    """

    def __init__(self, layout: StoreLayout, find: FindState, make_tables: MakeTables) -> None:
        self._layout = layout
        self._make_tables = make_tables
        self._is_in_transaction = False
        self._beside: Beside | None = None
        self._shown = Shown(layout, find)
        self.connection = self._shown.connection
        with self.failures_told():
            for setting in _SETTINGS:
                self.connection.execute(setting)

    @property
    def layout(self) -> StoreLayout:
        return self._layout

    @property
    def state(self) -> StoreState:
        return self._shown.state

    def split(self, text: str) -> list[Statement]:
        """The statements of a text; none if it has only blanks and comments. Raises SqlRefused."""
        _refuse_other_bytes(text)
        with self.failures_told():
            found = self.connection.extract_statements(text)
        statements, at = [], 0
        for each in found:
            at = max(text.find(each.query, at), at)
            # Without its semicolon, and whatever is said behind that.
            sql, kind = each.query[: statement_end(each.query)].strip(), each.type.name
            says = {result.name for result in each.expected_result_type}
            begun = at + len(each.query) - len(each.query.lstrip())
            statements.append(
                Statement(
                    sql=sql, kind=kind, has_rows=_has_rows(kind, sql, says), line=text.count("\n", 0, begun)
                )
            )
            at += len(each.query)
        return statements

    def prepare(self, text: str) -> None:
        """Make what the text names and no view has: the system tables, as they are now."""
        if _SYSTEM.search(text):
            with self.failures_told():
                self._make_tables(self.connection)

    def run(self, statement: Statement) -> int | None:
        """Do a statement whose rows nobody wants; how many rows it changed, if it says so."""
        self.check(statement)
        with self.failures_told(lines_before=-statement.line):
            done = self.connection.execute(statement.sql)
            row = None if statement.has_rows else done.fetchone()
        if statement.kind == "TRANSACTION":
            self._is_in_transaction = _BEGIN.match(statement.sql) is not None
        is_count = row is not None and isinstance(row[0], int) and not isinstance(row[0], bool)
        return row[0] if row is not None and is_count else None

    def ask(self, statement: Statement, form: Form) -> Answer:
        """Begin a statement, and give its answer before all of its rows are there."""
        self.check(statement)
        columns = self.columns(statement) if statement.is_query else []
        selected = select_list(columns, form)
        if selected is None:
            with self.failures_told(lines_before=-statement.line, is_bound=statement.is_query):
                done = self.connection.execute(statement.sql)
                known = [Column(name, str(kind)) for name, kind, *_ in done.description or ()]
                return Answer(self, known, lines_before=-statement.line)
        with self.failures_told(lines_before=1 - statement.line, is_bound=True):
            # What the person has written runs as it is anyway.
            self.connection.execute(f"SELECT {selected} FROM (\n{statement.sql}\n)")  # noqa: S608
            return Answer(self, columns, lines_before=1 - statement.line)

    def columns(self, statement: Statement) -> list[Column]:
        """What a query answers with, without running it; none for what DuckDB does not describe."""
        import duckdb

        with self.failures_told(lines_before=1 - statement.line):
            try:
                found = self.connection.execute(f"DESCRIBE\n{statement.sql}").fetchall()
            except duckdb.ParserException:
                return []  # `DESCRIBE` itself, before DuckDB 2
        return [Column(name, kind) for name, kind, *_ in found]

    def check(self, statement: Statement) -> None:
        """Raises WritesIntoStore for a statement that would write there."""
        path = written_into(self._layout.root, kind=statement.kind, sql=statement.sql)
        if path is not None:
            raise WritesIntoStore(path)

    def tables(self) -> tuple[str, ...]:
        """What there is to ask, by name."""
        with self.failures_told():
            return self._shown.tables()

    def describe(self, table: str) -> list[tuple[str, str]]:
        """The columns of a table with their types. Raises UnknownTable."""
        with self.failures_told():
            found = self.connection.execute(f"DESCRIBE {quoted(table)}").fetchall()
        return [(name, kind) for name, kind, *_ in found]

    def keywords(self) -> tuple[str, ...]:
        """The words of DuckDB's SQL."""
        with self.failures_told():
            found = self.connection.execute("SELECT keyword_name FROM duckdb_keywords() ORDER BY 1")
            return tuple(word for (word,) in found.fetchall())

    def progress(self) -> float | None:
        """How far the running statement is, from 0 to 1; None if DuckDB cannot tell."""
        percent = self.connection.query_progress()
        return percent / 100 if percent >= 0 else None

    def beside(self, work: Callable[[], None]) -> Beside:
        """Work with the connection in another thread, while this one does nothing with it."""
        self._beside = Beside(work, self.connection.interrupt)
        return self._beside

    def refresh(self) -> bool:
        """Show the newest views if others were published since; not within a transaction."""
        if self._is_in_transaction:
            return False
        with self.failures_told():
            return self._shown.refresh()

    def close(self) -> None:
        if self._beside is not None:
            self._beside.call_off()  # DuckDB would wait for its end
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def failures_told(self, *, lines_before: int = 0, is_bound: bool = False) -> Iterator[None]:
        """Raise what DuckDB raises in our words.

        See `failures.in_our_words` for what it is told.
        """
        import duckdb

        try:
            yield
        except duckdb.InterruptException as error:
            raise KeyboardInterrupt from error
        except RuntimeError as error:
            if str(error) == _STOPPED:
                raise KeyboardInterrupt from error
            raise
        except UnicodeDecodeError as error:  # a file has put its bytes into a message of DuckDB
            raise QueryFailed("DuckDB cannot say in UTF-8 what is wrong", DAMAGE_HINT) from error
        except duckdb.Error as error:
            raise self._shown.in_our_words(error, lines_before=lines_before, is_bound=is_bound) from error


def _refuse_other_bytes(text: str) -> None:
    """Raise SqlRefused for a text with bytes that are no UTF-8, which Python has as halves of signs."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise SqlRefused(
            f"line {line} has bytes that are no UTF-8", "write the statements in UTF-8"
        ) from error


def _has_rows(kind: str, sql: str, says: set[str]) -> bool:
    """Whether a statement answers with rows, as far as that can be known before it runs."""
    if kind in _CHANGES:
        return _RETURNING.search(sql) is not None
    return "QUERY_RESULT" in says and kind not in _COUNTS
