"""A disk that fills up while rows are written: nothing is lost, and with more room nothing is read twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_disk import can_mount

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, spark_cache: Path) -> Any:
    """What became of two stores, of which one has its tables on a small disk, and one everything."""
    if not can_mount():
        pytest.skip("this system does not let a process have a disk of its own")
    folder = tmp_path_factory.mktemp("disk")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.full_disk", folder, spark_cache],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def states(attempt: Any) -> list[str]:
    return [state for state, _, _ in attempt["chunks"]]


@pytest.mark.spec("HP-041")
@pytest.mark.spec("HP-048")
@pytest.mark.spec("HP-061")
def test_a_full_disk_below_the_tables_fails_the_run_which_waits_for_a_decision(story: Any) -> None:
    tables = story["tables"]

    full = tables["full"]
    assert (full["code"], full["run"]) == ("pipelines.store_not_written",
                                           ["failed", "pipelines.store_not_written"])  # fmt: skip
    assert full["error"].startswith("the store could not be written: No space left on device, in `")
    assert full["hint"] == (
        "make room, then run `hakiri retry` and `hakiri apply`: what was committed is not pulled again"
    )
    done = states(full).count("done")
    assert done > 0
    assert full["chunks"][done] == ["failed", 1, "pipelines.store_not_written"]
    assert set(states(full)[done + 1 :]) == {"pending"}
    assert tables["is_part_seen"]
    assert (tables["again"]["need"], states(tables["again"])) == ("WAITS", states(full))

    assert (tables["after"]["code"], tables["after"]["run"]) == (None, ["success", None])
    assert tables["is_all_seen"]
    assert tables["reads_after"] == len(states(full)) - done


@pytest.mark.spec("HP-041")
def test_a_full_disk_below_the_catalog_too_ends_the_run_and_the_next_one_goes_on_at_once(story: Any) -> None:
    store = story["store"]

    for attempt in (store["full"], store["again"]):
        assert attempt["code"] == "catalog.full"
        assert attempt["hint"] == (
            "free some space on its disk and run the command again; what was committed is safe"
        )
    done = states(store["full"]).count("done")
    assert done > 0
    assert store["is_part_seen"]

    # What the run could not give back, because there was no room to say so, is not waited for.
    assert (store["after"]["code"], store["after"]["run"]) == (None, ["success", None])
    assert store["is_all_seen"]
    assert store["reads_after"] == len(states(store["full"])) - done
