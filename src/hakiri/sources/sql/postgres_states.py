"""What Postgres answers, by its SQLSTATE, as a failure of the source; the same for all that read one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from hakiri.sources.errors import AuthExpired, PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.sql.postgres_probe import WELCOME

# A state, or how the states of a class begin, with what it means and what to do.
Kinds: TypeAlias = Mapping[str, tuple[type[ReadFailed], str]]
_WAY_HINT = "check the host and the port in `url`, and whether the server is up"
_COMMON: Kinds = MappingProxyType(
    {
        "08": (TransientFailure, _WAY_HINT),
        "25P03": (TransientFailure, "the server ended a connection that waited for too long"),
        "25P04": (TransientFailure, "the server ended a transaction that took too long"),
        "28": (AuthExpired, "check the user, the password and the database in `url`"),
        "3D000": (PermanentFailure, "check the database in `url`"),
        "40": (TransientFailure, "others were in the way; run it again"),
        "53": (TransientFailure, "the server is short of something; run it again later"),
        "55P03": (TransientFailure, "others hold a lock; run it again"),
        "57": (TransientFailure, "the server ended the query or is restarting; run it again"),
        "58": (TransientFailure, "the server has trouble of its own; see its log"),
    }
)
_UNKNOWN = (PermanentFailure, "see the documentation of Postgres for the SQLSTATE")


def refusal(state: str | None, words: str, own: Kinds) -> ReadFailed:
    """An answer of the server; without a state the connection itself is gone.

    `own` is what states mean to whoever asks, before what they mean to all.
    """
    if state is None:
        return TransientFailure(f"the connection to Postgres was lost: {words}", hint=_WAY_HINT)
    kind, hint = _kind(state, own)
    return kind(f"Postgres refuses: {words} (SQLSTATE {state})", hint=hint)


def no_connection(answer: str | None, words: str, own: Kinds) -> ReadFailed:
    """A connection that was not made; `answer` is what the server says to one that only knocks."""
    if answer is None:
        return TransientFailure(f"Postgres cannot be reached: {words}", hint=_WAY_HINT)
    if answer == WELCOME:  # without a password it would have let us in, so it is how we ask
        return PermanentFailure(
            f"Postgres cannot be connected to: {words}", hint="check the options in `url`"
        )
    kind, hint = _kind(answer, own)
    return kind(f"Postgres does not let us in: {words}", hint=hint)


def first_line(text: str) -> str:
    """What an answer says, without what the driver explains below."""
    return next(iter(text.strip().splitlines()), "no word about why")


def _kind(state: str, own: Kinds) -> tuple[type[ReadFailed], str]:
    known = {"": _UNKNOWN, **_COMMON, **own}
    return known[max((each for each in known if state.startswith(each)), key=len)]
