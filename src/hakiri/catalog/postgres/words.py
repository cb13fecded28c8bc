"""What Postgres answers, by its SQLSTATE, in our words."""

from __future__ import annotations

import psycopg

from hakiri.catalog.errors import (
    CatalogBusy,
    CatalogDamaged,
    CatalogDenied,
    CatalogError,
    CatalogFull,
    CatalogReadOnly,
    CatalogRefused,
    CatalogUnreachable,
)

# Gone, shutting down, crashed, starting, too many of us; cut off for being idle, in a transaction or not.
_LOST = ("08", "57P01", "57P02", "57P03", "53300", "57P05", "25P03")
_IN_THE_WAY = ("40001", "40P01")  # serialization, deadlock
_LOCKED = "55P03"  # no second try: it has waited for the lock as long as one waits
_ERRORS: tuple[tuple[str, type[CatalogRefused | CatalogDenied | CatalogDamaged]], ...] = (
    ("23", CatalogRefused),
    ("28", CatalogDenied),
    ("42501", CatalogDenied),
    ("XX001", CatalogDamaged),
    ("XX002", CatalogDamaged),
    ("3F000", CatalogDamaged),  # the schema is not there
    ("42P01", CatalogDamaged),  # nor is a table
)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that another one may do better."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(_LOST)


def is_in_the_way(error: psycopg.Error) -> bool:
    """Whether others were in the way, so that the same again may succeed."""
    return (error.sqlstate or "").startswith(_IN_THE_WAY)


def translated(error: psycopg.Error, location: str) -> CatalogError:
    """The error of the catalog for an error that trying again does not help."""
    state = error.sqlstate or ""
    if is_in_the_way(error) or state == _LOCKED:
        return CatalogBusy(location)
    if state.startswith("53100"):
        return CatalogFull(location)
    if state.startswith("25006"):
        return CatalogReadOnly(location)
    for prefix, kind in _ERRORS:
        if state.startswith(prefix):
            return kind(location, error.diag.message_primary or first_line(error))
    if is_lost(error) or isinstance(error, psycopg.OperationalError):
        return CatalogUnreachable(location, first_line(error))
    return CatalogRefused(location, first_line(error))


def first_line(error: psycopg.Error) -> str:
    """What it says, without what the driver explains below."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
