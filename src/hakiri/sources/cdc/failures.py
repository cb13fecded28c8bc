"""What Postgres answers, by its SQLSTATE, in the words of the sources room."""

from __future__ import annotations

from hakiri.sources.errors import AuthExpired, PermanentFailure, ReadFailed, TransientFailure

RIGHTS = (
    "give the user of `url` the attribute REPLICATION, SELECT on the table, and CREATE on the database with "
    "ownership of the table, or name a `publication` that exists"
)
_NO_MORE_SLOTS = "53400"
_WAL_IS_GONE = "58P01"
_DENIED = "42501"
IN_USE = "55006"
GONE = "42704"
# What somebody else has made in this very moment breaks the rule that names are unique.
THERE_ALREADY = ("42710", "23505")
# Lost connections, too few resources, conflicts with others, shutdowns and time-outs, trouble with disks.
_PASSING = ("08", "53", "40", "57", "58", "25P03", "25P04", "55P03", IN_USE)


def failure(state: str | None, message: str) -> ReadFailed:
    """The error for an answer of the server; without a state the connection itself is gone."""
    if state is None:
        return TransientFailure(f"the connection to Postgres was lost: {message}")
    problem = f"Postgres refuses: {message} (SQLSTATE {state})"
    if state.startswith("28"):
        return AuthExpired(problem, hint="check the user and the password in `url`")
    if state == _DENIED:
        return PermanentFailure(problem, hint=RIGHTS)
    if state == _NO_MORE_SLOTS:
        return PermanentFailure(
            problem,
            hint="raise `max_replication_slots` and `max_wal_senders`, or drop slots that nobody reads",
        )
    if state != _WAL_IS_GONE and state.startswith(_PASSING):
        return TransientFailure(problem)
    return PermanentFailure(problem)


def first_line(text: str) -> str:
    """What an answer says, without what the driver explains below."""
    return next(iter(text.strip().splitlines()), "no word about why")
