"""Runs on a disk that fills up: a process with a small disk and a Spark of its own.

`python -m tests.support.full_disk <folder>` puts a disk below the tables of a store, and another below the
whole of a second one with its catalog, and prints as JSON what became of each step.
"""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Any

from tests.conftest import Unwatched, small_engine
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab
from tests.support.small_disk import mount_disk, resize_disk

from hakiri.catalog.contract.pipelines import Decision
from hakiri.core.clock import SystemClock
from hakiri.core.errors import HakiriError
from hakiri.core.ids import NodeId, RunId
from hakiri.engine import EngineHome, session, stop_servers
from hakiri.pipelines.needs import Need
from hakiri.pipelines.operations.changing import Operator

# Room for some chunks; below the store also for the catalog.
SMALL, LARGE = {"tables": "600k", "store": "1536k"}, "64m"
ROW_BYTES, ROWS = 40_000, 60
STORED = "SELECT id, part, v FROM counted_items ORDER BY id"


def rows() -> list[tuple[int, str | None, str, str]]:
    """So much that cannot be packed that a third of it fills the disk."""
    return [(number, at, part, secrets.token_hex(ROW_BYTES // 2)) for number, at, part, _ in moments(ROWS)]


def attempt(lab: Lab, node: str) -> dict[str, Any]:
    """One apply, as by a process of its own, and what it left behind."""
    try:
        (applied,) = lab.apply(node=NodeId(node))
        error, result, need = applied.error, applied.result, applied.need.name
    except HakiriError as raised:
        error, result, need = raised, None, None
    return {
        "need": need,
        "code": None if error is None else error.code,
        "error": None if error is None else str(error),
        "hint": None if error is None else error.hint,
        "run": None if result is None else [result.run.status.value, result.run.error_kind],
        "chunks": [[chunk.status.value, chunk.attempts, chunk.error_kind] for chunk in lab.chunks()],
    }


def decide(lab: Lab) -> None:
    with lab.catalog() as catalog:
        Operator(
            catalog=catalog,
            node=NodeId("operator"),
            run=RunId("operator"),
            by="operator:ada",
            now=lab.clock.now(),
        ).decide("p", Decision.RETRY)


def disk_of(root: Path, what: str) -> Path:
    return root / "store" / "shop" / ("tables" if what == "tables" else "")


def fill_up(root: Path, spark: Any, what: str) -> dict[str, Any]:
    """Run until the disk is full, look, give it room, and go on."""
    source = CountedSource.make(root)
    source.put(rows())
    lab = Lab(root=root, spark=spark)
    lab.write(manifest("monotonic", config=', window = "10d"', more="backfill = { parallelism = 1 }\n"))
    full = attempt(lab, "first")
    seen = lab.query(STORED)
    again = attempt(lab, "second")
    resize_disk(disk_of(root, what), LARGE)
    source.forget_reads()
    if again["need"] == Need.WAITS.name:
        decide(lab)
    after = attempt(lab, "third")
    return {
        "full": full,
        "is_part_seen": 0 < len(seen) < ROWS and set(seen) < set(source.rows()),
        "again": again,
        "after": after,
        "is_all_seen": lab.query(STORED) == source.rows(),
        "reads_after": len(source.reads()),
    }


def main(folder: Path, cache: Path) -> None:
    home = EngineHome(runtime=folder / "runtime", cache=cache)
    for what, size in SMALL.items():  # before there is a thread, and before Spark: both see the disks then
        disk_of(folder / what, what).mkdir(parents=True)
        mount_disk(disk_of(folder / what, what), size)
    try:
        with session(small_engine(home), Unwatched()) as spark:
            json.dump({what: fill_up(folder / what, spark, what) for what in SMALL}, sys.stdout)
    finally:
        stop_servers(home, SystemClock(), force=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
