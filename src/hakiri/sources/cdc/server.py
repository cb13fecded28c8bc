"""The way to the server: sessions for SQL and for the replication protocol, and what their failures mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from hakiri.catalog.sql.statements import statements_in
from hakiri.core.backoff import Backoff
from hakiri.core.secrets import masker
from hakiri.sources.cdc.failures import OF_THE_LOG, RIGHTS
from hakiri.sources.config import Template
from hakiri.sources.contract import Context
from hakiri.sources.errors import PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.sql.postgres_probe import answer_of, first_server
from hakiri.sources.sql.postgres_states import first_line, no_connection, refusal
from hakiri.sources.sql.postgres_types import VALUE_FORMS

_NOTHING_BUT_A_SECRET = re.compile(r"\$\{[A-Z][A-Z0-9_]*\}")
# A server that is gone without a word is noticed after a minute, however long it may take to answer.
_CONNECTION: Mapping[str, Any] = {
    "application_name": "hakiri",
    "client_encoding": "UTF8",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
# A snapshot or a stream may take hours, a lock not; and rows that a policy hides are an error, since the
# changes to them would come all the same.
_SESSION: Mapping[str, str] = {
    **VALUE_FORMS,
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": "30s",
    "row_security": "off",
}
# Whoever writes rows away may take his time; a reader that is gone is noticed by its connection.
_REPLICATION: Mapping[str, str] = {**_SESSION, "wal_sender_timeout": "0", "lock_timeout": "10min"}
_PORTS = re.compile(r"\d*(,\d*)*")
# A slot is let go some moments after its reader was killed, and is there some after another has ordered it.
SOME_MOMENTS = Backoff(first_seconds=0.05, longest_seconds=1.0, budget_seconds=15.0)


@cache
def query(name: str) -> str:
    """A statement of `queries.sql`."""
    text = files("hakiri.sources.cdc").joinpath("queries.sql").read_text("utf-8")
    return statements_in(text)[name]


class Server:
    """Where the source is, and how it is spoken to: every call takes its turn."""

    def __init__(self, url: Template, context: Context) -> None:
        self._url = url
        self._context = context
        self._mask = masker(context.secrets.values())

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection for SQL, until the block ends."""
        settings = self._settings(_SESSION)
        try:
            with self._context.budget.turn():
                connection = _connected(settings)
        except psycopg.OperationalError as error:
            raise self._not_let_in(settings, error) from None
        try:
            yield Session(connection, self._context, self._mask)
        finally:
            connection.close()

    @contextmanager
    def replication(self, *, may_replicate: bool) -> Iterator[Session]:
        """A connection for the replication protocol, beside one for SQL with the same user.

        `may_replicate` is whether the user has the attribute for it; some hosts give the right in other ways.
        """
        try:
            with self._context.budget.turn():
                connection = _connected(self._settings(_REPLICATION) | {"replication": "database"})
        except psycopg.OperationalError as error:
            words = self._mask(first_line(str(error)))
            if not may_replicate:
                raise PermanentFailure(f"the log of Postgres may not be read: {words}", hint=RIGHTS) from None
            raise TransientFailure(f"the log of Postgres cannot be read: {words}") from None
        try:
            yield Session(connection, self._context, self._mask)
        finally:
            connection.close()

    def _not_let_in(self, settings: Mapping[str, Any], error: psycopg.Error) -> ReadFailed:
        """Why there is no connection: libpq tells it in words alone, so the server is asked once more."""
        words = self._mask(first_line(str(error)))
        server = first_server(
            host=str(settings.get("host") or settings.get("hostaddr") or ""),
            port=str(settings.get("port") or ""),
            user=str(settings.get("user") or ""),
            database=str(settings.get("dbname") or ""),
        )
        with self._context.budget.turn():
            answer = answer_of(server)
        return no_connection(answer, words, OF_THE_LOG)

    def _settings(self, options: Mapping[str, str]) -> dict[str, Any]:
        # libpq repeats what it could not read, and that may be a password.
        try:
            own = conninfo_to_dict(self._filled_url())
        except psycopg.ProgrammingError:
            raise _no_url() from None
        if not _PORTS.fullmatch(str(own.get("port") or "")):
            raise _no_url()
        # What comes last holds: these are needed for values to be read right.
        given = " ".join([str(own.get("options") or ""), *(f"-c {k}={v}" for k, v in options.items())])
        return {**_CONNECTION, **own, "client_encoding": "UTF8", "options": given}

    def _filled_url(self) -> str:
        secrets = self._context.secrets
        is_secret_as_a_whole = _NOTHING_BUT_A_SECRET.fullmatch(self._url.text) is not None
        return self._url.fill(secrets) if is_secret_as_a_whole else self._url.fill_url(secrets)


def _no_url() -> PermanentFailure:
    return PermanentFailure(
        "`url` is not a Postgres URL", hint="write it as in `postgresql://user:${PASSWORD}@host/database`"
    )


def _connected(settings: Mapping[str, Any]) -> psycopg.Connection[dict[str, Any]]:
    return psycopg.connect(**settings, autocommit=True, row_factory=dict_row)


class Session:
    """One connection. What is raised is ours, and tells no secret."""

    def __init__(
        self, connection: psycopg.Connection[dict[str, Any]], context: Context, mask: Callable[[str], str]
    ) -> None:
        self.connection = connection
        self.context = context
        self._mask = mask

    def rows(self, statement: str, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """What a query gives."""
        with self.call():
            return self.connection.execute(statement, values).fetchall()

    def order(self, statement: str) -> None:
        """Have something done, with one or several statements in one call."""
        self.refusal(statement, of=())

    def refusal(
        self, statement: str, values: Mapping[str, Any] | None = None, *, of: Collection[str]
    ) -> str | None:
        """Have something done: None, or with which of these SQLSTATEs the server refuses it."""
        with self.call():
            try:
                self.connection.execute(statement, values)
            except psycopg.Error as error:
                if error.sqlstate in of:
                    return error.sqlstate
                raise
        return None

    def raw(self, statement: str, values: Sequence[Any]) -> list[list[bytes | None]]:
        """What a query with `$1` for its values gives, as the texts in which the server sends it."""
        with self.call(), psycopg.RawCursor(self.connection) as cursor:
            result = cursor.execute(statement, values).pgresult
            assert result is not None  # noqa: S101 - a query that did not fail has one
            return [
                [result.get_value(row, column) for column in range(result.nfields)]
                for row in range(result.ntuples)
            ]

    def when_free(self, slot: str, attempt: Callable[[], str | None]) -> None:
        """Have something done that needs a slot for itself: a reader before us may still be on its way out.

        `attempt` gives the SQLSTATE with which the server refused, or None. Raises TransientFailure.
        """
        for seconds in SOME_MOMENTS.waits():
            if attempt() is None:
                return
            self.context.wait(seconds)
        raise TransientFailure(f"slot `{slot}` is being read by somebody else")

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call to the server, in its turn."""
        with self.context.budget.turn(), self.answers():
            yield

    @contextmanager
    def answers(self) -> Iterator[None]:
        """What the server goes on to say after a call was answered."""
        try:
            yield
        except psycopg.Error as error:
            if error.sqlstate is None and not isinstance(error, psycopg.OperationalError):
                raise  # the server has nothing to do with it
            raise self.failed(error.sqlstate, error.diag.message_primary or str(error)) from None

    def failed(self, state: str | None, message: str) -> ReadFailed:
        return refusal(state, self._mask(first_line(message)), OF_THE_LOG)
