"""The versions of the catalog's tables: numbered, forward only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Protocol

from hakiri.catalog.errors import CatalogTooNew, CatalogTooOld

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from version `number - 1` to version `number`."""

    number: int
    name: str
    script: str


class Migratable(Protocol):
    """A database whose tables can be brought to another version."""

    location: str

    def version(self) -> int:
        """The version of the tables; 0 when there are none yet."""

    def apply(self, migrations: tuple[Migration, ...], now: datetime) -> tuple[int, ...]:
        """Take the steps that are still missing, each as a whole, under a lock that lets nobody else do it.

        Returns the numbers of those that were taken; another process may have come first.
        """


@cache
def migrations_of(backend: str) -> tuple[Migration, ...]:
    """The migrations that ship for a backend, in order."""
    folder = files(f"hakiri.catalog.{backend}").joinpath("migrations")
    named = [(match, file) for file in folder.iterdir() if (match := _FILE.fullmatch(file.name))]
    found = [Migration(int(match[1]), match[2], file.read_text("utf-8")) for match, file in named]
    found.sort(key=lambda migration: migration.number)
    numbers = [migration.number for migration in found]
    if numbers != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations of {backend} are not numbered 1, 2, 3 …: {numbers}")
    return tuple(found)


def missing_after(version: int, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """The steps from a version to the newest, in order."""
    return tuple(migration for migration in migrations if migration.number > version)


def newest(migrations: tuple[Migration, ...]) -> int:
    """The version that all the steps lead to."""
    return migrations[-1].number


def bring_up_to_date(
    database: Migratable, migrations: tuple[Migration, ...], now: datetime
) -> tuple[int, ...]:
    """Take all missing steps and return their numbers. Raises CatalogTooNew."""
    version = refuse_newer(database, migrations)
    return database.apply(migrations, now) if missing_after(version, migrations) else ()


def refuse_other_versions(database: Migratable, migrations: tuple[Migration, ...]) -> None:
    """Go on only with the version that this program knows. Raises CatalogTooOld, CatalogTooNew."""
    version = refuse_newer(database, migrations)
    if missing_after(version, migrations):
        raise CatalogTooOld(database.location, version, newest(migrations))


def refuse_newer(database: Migratable, migrations: tuple[Migration, ...]) -> int:
    """The version of the tables, unless only a newer program understands them. Raises CatalogTooNew."""
    version = database.version()
    if version > newest(migrations):
        raise CatalogTooNew(database.location, version, newest(migrations))
    return version
