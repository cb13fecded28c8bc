"""Connections to the SQLite file: one to work with, and one that leaves no trace of a look."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_LOOK_SECONDS = 60.0


def connected(path: Path, *, timeout_seconds: float, how: str = "mode=rw") -> sqlite3.Connection:
    """A connection to a file that is there."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=timeout_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def connected_to_look(path: Path, *, timeout_seconds: float = _LOOK_SECONDS) -> sqlite3.Connection:
    """A connection for reading after which every file is as it was, whoever works with them or has crashed.

    Whoever closes a file last folds its journal into it. Where there is one, this connection must not: it is
    read-only, with the index of the journal too. Where there is none, none is left behind.
    """
    has_journal = all(path.with_name(f"{path.name}{end}").exists() for end in ("-wal", "-shm"))
    if has_journal:
        connection = connected(path, timeout_seconds=timeout_seconds, how="mode=ro&readonly_shm=1")
        try:
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        except sqlite3.OperationalError:
            connection.close()  # somebody folded the journal away in this moment
        else:
            return connection
    return connected(path, timeout_seconds=timeout_seconds)
