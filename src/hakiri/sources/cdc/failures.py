"""The SQLSTATEs that matter to a reader of the log, and what they mean to it."""

from __future__ import annotations

from types import MappingProxyType

from hakiri.sources.cdc.positions import REWIND
from hakiri.sources.errors import PermanentFailure, TransientFailure
from hakiri.sources.sql.postgres_states import Kinds

RIGHTS = (
    "give the user of `url` the attribute REPLICATION, SELECT on the table, and CREATE on the database with "
    "ownership of the table, or name a `publication` that exists"
)
IN_USE = "55006"
GONE = "42704"
# What somebody else has made in this very moment breaks the rule that names are unique.
THERE_ALREADY = ("42710", "23505")
OF_THE_LOG: Kinds = MappingProxyType(
    {
        "42501": (PermanentFailure, RIGHTS),
        "53400": (
            PermanentFailure,
            "raise `max_replication_slots` and `max_wal_senders`, or drop slots that nobody reads",
        ),
        IN_USE: (TransientFailure, "wait until the other reader of the slot has ended"),
        "58P01": (PermanentFailure, REWIND),  # the log is gone
    }
)
