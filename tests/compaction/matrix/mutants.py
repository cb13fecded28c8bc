"""Wrong ways to fold and to collect, each of which somebody might take for right, and where it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.compaction.matrix.operations import (
    Append,
    Bury,
    Collect,
    CollectLater,
    Compact,
    Operation,
    TakeOver,
)

from hakiri.catalog.sql.database import Transaction, sure
from hakiri.catalog.sql.snapshots import SqlSnapshots
from hakiri.compaction.collecting import Collected, Collector
from hakiri.compaction.compacting import Compactor
from hakiri.store.reading import visible_files


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong way, and two operations that it comes to light with."""

    name: str
    patch: Callable[[pytest.MonkeyPatch], None]
    first: Operation
    second: Operation


def _unlooked(patch: pytest.MonkeyPatch) -> None:
    """A compaction commits, whatever snapshot the table has by now, and whoever took its claim."""
    patch.setattr(Compactor, "_is_moved", lambda *_: False)
    patch.setattr(Compactor, "_is_given_up", lambda *_: False)


def _not_guarded(patch: pytest.MonkeyPatch) -> None:
    """The catalog takes a snapshot also if the table's past has changed since somebody looked."""
    commit = SqlSnapshots.commit

    def commit_anyway(self: SqlSnapshots, snapshot: Any, *given: Any, **told: Any) -> None:
        commit(self, replace(snapshot, based_on=self.revision(snapshot.table)), *given, **told)

    patch.setattr(SqlSnapshots, "commit", commit_anyway)


def _by_listing(patch: pytest.MonkeyPatch) -> None:
    """A collection deletes every file that no view reads."""

    def collect(self: Collector, *_: Any, tables: Any, **__: Any) -> Collected:
        for table in tables:
            found = visible_files(self.layout, self.catalog, table)
            read = set() if found is None else {path for paths in found.files.values() for path in paths}
            for path in self.layout.data_folder(table).rglob("*.parquet"):
                if path not in read:
                    self.files.remove(path)
        return Collected(deleted=(), bytes=0, named=(), in_use=())

    patch.setattr(Collector, "collect", collect)


def _beyond_claims(patch: pytest.MonkeyPatch) -> None:
    """A snapshot ends behind the last claim, also if one before it is still at work."""

    def frontier(self: SqlSnapshots, _: Any) -> int:
        def work(tx: Transaction) -> int:
            return int(sure(tx.one("claims"))["claims"]) + 1

        return self._database.write(work)

    patch.setattr(SqlSnapshots, "frontier", frontier)


def _not_kept(patch: pytest.MonkeyPatch) -> None:
    """What was folded may go at once."""
    drops = Compactor._drops

    def due_now(self: Compactor, *given: Any) -> Any:
        return [replace(file, keep_until=self.clock.now()) for file in drops(self, *given)]

    patch.setattr(Compactor, "_drops", due_now)


def _views_left_behind(patch: pytest.MonkeyPatch) -> None:
    """A collection does not care what the published views read."""
    patch.setattr(Collector, "_behind", lambda *_: frozenset())


def _committed_by_the_dead(patch: pytest.MonkeyPatch) -> None:
    """A compaction commits also if others have ended its run."""
    patch.setattr(Compactor, "_is_given_up", lambda *_: False)


MUTANTS = (
    Mutant("committed without a look", _unlooked, Compact(), TakeOver()),
    Mutant("committed between look and commit", _not_guarded, Compact(), TakeOver()),
    Mutant("deleted by listing", _by_listing, Append(), Collect()),
    Mutant("folded beyond open claims", _beyond_claims, Append(), Compact()),
    Mutant("dropped without retention", _not_kept, Compact(), Collect()),
    Mutant("views left behind", _views_left_behind, Compact(), CollectLater()),
    Mutant("committed by the dead", _committed_by_the_dead, Compact(), Bury()),
)
