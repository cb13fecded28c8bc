"""Rights to files, taken and given, and a process that has no more of them than an ordinary user."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sqlite.database import SqliteDatabase


def become_an_ordinary_user() -> None:
    # The way to the code may be closed to that user, so what is read late is read now.
    SqliteDatabase(Path("unused.sqlite"))
    migrations_of("sqlite")
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)


def let_read_only(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


def let_write(folder: Path) -> None:
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
