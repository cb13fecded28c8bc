"""The way to the server: sessions for SQL and for the replication protocol, and what their failures mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from hakiri.catalog.sql.statements import statements_in
from hakiri.core.backoff import Backoff
from hakiri.core.secrets import masker
from hakiri.sources.cdc.failures import IN_USE, failure, first_line
from hakiri.sources.config import Template
from hakiri.sources.contract import Context
from hakiri.sources.errors import AuthExpired, PermanentFailure, ReadFailed, TransientFailure

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
# How values are written, so that they can be read back; a snapshot or a stream may take hours, a lock not; and
# rows that a policy hides are an error, since the changes to them would come all the same.
_SESSION: Mapping[str, str] = {
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "statement_timeout": "0",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": "30s",
    "row_security": "off",
}
# Whoever writes rows away may take his time; a reader that is gone is noticed by its connection.
_REPLICATION: Mapping[str, str] = {"wal_sender_timeout": "0"}
# A slot is let go some moments after its reader was killed.
_UNTIL_FREE = Backoff(first_seconds=0.05, longest_seconds=1.0, budget_seconds=15.0)


@cache
def query(name: str) -> LiteralString:
    """A statement of `queries.sql`."""
    text = files("hakiri.sources.cdc").joinpath("queries.sql").read_text("utf-8")
    return cast("LiteralString", statements_in(text)[name])


class Server:
    """Where the source is, and how it is spoken to: every call takes its turn."""

    def __init__(self, url: Template, context: Context) -> None:
        self._url = url
        self._context = context
        self._mask = masker(context.secrets.values())

    @contextmanager
    def session(self, *, is_replication: bool = False) -> Iterator[Session]:
        """A connection for SQL, or for the replication protocol, until the block ends."""
        options = dict(_SESSION) | (_REPLICATION if is_replication else {})
        settings = self._settings(options, is_replication=is_replication)
        with self._context.budget.turn():
            connection = self._connected(settings)
        try:
            yield Session(connection, self._context, self._mask)
        finally:
            connection.close()

    def _settings(self, options: Mapping[str, str], *, is_replication: bool) -> dict[str, Any]:
        try:
            own = conninfo_to_dict(self._filled_url())
        except psycopg.ProgrammingError:
            # libpq repeats what it could not read, and that may be a password.
            raise PermanentFailure(
                "`url` is not a Postgres URL", hint="write it as in `postgresql://user:${PASSWORD}@host/database`"
            ) from None
        # What comes last holds: these are needed for values to be read right.
        given = " ".join([str(own.get("options") or ""), *(f"-c {k}={v}" for k, v in options.items())])
        replication = {"replication": "database"} if is_replication else {}
        return {**_CONNECTION, **own, "client_encoding": "UTF8", "options": given, **replication}

    def _filled_url(self) -> str:
        secrets = self._context.secrets
        is_secret_as_a_whole = _NOTHING_BUT_A_SECRET.fullmatch(self._url.text) is not None
        return self._url.fill(secrets) if is_secret_as_a_whole else self._url.fill_url(secrets)

    def _connected(self, settings: Mapping[str, Any]) -> psycopg.Connection[dict[str, Any]]:
        try:
            return psycopg.connect(**settings, autocommit=True, row_factory=dict_row)
        except psycopg.OperationalError as error:
            message = self._mask(first_line(str(error)))
            # libpq tells no SQLSTATE of a connection that was not made, but whether a password was asked for.
            if error.pgconn is not None and (error.pgconn.needs_password or error.pgconn.used_password):
                raise AuthExpired(
                    f"Postgres refuses the connection: {message}",
                    hint="check the user, the password and the database in `url`",
                ) from None
            raise TransientFailure(f"Postgres cannot be reached: {message}") from None


class Session:
    """One connection. What is raised is ours, and tells no secret."""

    def __init__(
        self, connection: psycopg.Connection[dict[str, Any]], context: Context, mask: Any
    ) -> None:
        self.connection = connection
        self.context = context
        self._mask = mask

    def rows(self, statement: LiteralString, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """What a query gives."""
        with self.call():
            return self.connection.execute(statement, values).fetchall()

    def order(self, statement: str) -> None:
        """Have something done, with one or several statements in one call."""
        with self.call():
            self.connection.execute(cast("LiteralString", statement))

    def raw(self, statement: str, values: Sequence[Any]) -> list[list[bytes | None]]:
        """What a query gives, as the texts in which the server sends it."""
        with self.call(), self.connection.cursor() as cursor:
            result = cursor.execute(cast("LiteralString", statement), values).pgresult
            assert result is not None  # noqa: S101 - a query that did not fail has one
            return [
                [result.get_value(row, column) for column in range(result.nfields)]
                for row in range(result.ntuples)
            ]

    def when_free(self, slot: str, attempt: Callable[[], str | None]) -> None:
        """Have something done that needs a slot for itself: a reader before us may still be on its way out.

        `attempt` gives the SQLSTATE with which the server refused, or None. Raises TransientFailure.
        """
        for seconds in _UNTIL_FREE.waits():
            state = attempt()
            if state is None:
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
            raise self.failed(error.sqlstate, error.diag.message_primary or str(error)) from None

    def failed(self, state: str | None, message: str) -> ReadFailed:
        return failure(state, self._mask(first_line(message)))
