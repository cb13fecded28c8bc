"""Whole answers as files and streams, written by DuckDB itself, in memory that does not grow with them."""

from __future__ import annotations

import csv
import io
import os
import re
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from hakiri.store.names import literal
from hakiri.store.query.beside import Beside
from hakiri.store.query.errors import NotAFile, NotAQuery, WritesIntoStore
from hakiri.store.query.guarding import is_inside
from hakiri.store.query.session import Answer, Session, Statement
from hakiri.store.query.values import Form

PIECE_BYTES = 1 << 20
_ROWS_AT_ONCE = 2048


def write_parquet(session: Session, statement: Statement, target: Path) -> int:
    """Write the answer of a query to a file, which is there as a whole or not at all; how many rows it has.

    Where a link leads to a file, that is the one. Raises NotAQuery, WritesIntoStore, NotAFile, and what keeps
    DuckDB from making the rows.
    """
    if not statement.is_query:
        raise NotAQuery(statement.kind)
    if is_inside(session.layout.root, target):
        raise WritesIntoStore(str(target))
    real = target.resolve()
    if real.exists() and not real.is_file():
        raise NotAFile(str(target))
    beside = real.with_name(f".{real.name}.{os.getpid()}.part")
    try:
        session.columns(statement)  # a wrong statement is told before anything is written
        to = f"TO {literal(str(beside))} (FORMAT parquet, USE_TMP_FILE false)"
        with session.failures_told(lines_before=1 - statement.line, is_bound=True):
            session.connection.execute(f"COPY (\n{statement.sql}\n) {to}")
            # Asked of the file: `PIVOT` becomes several statements, of which the last says nothing.
            counting = f"SELECT num_rows FROM parquet_file_metadata({literal(_one_file(beside))})"  # noqa: S608
            ((rows,),) = session.connection.execute(counting).fetchall()
        beside.replace(real)
    finally:
        beside.unlink(missing_ok=True)
    return int(rows)


def _one_file(path: Path) -> str:
    """A pattern that this file alone fits."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


class CsvStream:
    """The answer of a statement as CSV, piece by piece. Use it in a `with` statement."""

    def __init__(self, session: Session, statement: Statement) -> None:
        self._session = session
        self._statement = statement
        self._answer: Answer | None = None
        self._failure: BaseException | None = None
        self._writer: Beside | None = None
        self._is_begun = False
        self._source = -1

    def __enter__(self) -> Self:
        self._session.check(self._statement)
        if self._statement.is_query:
            self._session.columns(self._statement)  # a wrong statement is told before anything is written
            self._source, sink = os.pipe()
            self._writer = self._session.beside(partial(self._copy, sink))
            self._writer.start()
        else:
            self._answer = self._session.ask(self._statement, Form.EYES)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is None:
            return
        os.close(self._source)  # a writer that nobody reads any more gives up
        if kind is not None:
            self._writer.call_off()
        self._writer.wait()

    def read(self) -> bytes:
        """The next piece; none at the end. Raises what kept DuckDB from making the rows."""
        if self._answer is not None:
            return self._next_rows(self._answer)
        piece = os.read(self._source, PIECE_BYTES)
        if not piece and self._failure is not None:
            raise self._failure
        return piece

    def _copy(self, sink: int) -> None:
        try:
            with self._session.failures_told(lines_before=1 - self._statement.line, is_bound=True):
                self._session.connection.execute(
                    f"COPY (\n{self._statement.sql}\n) TO '/dev/fd/{sink}'"
                    " (FORMAT csv, HEADER, USE_TMP_FILE false)"
                )
        except BaseException as error:  # whoever reads raises it
            self._failure = error
        finally:
            os.close(sink)

    def _next_rows(self, answer: Answer) -> bytes:
        """Rows of a statement that is no query, of which there are few."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        if not self._is_begun and answer.columns:
            out.writerow([column.name for column in answer.columns])
        self._is_begun = True
        out.writerows(answer.fetch(_ROWS_AT_ONCE) if answer.columns else ())
        return text.getvalue().encode()
