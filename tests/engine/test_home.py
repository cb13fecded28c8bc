from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hakiri.engine.errors import UnsafeDirectory
from hakiri.engine.home import (
    EngineHome,
    FileLock,
    ServerDir,
    ServerRecord,
    private_directory,
    why_unsafe,
    write_private,
)

RECORD = ServerRecord(
    key="k",
    port=4711,
    token="t0ken",
    pid=1,
    master="local[*]",
    spark_version="4.3.0",
    java="17",
    started_at="2026-01-01T00:00:00+00:00",
    start_seconds=1.5,
    archive_used=False,
)


def test_the_folders_come_from_the_environment_in_order(tmp_path: Path) -> None:
    by_name = EngineHome.of({"HAKIRI_RUNTIME_DIR": "/r", "HAKIRI_CACHE_DIR": "/c"})
    by_system = EngineHome.of({"XDG_RUNTIME_DIR": str(tmp_path), "XDG_CACHE_HOME": "/x", "HOME": "/h"})
    bare = EngineHome.of({"HOME": "/h", "TMPDIR": "/t"})

    assert (by_name.runtime, by_name.cache) == (Path("/r"), Path("/c"))
    assert (by_system.runtime, by_system.cache) == (tmp_path / "hakiri", Path("/x/hakiri"))
    assert (bare.runtime, bare.cache) == (Path(f"/t/hakiri-{os.getuid()}"), Path("/h/.cache/hakiri"))


def test_a_private_directory_is_closed_to_others_even_if_it_was_open(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)

    made = private_directory(tmp_path / "open")

    assert made.stat().st_mode & 0o777 == 0o700


def test_a_link_in_place_of_the_private_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnsafeDirectory, match="it is a link or a file"):
        private_directory(tmp_path / "link")


def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    assert why_unsafe(tmp_path.lstat(), uid=os.getuid() + 1) == f"it belongs to user {os.getuid()}"
    assert why_unsafe(tmp_path.lstat(), uid=os.getuid()) is None


def test_a_private_file_is_never_readable_by_others(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o644)

    write_private(path, "new")

    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = ServerDir(tmp_path)

    folder.write_record(RECORD)

    assert folder.read_record() == RECORD


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "k"}', '{"unknown": 1}'])
def test_a_record_that_another_version_wrote_counts_as_none(tmp_path: Path, text: str) -> None:
    folder = ServerDir(tmp_path)
    folder.record.write_text(text)

    assert folder.read_record() is None


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = (
        "import sys; from pathlib import Path; from hakiri.engine.home import FileLock;"
        "lock = FileLock(Path(sys.argv[1])); lock.take(); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        was_free_while_held = FileLock(path).take(wait=False)
        holder.kill()

    assert not was_free_while_held
    assert FileLock(path).take(wait=False)


def test_shared_locks_go_together_and_keep_an_exclusive_one_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    one, two = FileLock(path), FileLock(path)

    assert one.take(shared=True, wait=False)
    assert two.take(shared=True, wait=False)
    assert not FileLock(path).take(wait=False)
    one.release()
    two.release()
    assert FileLock(path).take(wait=False)
