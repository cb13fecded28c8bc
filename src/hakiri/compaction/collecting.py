"""Collecting garbage: files are named in the catalog first, and go only when their time has come.

Nothing is deleted because a listing does not know it. What attempts and compactions left behind that nobody
will ever read is found by listing, but then it is named like everything else, and kept as long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.snapshots import DoomedFile
from hakiri.compaction.strays import stray_files, stray_folders
from hakiri.core.clock import Clock
from hakiri.core.ids import TableName
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout
from hakiri.store.publishing import Publisher
from hakiri.store.state import table_state

_PAGE = 1000
_FAR = timedelta(days=365_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a collection deleted, or would delete; what it named for a later one; what it left, being read."""

    deleted: tuple[DoomedFile, ...]
    bytes: int
    named: tuple[str, ...]
    in_use: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """Collects in one store."""

    catalog: Catalog
    layout: StoreLayout
    clock: Clock
    files: Files

    def collect(
        self, keep: timedelta, *, tables: Collection[TableName] = (), is_rehearsal: bool = False
    ) -> Collected:
        """Delete what is due, and name what was left behind in these tables, to be kept for so long from now.

        A rehearsal changes nothing. A file that a reader reads stays, whatever it was named for. Where views
        are older than the catalog, because somebody died before writing them anew, that is done first, and
        what they read until now is kept for so long too. Raises ViewNotMade.
        """
        now = self.clock.now()
        named = list(self._named(until=now))
        behind = self._behind({*tables, *(file.table for file in named)})
        if behind and not is_rehearsal:
            Publisher(self.layout, self.catalog, self.files).publish(behind)
            again = [replace(file, keep_until=now + keep) for file in named if file.table in behind]
            self.catalog.garbage.doom(again, now)
        due = [file for file in named if file.table not in behind]
        read = {table: self._read_files(table) for table in {file.table for file in due}}
        deleted, in_use, size = [], [], 0
        for file in due:
            if file.path in read[file.table]:
                in_use.append(file.path)
            else:
                deleted.append(file)
                size += self._size(file.path)
        if not is_rehearsal:
            self._delete(deleted, in_use, now)
        known = {file.path for file in self._named(until=now + _FAR)}
        strays = [
            DoomedFile(path=path, table=table, reason="left behind", keep_until=now + keep)
            for table in tables
            for path in stray_files(self.catalog, self.layout, table)
            if path not in known
        ]
        if not is_rehearsal:
            self.catalog.garbage.doom(strays, now)
            for table in tables:
                for folder in stray_folders(self.catalog, self.layout, table):
                    self._remove_empty(folder)
        return Collected(
            deleted=tuple(deleted),
            bytes=size,
            named=tuple(file.path for file in strays),
            in_use=tuple(in_use),
        )

    def _behind(self, tables: Collection[TableName]) -> frozenset[TableName]:
        """Those whose views show another state than the catalog has."""
        publisher = Publisher(self.layout, self.catalog, self.files)
        return frozenset(table for table in tables if publisher.is_due(table))

    def _named(self, *, until: datetime) -> Iterator[DoomedFile]:
        limit = _PAGE
        while len(files := self.catalog.garbage.due(until, limit=limit)) == limit:
            limit *= 10
        yield from files

    def _read_files(self, table: TableName) -> frozenset[str]:
        """All that the table's view reads now."""
        state = table_state(self.layout, self.catalog, table)
        if state is None:
            return frozenset()
        paths = [path for some in (state.files, state.folded) for each in some.values() for path in each]
        return frozenset(self.layout.relative(Path(path)) for path in (*paths, *state.quarantine))

    def _size(self, path: str) -> int:
        try:
            return (self.layout.root / path).stat().st_size
        except FileNotFoundError:
            return 0  # whoever was here before did not come to saying so

    def _delete(self, files: Collection[DoomedFile], in_use: Collection[str], now: datetime) -> None:
        folders = set()
        for file in files:
            path = self.layout.root / file.path
            self.files.remove(path)
            folders.add(path.parent)
        deepest_first = sorted(folders, key=lambda each: -len(each.parts))
        for folder in {self._remove_empty(folder) for folder in deepest_first}:
            if folder.is_dir():
                self.files.sync_folder(folder)
        # When that is durable: whoever dies in between finds them named, and gone; none comes back unnamed.
        self.catalog.garbage.forget([*(file.path for file in files), *in_use], now)

    def _remove_empty(self, folder: Path) -> Path:
        """Remove a folder that nothing is in, and those above it; which one stays."""
        tables = self.layout.root / "tables"
        while folder.is_relative_to(tables) and folder != tables:
            try:
                with suppress(FileNotFoundError):  # whoever was here before did that
                    folder.rmdir()
            except OSError:
                break  # something else is in it
            folder = folder.parent
        return folder
