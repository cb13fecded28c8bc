"""A new file in the place of a catalog's old one, which is kept under another name.

Whoever dies on the way leaves the old file or the new one. The journal of the old file must never meet the
new one: SQLite would write what it says into a file that it was not written for.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from hakiri.catalog.errors import CatalogInUse
from hakiri.catalog.sqlite.gate import WriteGate
from hakiri.catalog.sqlite.looking import connected
from hakiri.catalog.sqlite.words import is_locked

JOURNALS = ("-wal", "-shm")
_PATIENCE_SECONDS = 5.0


def pending_file(path: Path) -> Path:
    """Where the new file is made, beside the old one. What somebody left there who died is removed."""
    made = path.with_name(f"{path.name}.rebuilt")
    for end in ("", *JOURNALS, "-lock"):
        _beside(made, end).unlink(missing_ok=True)
    return made


def put_in_place(made: Path, path: Path, now: datetime) -> Path | None:
    """Give the new file its name, and say where the old one is kept, if there was one. Raises CatalogInUse.

    Nobody writes meanwhile. Whoever has the old file open finds out before the next thing that he does.
    """
    _beside(made, "-lock").unlink(missing_ok=True)
    _synced(made)
    kept = _free_name(path, now)
    gate = WriteGate(_beside(path, "-lock"), patience_seconds=_PATIENCE_SECONDS)
    try:
        with gate.passed():
            had_one = path.exists()
            if had_one:
                _settle(path)
                shutil.copyfile(path, kept)
                _synced(kept)
            for end in JOURNALS:
                if (journal := _beside(path, end)).exists():
                    journal.replace(_beside(kept, end))
            # Only when it is sure that the old file is kept, and that its journal is away: without power a
            # later change of names may outlast an earlier one.
            _synced(path.parent)
            made.replace(path)
            _synced(path.parent)
    finally:
        gate.close()
    return kept if had_one else None


def _settle(path: Path) -> None:
    """Write all that the journal has into the file; what is not a database any more stays as it is."""
    try:
        with closing(connected(path, timeout_seconds=_PATIENCE_SECONDS)) as connection:
            (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        if is_locked(error):
            raise CatalogInUse(f"sqlite:///{path}", "another program reads or writes it") from error
        return
    if is_busy:
        raise CatalogInUse(f"sqlite:///{path}", "another program reads or writes it")


def _free_name(path: Path, now: datetime) -> Path:
    """A name that nothing has, nor a journal that was kept without its file."""
    stem = f"{path.name}.before-{now.astimezone(UTC):%Y-%m-%dT%H-%M-%SZ}"
    names = [path.with_name(stem), *(path.with_name(f"{stem}-{number}") for number in range(2, 1000))]
    return next(name for name in names if not any(_beside(name, end).exists() for end in ("", *JOURNALS)))


def _beside(path: Path, end: str) -> Path:
    return path.with_name(f"{path.name}{end}")


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
