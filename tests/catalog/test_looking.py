"""Looking at a catalog leaves every file as it was, whoever works with it or has crashed."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hakiri.catalog import catalog_place
from hakiri.core.ids import PipelineId

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)
URL = "sqlite:///meta.sqlite"
WORKER = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from hakiri.catalog import open_catalog
from hakiri.core.cursors import CursorKind

now = datetime(2026, 5, 12, 12, tzinfo=UTC)
catalog = open_catalog("sqlite:///meta.sqlite", project="shop", base=Path(sys.argv[1]), now=now)
catalog.pipelines.declare("orders", CursorKind.MONOTONIC, now)
print("declared", flush=True)
sys.stdin.readline()
os._exit(0)
"""


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def looked(folder: Path) -> list[str]:
    place = catalog_place(URL, project="shop", base=folder)
    assert place.version() == place.newest_version()
    with place.open(is_look=True) as catalog:
        return [state.pipeline for state in catalog.pipelines.all()]


@pytest.fixture
def worker(tmp_path: Path) -> subprocess.Popen[str]:
    """A process that has committed something and has not folded its journal into the file yet."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "declared\n"
    return process


def end(worker: subprocess.Popen[str]) -> None:
    worker.communicate("\n", timeout=30)


def test_a_look_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    with catalog_place(URL, project="shop", base=tmp_path).open(migrated_at=NOON) as catalog:
        assert catalog.pipelines.get(PipelineId("orders")) is None
    before = files_in(tmp_path)

    assert looked(tmp_path) == []

    assert files_in(tmp_path) == before
    assert set(before) == {"meta.sqlite"}


def test_a_look_after_a_crash_sees_all_and_folds_nothing(
    tmp_path: Path, worker: subprocess.Popen[str]
) -> None:
    end(worker)
    before = files_in(tmp_path)

    assert looked(tmp_path) == ["orders"]

    assert files_in(tmp_path) == before
    assert {"meta.sqlite", "meta.sqlite-wal", "meta.sqlite-shm"} <= set(before)


def test_a_look_while_another_process_works_sees_what_it_committed(
    tmp_path: Path, worker: subprocess.Popen[str]
) -> None:
    before = files_in(tmp_path)

    assert looked(tmp_path) == ["orders"]

    assert files_in(tmp_path) == before
    end(worker)
