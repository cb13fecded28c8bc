"""Every write of the store is durable and whole before anybody relies on it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.store.recording import Recording

from hakiri.store.files import LocalFiles, make_folders, replace, write_new

HOLD = """
import sys
from pathlib import Path
from hakiri.store.files import LocalFiles
with LocalFiles().lock(Path(sys.argv[1])):
    print("in", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def disk(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


def test_a_new_file_is_synced_before_the_folder_that_names_it(disk: Recording, tmp_path: Path) -> None:
    write_new(disk, tmp_path / "a/b/file", b"text")

    assert (tmp_path / "a/b/file").read_bytes() == b"text"
    assert disk.steps == [
        "mkdir a",
        "syncdir .",
        "mkdir a/b",
        "syncdir a",
        "create a/b/file",
        "write a/b/file",
        "sync a/b/file",
        "syncdir a/b",
    ]


def test_a_file_is_replaced_by_one_that_is_durable_already(disk: Recording, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")

    replace(disk, tmp_path / "file", b"new")

    assert (tmp_path / "file").read_bytes() == b"new"
    assert disk.steps == [
        "create .file.pending",
        "write .file.pending",
        "sync .file.pending",
        "rename .file.pending file",
        "syncdir .",
    ]


def test_what_somebody_left_half_replaced_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".file.pending").write_bytes(b"ha")

    replace(LocalFiles(), tmp_path / "file", b"whole")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"whole")]


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    write_new(LocalFiles(), tmp_path / "file", b"first")

    with pytest.raises(FileExistsError):
        write_new(LocalFiles(), tmp_path / "file", b"second")

    assert (tmp_path / "file").read_bytes() == b"first"


def test_what_is_not_there_reads_as_nothing(tmp_path: Path) -> None:
    files = LocalFiles()

    assert files.read(tmp_path / "file") is None
    assert files.names(tmp_path / "folder") == ()
    files.remove(tmp_path / "file")


def test_a_file_can_be_read_in_part_and_a_folder_is_listed_in_order(tmp_path: Path) -> None:
    files = LocalFiles()
    for name in ("b", "a"):
        write_new(files, tmp_path / name, b"text")

    assert files.read(tmp_path / "a", 2) == b"te"
    assert files.read(tmp_path / "a", 0) == b""
    assert files.names(tmp_path) == ("a", "b")


def test_folders_may_be_made_by_many_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "a/b/c/d"
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        make_folders(LocalFiles(), folder)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert folder.is_dir()


def test_a_lock_keeps_other_processes_out_until_its_holder_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    order: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"in\n"

        def work() -> None:
            with LocalFiles().lock(path):
                order.append("in")

        waiting = threading.Thread(target=work)
        waiting.start()
        waiting.join(timeout=0.2)
        order.append("killed")
        holder.kill()
        waiting.join()

    assert order == ["killed", "in"]
