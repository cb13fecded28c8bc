"""New and changed files are read, and none is lost: the cursor holds what was there before the read."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.sources.files.lab import TABLE, files_in, names_read, rows_of, write

from hakiri.core.clock import FixedClock
from hakiri.core.cursors import CursorKind
from hakiri.sources.contract import Batch, Read, Window
from hakiri.sources.errors import NoFiles, PermanentFailure
from hakiri.sources.files import FilesConnector

OLD = 1_700_000_000
LATER = FixedClock(datetime(2030, 1, 1, tzinfo=UTC))
READ = Read(table=TABLE)


def put(root: Path, name: str, text: str, at: int = OLD) -> None:
    """A file whose last change was at this second."""
    write(root, {name: text})
    os.utime(root / name, (at, at))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "a.csv", "id\n1\n")
    put(tmp_path, "b.csv", "id\n2\n3\n")
    return tmp_path


def files_later(root: Path, **config: Any) -> FilesConnector:
    """A connector to which all files are old."""
    return files_in(root, LATER, **{"path": "*.csv"} | config)


def test_the_cursor_names_every_file_with_its_size_and_time(root: Path) -> None:
    assert files_later(root).cursor_after(READ) == {
        "files": {"a.csv": f"5:{OLD}000000000", "b.csv": f"7:{OLD}000000000"}
    }


@pytest.mark.spec("HP-111")
def test_the_hint_says_that_the_cursor_is_opaque(root: Path) -> None:
    hint = files_later(root).backfill_hint(TABLE)

    assert (hint.cursor_kind, hint.partition_keys, hint.rate_budget) == (CursorKind.OPAQUE_TOKEN, (), None)


@pytest.mark.spec("HP-027")
def test_a_read_from_a_cursor_gives_new_and_changed_files_only(root: Path) -> None:
    cursor = files_later(root).cursor_after(READ)
    put(root, "b.csv", "id\n4\n5\n", OLD + 1)
    put(root, "c.csv", "id\n6\n")

    assert names_read(files_later(root), cursor) == [4, 5, 6]
    after = files_later(root).cursor_after(Read(table=TABLE, cursor=cursor))
    assert rows_of(files_later(root), after) == []


def test_a_file_of_another_size_has_changed_whatever_its_time_says(root: Path) -> None:
    cursor = files_later(root).cursor_after(READ)
    put(root, "a.csv", "id\n11\n")

    assert names_read(files_later(root), cursor) == [11]


def test_changed_files_may_be_ignored_and_stay_as_they_were_known(root: Path) -> None:
    connector = files_later(root, changed="ignore")
    cursor = connector.cursor_after(READ)
    put(root, "a.csv", "id\n11\n")
    put(root, "c.csv", "id\n6\n")

    assert names_read(connector, cursor) == [6]
    after = connector.cursor_after(Read(table=TABLE, cursor=cursor))
    assert after is not None
    assert after["files"]["a.csv"] == f"5:{OLD}000000000"


def test_changed_files_may_be_an_error(root: Path) -> None:
    connector = files_later(root, changed="fail")
    cursor = connector.cursor_after(READ)
    put(root, "a.csv", "id\n11\n")

    with pytest.raises(PermanentFailure) as refused:
        rows_of(connector, cursor)

    assert str(refused.value) == "`a.csv` has changed since it was read"
    assert refused.value.hint == (
        'put the old file back, or write changed = "reread" or "ignore" in the source\'s config'
    )


def test_files_that_are_gone_stay_in_the_cursor(root: Path) -> None:
    cursor = files_later(root).cursor_after(READ)
    (root / "a.csv").rename(root / "a.away")
    meanwhile = files_later(root).cursor_after(Read(table=TABLE, cursor=cursor))
    (root / "a.away").rename(root / "a.csv")

    assert meanwhile == cursor
    assert rows_of(files_later(root), meanwhile) == []


def test_a_file_that_changes_while_it_is_read_is_read_again(root: Path) -> None:
    connector = files_later(root)
    (table,) = connector.discover([TABLE])
    cursor = None
    for batch in connector.open(Read(table=TABLE, schema=table.schema)):
        if cursor is None:
            put(root, "b.csv", "id\n2\n3\n4\n", OLD + 1)
        cursor = batch.cursor

    assert names_read(files_later(root), cursor) == [2, 3, 4]


def test_a_change_too_quick_for_its_time_to_show_is_seen_in_the_content(root: Path) -> None:
    just_now = FixedClock(datetime.fromtimestamp(OLD, UTC) + timedelta(seconds=1))
    cursor = files_in(root, just_now, path="*.csv").cursor_after(READ)
    put(root, "a.csv", "id\n9\n")

    assert names_read(files_later(root), cursor) == [9]
    assert cursor is not None
    assert cursor["files"]["b.csv"].startswith(f"7:{OLD}000000000:")
    unchanged = files_later(root).cursor_after(Read(table=TABLE, cursor=cursor))
    assert unchanged == files_later(root).cursor_after(READ)


@pytest.mark.spec("HP-025")
@pytest.mark.spec("HP-026")
def test_every_file_ends_with_a_cursor_and_the_last_one_ends_the_read(root: Path) -> None:
    put(root, "c.csv", "id\n")
    batches = list(files_later(root).open(READ))

    assert [batch.rows.to_pydict()["id"] for batch in batches] == [[1], [2, 3], []]
    assert [_names(batch) for batch in batches] == [
        ["a.csv"],
        ["a.csv", "b.csv"],
        ["a.csv", "b.csv", "c.csv"],
    ]


def test_a_read_of_many_files_has_few_cursors(tmp_path: Path) -> None:
    for number in range(350):
        put(tmp_path, f"{number:03}.csv", f"id\n{number}\n")

    batches = list(files_later(tmp_path).open(READ))

    with_cursor = [batch for batch in batches if batch.cursor is not None]
    assert sum(batch.rows.num_rows for batch in batches) == 350
    assert len(with_cursor) == 117
    assert batches[-1].cursor == files_later(tmp_path).cursor_after(READ)
    assert len(_names(with_cursor[0])) == 3


def test_a_limit_ends_the_read_before_its_last_file(root: Path) -> None:
    batches = list(files_later(root).open(Read(table=TABLE, limit=1)))

    assert [batch.rows.num_rows for batch in batches] == [1]


def test_one_file_is_a_partition(root: Path) -> None:
    read = Read(table=TABLE, partition={"file": "b.csv"})
    connector = files_later(root)

    assert [row for batch in connector.open(read) for row in batch.rows.to_pylist()] == [{"id": 2}, {"id": 3}]
    assert connector.cursor_after(read) == {"files": {"b.csv": f"7:{OLD}000000000"}}


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (Read(table=TABLE, window=Window(field="id")), "files cannot be cut by a window"),
        (Read(table=TABLE, partition={"day": "1"}), "files are not cut by `day`"),
        (Read(table=TABLE, cursor={"page": 1}), "the cursor is none of connector `files`"),
        (Read(table=TABLE, cursor={"files": {"a.csv": 5}}), "the cursor is none of connector `files`"),
    ],
)
def test_reads_that_make_no_sense_are_refused(root: Path, read: Read, problem: str) -> None:
    with pytest.raises(PermanentFailure, match=f"^{problem}$"):
        list(files_later(root).open(read))


def test_a_partition_that_is_no_file_is_refused(root: Path) -> None:
    with pytest.raises(NoFiles):
        list(files_later(root).open(Read(table=TABLE, partition={"file": "nosuch.csv"})))


def _names(batch: Batch) -> list[str]:
    assert batch.cursor is not None
    return list(batch.cursor["files"])
