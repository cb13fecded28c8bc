"""Which files a glob matches, and what happens to those that cannot be read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.files.lab import TABLE, files_in, rows_of, types_of, write

from hakiri.core.errors import ExitCode, Place
from hakiri.sources.contract import Read
from hakiri.sources.errors import NoFiles, PermanentFailure, UnreadableFile
from hakiri.sources.files.listing import list_files

NOBODY = 65_534


def touch(root: Path, *names: str) -> Path:
    return write(root, dict.fromkeys(names, "id\n1\n"))


def names_of(root: Path, *globs: str) -> list[str]:
    return [file.name for file in list_files(root, globs)]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def without_rights() -> Iterator[None]:
    """Not as root, to whom every file is open."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(was)


def test_a_relative_glob_starts_at_the_project_and_is_in_order(tmp_path: Path) -> None:
    root = touch(tmp_path / "shop", "data/b.csv", "data/a.csv", "data/c.txt", "data/deep/d.csv", "e.csv")

    assert names_of(root, "data/*.csv") == ["data/a.csv", "data/b.csv"]
    assert names_of(root, "**/*.csv") == ["data/a.csv", "data/b.csv", "data/deep/d.csv", "e.csv"]
    assert names_of(root, "data/**") == ["data/a.csv", "data/b.csv", "data/c.txt", "data/deep/d.csv"]
    assert names_of(root, "./data//[ab].csv") == ["data/a.csv", "data/b.csv"]
    assert names_of(root, "e.csv") == ["e.csv"]


def test_several_globs_give_every_file_once(tmp_path: Path) -> None:
    root = touch(tmp_path, "a/x.csv", "b/y.csv")

    assert names_of(root, "b/*.csv", "*/*.csv") == ["a/x.csv", "b/y.csv"]


def test_an_absolute_glob_starts_at_the_root(tmp_path: Path) -> None:
    touch(tmp_path, "elsewhere/a.csv")

    assert names_of(tmp_path / "shop", f"{tmp_path}/elsewhere/*.csv") == [f"{tmp_path}/elsewhere/a.csv"]


def test_a_glob_may_leave_the_project(tmp_path: Path) -> None:
    touch(tmp_path, "shop/x.csv", "shared/a.csv")

    assert names_of(tmp_path / "shop", "../shared/*.csv") == ["../shared/a.csv"]


def test_the_name_of_the_projects_folder_is_no_glob(tmp_path: Path) -> None:
    root = touch(tmp_path / "shop [2026]*", "data/a.csv")
    touch(tmp_path / "shop 2", "data/wrong.csv")

    assert names_of(root, "data/*.csv") == ["data/a.csv"]


def test_folders_and_hidden_files_do_not_match(tmp_path: Path) -> None:
    touch(tmp_path, "data/.a.csv", "data/_SUCCESS.csv", "data/a.csv", "data/b.csv._COPYING_")
    (tmp_path / "data" / "folder.csv").mkdir()

    assert names_of(tmp_path, "data/*.csv") == ["data/a.csv"]
    assert names_of(tmp_path, "data/*") == ["data/a.csv"]


def test_hidden_folders_match_only_where_they_are_named(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv", ".venv/b.csv", "_old/c.csv", "x/.git/d.csv")

    assert names_of(tmp_path, "**/*.csv") == ["a.csv"]
    assert names_of(tmp_path, "*/*.csv", "a.csv") == ["a.csv"]
    assert names_of(tmp_path, "_old/*.csv") == ["_old/c.csv"]
    assert names_of(tmp_path, "_*/*.csv") == ["_old/c.csv"]


def test_links_are_files_of_their_own_and_folders_are_not_followed_into_a_ring(tmp_path: Path) -> None:
    touch(tmp_path, "data/a.csv")
    (tmp_path / "data" / "b.csv").symlink_to("a.csv")
    (tmp_path / "data" / "ring").symlink_to(tmp_path / "data")
    (tmp_path / "linked").symlink_to(tmp_path / "data")

    assert names_of(tmp_path, "**/*.csv") == ["data/a.csv", "data/b.csv"]
    assert names_of(tmp_path, "link*/*.csv") == ["linked/a.csv", "linked/b.csv"]


def test_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv")
    (tmp_path / "b.csv").symlink_to("gone.csv")

    with pytest.raises(UnreadableFile) as refused:
        names_of(tmp_path, "*.csv")

    assert str(refused.value) == "`b.csv` cannot be read: it is a link to nothing"
    assert refused.value.places == (Place("b.csv"),)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a:b.csv", "Spark reads no file with `:` in its name"),
        ("a.csv.lz4", ".lz4 is not unpacked"),
        ("a.csv.snappy", ".snappy is not unpacked"),
        ("a.csv.zip", ".zip is not unpacked"),
    ],
)
def test_what_spark_cannot_read_is_refused_before_it_tries(tmp_path: Path, name: str, problem: str) -> None:
    touch(tmp_path, name)

    with pytest.raises(UnreadableFile, match=f"^`{name}` cannot be read: {problem}$"):
        names_of(tmp_path, "*")


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.csv")).write_text("id\n1\n")

    with pytest.raises(UnreadableFile) as refused:
        names_of(tmp_path, "*.csv")

    assert str(refused.value) == r"`'\udcff.csv'` cannot be read: its name is not UTF-8"


@pytest.mark.parametrize("path", ["data/*.csv", "data", "data/_hidden.csv", "/nowhere/*.csv", "a.csv/b.csv"])
def test_no_file_is_told_with_the_glob(tmp_path: Path, path: str) -> None:
    touch(tmp_path, "data/_hidden.csv", "a.csv")

    with pytest.raises(NoFiles) as refused:
        files_in(tmp_path, path=path, format="csv").discover([TABLE])

    assert str(refused.value) == f"no file matches `{path}`"
    assert refused.value.hint == "check `path` in the source's config; it starts at the project's folder"
    assert refused.value.exit_code is ExitCode.FAILED
    assert isinstance(refused.value, PermanentFailure)


def test_files_and_folders_that_may_not_be_read_are_told(
    open_folder: Path, request: pytest.FixtureRequest
) -> None:
    touch(open_folder, "data/a.csv", "locked/b.csv")
    (open_folder / "data" / "a.csv").chmod(0o000)
    (open_folder / "locked").chmod(0o000)
    request.getfixturevalue("without_rights")

    for path, named in (("data/*.csv", "data/a.csv"), ("locked/*.csv", "locked")):
        with pytest.raises(UnreadableFile) as refused:
            files_in(open_folder, path=path).discover([TABLE])
        assert str(refused.value) == f"`{named}` cannot be read: permission denied"


def test_a_file_that_vanishes_before_it_is_opened_is_told(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv", "b.csv")
    connector = files_in(tmp_path, path="*.csv")
    (table,) = connector.discover([TABLE])
    batches = connector.open(Read(table=TABLE, schema=table.schema))
    next(batches)
    (tmp_path / "b.csv").unlink()

    with pytest.raises(UnreadableFile) as refused:
        list(batches)

    assert str(refused.value) == "`b.csv` cannot be read: it is not there any more"


def test_the_path_tells_the_tables_apart(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "in/orders/2026/a.csv": "id\n1\n",
            "in/orders/b.csv": "id\n2\n",
            "in/people/a.csv": "name\nAda\n",
            "in/x[1]/a.csv": "odd\n1\n",
        },
    )
    connector = files_in(tmp_path, path="in/{table}/**/*.csv")

    assert [table.name for table in connector.discover()] == ["orders", "people", "x[1]"]
    assert types_of(connector, "people") == {"name": "string"}
    assert rows_of(connector, table="orders") == [{"id": 1}, {"id": 2}]
    assert rows_of(connector, table="x[1]") == [{"odd": 1}]
    with pytest.raises(PermanentFailure, match="no file matches `in/nosuch/"):
        connector.discover(["orders", "nosuch"])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("data/orders/*.csv", "orders"),
        ("orders.csv", "orders"),
        ("orders.csv.gz", "orders"),
        ("*.csv", "files"),
    ],
)
def test_without_a_name_the_table_is_called_after_the_path(tmp_path: Path, path: str, name: str) -> None:
    write(tmp_path, {path.replace("*", "x"): b""})
    connector = files_in(tmp_path, path=path, format="jsonl", columns={"a": "string"})

    assert [table.name for table in connector.discover()] == [name]
    assert [table.name for table in connector.discover(["mine"])] == ["mine"]


def test_files_without_a_table_in_their_path_are_one_table(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv")

    with pytest.raises(PermanentFailure) as refused:
        files_in(tmp_path, path="*.csv").discover(["orders", "people"])

    assert str(refused.value) == "the files are one table, and the pipeline names 2: orders, people"
    assert refused.value.hint == "write `{table}` in `path` where the table's name stands"


def test_a_check_tells_number_size_and_the_newest(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.csv": "id\n1\n", "b.csv": "id\n" + "1\n" * 1_000})
    os.utime(root / "a.csv", (0, 1_779_000_000))
    os.utime(root / "b.csv", (0, 1_700_000_000))

    assert files_in(root, path="*.csv").check() == (
        "2 files, 2.0 KiB, the newest is a.csv of 2026-05-17 06:40 UTC"
    )
    assert files_in(root, path="a.csv").check().startswith("1 file, 5 bytes, ")


@pytest.mark.proof
def test_many_files_are_found_and_noted_quickly(tmp_path: Path) -> None:
    for number in range(35_000):
        (tmp_path / f"{number:05}.csv").write_bytes(b"id,name\n%d,x\n" % number)
    connector: Any = files_in(tmp_path, path="*.csv")

    (table,) = connector.discover([TABLE])
    cursor = connector.cursor_after(Read(table=TABLE))

    assert (table.estimated_rows, len(cursor["files"])) == (35_000, 35_000)
    assert list(connector.open(Read(table=TABLE, cursor=cursor, schema=table.schema))) == []
