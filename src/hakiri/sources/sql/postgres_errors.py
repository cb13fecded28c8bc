"""What Postgres answers, by its SQLSTATE, as a failure of the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from adbc_driver_manager import Error

from hakiri.sources.errors import (
    AuthExpired,
    PermanentFailure,
    ReadFailed,
    SchemaIncompatible,
    TransientFailure,
)
from hakiri.sources.sql.postgres_probe import WELCOME

_PRIMARY_MESSAGE = b"PG_DIAG_MESSAGE_PRIMARY"
_DATABASE_HINT = "check the database in `url`"
_LOGIN_HINT = "check the user, the password and the database in `url`"
_WAY_HINT = "check the host and the port in `url`, and whether the server is up"
# From the longest to the shortest: the first that a state begins with is it.
_KINDS: tuple[tuple[str, type[ReadFailed], str], ...] = (
    ("25006", PermanentFailure, "read a table or a view that changes nothing"),
    ("25P03", TransientFailure, "the server ended a connection that waited for too long"),
    ("3D000", PermanentFailure, _DATABASE_HINT),
    ("42501", PermanentFailure, "grant SELECT on the table to the user in `url`"),
    ("42P01", PermanentFailure, "`hakiri source tables` shows what there is"),
    ("42703", SchemaIncompatible, "the table has changed: `hakiri source tables` shows its columns"),
    ("22", SchemaIncompatible, "mend the row, or read the column as text with `as_text`"),
    ("28", AuthExpired, _LOGIN_HINT),
    ("08", TransientFailure, _WAY_HINT),
    ("40", TransientFailure, "others were in the way; run it again"),
    ("53", TransientFailure, "the server is short of something; run it again later"),
    ("55P03", TransientFailure, "others hold a lock; run it again"),
    ("57", TransientFailure, "the server ended the query or is restarting; run it again"),
    ("58", TransientFailure, "the server has trouble of its own; see its log"),
)


def read_failure(error: Error, mask: Callable[[str], str]) -> ReadFailed:
    """A query that failed. What has no state is the connection: the driver lost it."""
    if error.sqlstate is None:
        return TransientFailure(f"the connection to Postgres was lost: {mask(_words(error))}", hint=_WAY_HINT)
    kind, hint = _kind(error.sqlstate)
    return kind(f"Postgres refuses the query: {mask(_words(error))} (SQLSTATE {error.sqlstate})", hint=hint)


def connect_failure(error: Error, answer: str | None, mask: Callable[[str], str]) -> ReadFailed:
    """A connection that was not made, and what the server answers to one that only knocks."""
    words = mask(_words(error))
    if answer is None:
        return TransientFailure(f"Postgres cannot be reached: {words}", hint=_WAY_HINT)
    if answer == WELCOME:  # without a password it would have let us in, so it is how we ask
        return PermanentFailure(
            f"Postgres cannot be connected to: {words}", hint="check the options in `url`"
        )
    kind, hint = _kind(answer)
    return kind(f"Postgres does not let us in: {words}", hint=hint)


def _kind(state: str) -> tuple[type[ReadFailed], str]:
    for prefix, kind, hint in _KINDS:
        if state.startswith(prefix):
            return kind, hint
    return PermanentFailure, "see the documentation of Postgres for the SQLSTATE"


def _words(error: Error) -> str:
    """What the server says, else the first line of what the driver does."""
    # The driver's keys are bytes, other than its types say.
    details = cast("dict[bytes, bytes]", dict(error.details or ()))
    primary = details.get(_PRIMARY_MESSAGE, b"").decode("utf-8", "replace")
    line = (primary or str(error)).strip().partition("\n")[0]
    return line.rpartition("[libpq] ")[2].removeprefix("Failed to connect: ")
