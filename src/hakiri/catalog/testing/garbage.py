"""Tests of `catalog.garbage`."""

from __future__ import annotations

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.errors import SnapshotStale
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.samples import HOUR, MINUTE, OTHER_TABLE, T0, TABLE, doomed, snapshot_of


class GarbageContract(Contract):
    """The only files that may be deleted."""

    def test_nothing_is_due_at_first(self, catalog: Catalog) -> None:
        assert catalog.garbage.due(T0) == ()

    def test_a_file_is_due_when_its_time_has_come_and_not_before(self, catalog: Catalog) -> None:
        file = doomed("a", T0 + MINUTE)

        catalog.garbage.doom([file], T0)

        assert catalog.garbage.due(T0 + MINUTE - (MINUTE / 60_000_000)) == ()
        assert catalog.garbage.due(T0 + MINUTE) == (file,)

    def test_the_longest_due_come_first(self, catalog: Catalog) -> None:
        files = [doomed(name, T0 + minute * MINUTE) for minute, name in enumerate("cab")]

        catalog.garbage.doom(iter(reversed(files)), T0)

        assert catalog.garbage.due(T0 + HOUR) == tuple(files)
        assert catalog.garbage.due(T0 + HOUR, limit=2) == tuple(files[:2])

    def test_a_file_named_twice_keeps_the_later_date(self, catalog: Catalog) -> None:
        early, late = doomed("a", T0), doomed("a", T0 + MINUTE)

        catalog.garbage.doom([early], T0)
        catalog.garbage.doom([late], T0)
        catalog.garbage.doom([early], T0)

        assert catalog.garbage.due(T0) == ()
        assert catalog.garbage.due(T0 + MINUTE) == (late,)

    def test_a_file_named_twice_in_one_call_keeps_the_later_date(self, catalog: Catalog) -> None:
        early, late = doomed("a", T0), doomed("a", T0 + MINUTE)

        catalog.garbage.doom([late, early], T0)

        assert catalog.garbage.due(T0 + MINUTE) == (late,)

    def test_a_snapshot_begun_before_files_were_named_is_stale(self, catalog: Catalog) -> None:
        begun = catalog.snapshots.revision(TABLE)
        other = catalog.snapshots.revision(OTHER_TABLE)

        catalog.garbage.doom([doomed("a"), doomed("b")], T0)

        assert catalog.snapshots.revision(OTHER_TABLE) == other
        with pytest.raises(SnapshotStale):
            catalog.snapshots.commit(snapshot_of(begun), T0)

    def test_deleted_files_are_forgotten_and_counted_once(self, catalog: Catalog) -> None:
        first, second = doomed("a"), doomed("ü b")
        catalog.garbage.doom([first, second, doomed("c", table=OTHER_TABLE)], T0)

        named = [catalog.snapshots.revision(table) for table in (TABLE, OTHER_TABLE)]

        assert catalog.garbage.forget(iter([first.path, second.path, first.path, "unknown"]), T0) == 2
        assert catalog.garbage.forget([first.path], T0) == 0
        assert catalog.garbage.due(T0) == (doomed("c", table=OTHER_TABLE),)
        assert catalog.snapshots.revision(TABLE) > named[0]
        assert catalog.snapshots.revision(OTHER_TABLE) == named[1]
