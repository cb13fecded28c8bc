"""Details of snapshots, sidecars and garbage on SQL databases; the promises are in the conformance suite."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from tests.support.databases import T0

from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import (
    CatalogRefused,
    MissingSidecars,
    SnapshotExists,
    SnapshotStale,
    UnstorableText,
)
from hakiri.catalog.sql.database import Database, Transaction
from hakiri.catalog.sql.snapshots import SqlGarbage, SqlSnapshots
from hakiri.catalog.sql.tables import bump_revision, lock_table
from hakiri.core.ids import IndexId, RunId, SnapshotId, TableName

ISSUES = TableName("issues")
S1, S2 = SnapshotId("s1"), SnapshotId("s2")
DAY = timedelta(days=1)


def a_snapshot(snapshot: SnapshotId = S1, *, based_on: int = 0, indexes: tuple[str, ...] = ()) -> Snapshot:
    return Snapshot(
        snapshot=snapshot,
        table=ISSUES,
        created_at=T0,
        includes_runs=(RunId("r2"), RunId("r1")),
        indexes=tuple(IndexId(index) for index in indexes),
        rows=7,
        based_on=based_on,
        manifest='{"é": [1, 2]}',
        key_version="k3",
    )


def a_sidecar(index: str = "pk-id", manifest_hash: str = "sha256:1", snapshot: SnapshotId = S1) -> Sidecar:
    return Sidecar(snapshot=snapshot, index=IndexId(index), manifest_hash=manifest_hash, bytes=10)


def a_file(path: str, *, keep: timedelta = DAY, table: TableName = ISSUES) -> DoomedFile:
    return DoomedFile(path=path, table=table, reason="compacted", keep_until=T0 + keep)


def test_a_snapshot_is_read_as_it_was_committed(database: Database) -> None:
    snapshots = SqlSnapshots(database)
    committed = replace(a_snapshot(), created_at=T0.astimezone(timezone(timedelta(hours=2))))

    snapshots.commit(committed, T0)

    assert snapshots.get(S1) == snapshots.current(ISSUES) == committed


def test_every_commit_is_the_next_revision_and_the_current_snapshot(database: Database) -> None:
    snapshots = SqlSnapshots(database)
    snapshots.commit(a_snapshot(S2), T0)

    snapshots.commit(a_snapshot(S1, based_on=1), T0)

    assert snapshots.revision(ISSUES) == 2
    assert snapshots.current(ISSUES) == a_snapshot(S1, based_on=1)
    assert [snapshot.snapshot for snapshot in snapshots.all(ISSUES)] == [S2, S1]


def test_a_snapshot_again_is_one_commit_even_when_the_table_has_moved_on(database: Database) -> None:
    snapshots, garbage = SqlSnapshots(database), SqlGarbage(database)
    snapshots.commit(a_snapshot(), T0)
    snapshots.commit(a_snapshot(S2, based_on=1), T0)

    snapshots.commit(a_snapshot(), T0 + DAY, drops=[a_file("late.parquet")])

    assert snapshots.revision(ISSUES) == 2
    assert garbage.due(T0 + 9 * DAY) == ()


@pytest.mark.parametrize("field", ["table", "includes_runs", "indexes", "rows", "manifest", "key_version"])
def test_another_snapshot_with_the_same_id_is_refused(database: Database, field: str) -> None:
    snapshots = SqlSnapshots(database)
    snapshots.commit(a_snapshot(), T0)
    other = {
        "table": TableName("pulls"),
        "includes_runs": (RunId("r1"), RunId("r2")),
        "indexes": (IndexId("pk-id"),),
        "rows": 8,
        "manifest": "{}",
        "key_version": None,
    }

    with pytest.raises(SnapshotExists):
        snapshots.commit(replace(a_snapshot(), **{field: other[field]}), T0)  # type: ignore[arg-type]

    assert snapshots.all(ISSUES) == (a_snapshot(),)


@pytest.mark.spec("AD-005")
def test_missing_sidecars_are_named_in_order_and_nothing_changes(database: Database) -> None:
    snapshots, garbage = SqlSnapshots(database), SqlGarbage(database)
    snapshots.note_sidecar(a_sidecar("b"), T0)
    snapshots.note_sidecar(a_sidecar("a", snapshot=S2), T0)

    with pytest.raises(MissingSidecars) as caught:
        snapshots.commit(a_snapshot(indexes=("c", "b", "a", "é")), T0, drops=[a_file("old.parquet")])

    assert caught.value.missing == ("a", "c", "é")
    assert snapshots.current(ISSUES) is None
    assert snapshots.revision(ISSUES) == 0
    assert garbage.due(T0 + 9 * DAY) == ()


@pytest.mark.spec("AD-005")
def test_a_snapshot_with_all_its_sidecars_is_visible_at_once(database: Database) -> None:
    snapshots = SqlSnapshots(database)
    for index in ("vector-body-m1", "pk-id"):
        snapshots.note_sidecar(a_sidecar(index), T0)

    snapshots.commit(a_snapshot(indexes=("vector-body-m1", "pk-id")), T0)

    assert snapshots.current(ISSUES) == a_snapshot(indexes=("vector-body-m1", "pk-id"))
    assert snapshots.sidecars(S1) == (a_sidecar("pk-id"), a_sidecar("vector-body-m1"))


def test_a_snapshot_of_an_older_revision_is_stale_and_nothing_changes(database: Database) -> None:
    snapshots, garbage = SqlSnapshots(database), SqlGarbage(database)
    database.write(lambda tx: bump_revision(tx, ISSUES))

    with pytest.raises(SnapshotStale) as caught:
        snapshots.commit(a_snapshot(), T0, drops=[a_file("old.parquet")])

    assert (caught.value.based_on, caught.value.revision) == (0, 1)
    assert snapshots.current(ISSUES) is None
    assert garbage.due(T0 + 9 * DAY) == ()


def test_of_racing_snapshots_of_one_revision_one_is_committed(database: Database) -> None:
    snapshots = SqlSnapshots(database)

    def commit(worker: int) -> bool:
        try:
            snapshots.commit(a_snapshot(SnapshotId(f"s{worker}")), T0)
        except SnapshotStale:
            return False
        return True

    with ThreadPoolExecutor(8) as workers:
        committed = list(workers.map(commit, range(8)))

    assert committed.count(True) == 1
    assert len(snapshots.all(ISSUES)) == snapshots.revision(ISSUES) == 1


def test_of_racing_snapshots_with_one_id_one_is_committed(database: Database) -> None:
    snapshots = SqlSnapshots(database)

    def commit(worker: int) -> bool:
        try:
            snapshots.commit(replace(a_snapshot(), table=TableName(f"t{worker}")), T0)
        except SnapshotExists:
            return False
        return True

    with ThreadPoolExecutor(8) as workers:
        committed = list(workers.map(commit, range(8)))

    assert committed.count(True) == 1
    assert sum(snapshots.revision(TableName(f"t{worker}")) for worker in range(8)) == 1


def test_a_sidecar_may_be_rebuilt_until_its_snapshot_is_committed(database: Database) -> None:
    snapshots = SqlSnapshots(database)
    snapshots.note_sidecar(a_sidecar(manifest_hash="sha256:1"), T0)

    snapshots.note_sidecar(a_sidecar(manifest_hash="sha256:2"), T0)

    assert snapshots.sidecars(S1) == (a_sidecar(manifest_hash="sha256:2"),)


def test_after_the_commit_only_the_same_sidecar_is_noted_again(database: Database) -> None:
    snapshots = SqlSnapshots(database)
    snapshots.note_sidecar(a_sidecar(), T0)
    snapshots.commit(a_snapshot(indexes=("pk-id",)), T0)

    snapshots.note_sidecar(a_sidecar(), T0 + DAY)
    with pytest.raises(CatalogRefused):
        snapshots.note_sidecar(a_sidecar(manifest_hash="sha256:2"), T0)
    with pytest.raises(CatalogRefused):
        snapshots.note_sidecar(a_sidecar("another"), T0)

    assert snapshots.sidecars(S1) == (a_sidecar(),)


def test_the_files_that_a_snapshot_replaces_are_doomed_with_its_commit(database: Database) -> None:
    snapshots, garbage = SqlSnapshots(database), SqlGarbage(database)
    drops = [a_file("b.parquet"), a_file("a.parquet"), a_file("c.parquet", keep=2 * DAY)]

    snapshots.commit(a_snapshot(), T0, drops=drops)

    assert garbage.due(T0 + DAY) == (a_file("a.parquet"), a_file("b.parquet"))
    assert garbage.due(T0 + 2 * DAY, limit=1) == (a_file("a.parquet"),)


def test_a_file_is_due_from_its_very_moment_on_and_the_longest_due_comes_first(database: Database) -> None:
    garbage = SqlGarbage(database)
    garbage.doom(iter([a_file("late", keep=2 * DAY), a_file("soon", keep=DAY)]), T0)

    assert garbage.due(T0 + DAY - timedelta(microseconds=1)) == ()
    assert [file.path for file in garbage.due(T0 + DAY)] == ["soon"]
    assert [file.path for file in garbage.due(T0 + 2 * DAY)] == ["soon", "late"]


@pytest.mark.parametrize("order", [(1, 3, 2), (3, 1, 2)])
def test_a_file_that_is_doomed_again_keeps_the_later_date(database: Database, order: tuple[int, ...]) -> None:
    garbage = SqlGarbage(database)

    for days in order:
        garbage.doom([a_file("f", keep=days * DAY), a_file("f", keep=timedelta())], T0)

    assert garbage.due(T0 + 9 * DAY) == (a_file("f", keep=3 * DAY),)


def test_naming_files_and_forgetting_them_changes_the_past_of_their_tables(database: Database) -> None:
    snapshots, garbage = SqlSnapshots(database), SqlGarbage(database)
    pulls = TableName("pulls")
    garbage.doom([a_file("a"), a_file("b"), a_file("c", table=pulls), a_file("d\n'é\"\\")], T0)
    assert (snapshots.revision(ISSUES), snapshots.revision(pulls)) == (1, 1)

    assert garbage.forget(iter(["a", "c", "nobody knows it", "d\n'é\"\\", "a"]), T0 + DAY) == 3

    assert garbage.due(T0 + 9 * DAY) == (a_file("b"),)
    assert (snapshots.revision(ISSUES), snapshots.revision(pulls)) == (2, 2)


def test_forgetting_nothing_changes_nothing(database: Database) -> None:
    assert SqlGarbage(database).forget(["unknown"], T0) == 0
    assert SqlSnapshots(database).revision(ISSUES) == 0


@pytest.mark.parametrize("path", ["a\0b", "half \ud800"])
def test_a_path_that_a_database_cannot_keep_is_refused(database: Database, path: str) -> None:
    with pytest.raises(UnstorableText):
        SqlGarbage(database).doom([a_file(path)], T0)


def test_a_table_that_is_locked_for_the_first_time_is_at_revision_zero(database: Database) -> None:
    assert database.write(lambda tx: lock_table(tx, ISSUES)) == 0


def test_no_bump_of_a_revision_is_lost(database: Database) -> None:
    def bump(_: int) -> int:
        def work(tx: Transaction) -> int:
            return bump_revision(tx, ISSUES)

        return database.write(work)

    with ThreadPoolExecutor(8) as workers:
        revisions = list(workers.map(bump, range(100)))

    assert sorted(revisions) == list(range(1, 101))
