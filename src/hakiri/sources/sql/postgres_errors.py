"""What the ADBC driver of Postgres raises, as a failure of the source."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import cast

from adbc_driver_manager import Error

from hakiri.sources.errors import PermanentFailure, ReadFailed, SchemaIncompatible
from hakiri.sources.sql.postgres_states import Kinds, first_line, no_connection, refusal

_PRIMARY_MESSAGE = b"PG_DIAG_MESSAGE_PRIMARY"
_OF_QUERIES: Kinds = MappingProxyType(
    {
        "22": (SchemaIncompatible, "mend the row, or read the column as text with `as_text`"),
        "25006": (PermanentFailure, "read a table or a view that changes nothing"),
        "42501": (PermanentFailure, "grant SELECT on the table to the user in `url`"),
        "42703": (SchemaIncompatible, "the table has changed: `hakiri source tables` shows its columns"),
        "42P01": (PermanentFailure, "`hakiri source tables` shows what there is"),
    }
)


def read_failure(error: Error, mask: Callable[[str], str]) -> ReadFailed:
    """A query that failed. What has no state is the connection: the driver lost it."""
    return refusal(error.sqlstate, mask(_words(error)), _OF_QUERIES)


def connect_failure(error: Error, answer: str | None, mask: Callable[[str], str]) -> ReadFailed:
    """A connection that was not made, and what the server answers to one that only knocks."""
    return no_connection(answer, mask(_words(error)), _OF_QUERIES)


def _words(error: Error) -> str:
    """What the server says, else the first line of what the driver does."""
    # The driver's keys are bytes, other than its types say.
    details = cast("dict[bytes, bytes]", dict(error.details or ()))
    primary = details.get(_PRIMARY_MESSAGE, b"").decode("utf-8", "replace")
    return first_line(primary or str(error)).rpartition("[libpq] ")[2].removeprefix("Failed to connect: ")
