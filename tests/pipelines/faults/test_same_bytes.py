"""A fixed clock and fixed ids give the same bytes, each time and on whichever catalog."""

from __future__ import annotations

import itertools
import json
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.core.clock import FixedClock
from hakiri.core.ids import RunId

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.spark
NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)
SQLITE = "sqlite:///state/meta.sqlite"
QUARANTINED = 'expect = [{ column = "v", not_null = true, on_fail = "quarantine" }]'
# Windows that are landed straight from the source, a log with deletes, and rows that pass through Spark.
PIPELINES = {
    "windows": manifest("monotonic", config=', window = "10d"', table='{ name = "items", as = "windows" }'),
    "log": manifest("snapshot-id", table='{ name = "items", as = "log" }'),
    "checked": manifest("monotonic", table=f'{{ name = "items", as = "checked", {QUARANTINED} }}'),
}


def written(root: Path, spark: Any, catalog_url: str) -> dict[str, bytes]:
    """Every file of the store after a run or two of each pipeline, but for the catalog and DuckDB's own."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    source = CountedSource.make(root)
    source.put(moments(35))
    source.do("UPDATE items SET v = NULL WHERE id IN (7, 33)")
    clock = FixedClock(NOON)
    lab = Lab(root=root, spark=spark, clock=clock, catalog_url=catalog_url)
    lab.write("\n".join(text.replace('id = "p"', f'id = "{name}"') for name, text in PIPELINES.items()))
    numbers = itertools.count(1)
    for name in PIPELINES:
        lab.applied(name, new_run=lambda _: RunId(f"run-{next(numbers)}"))
    clock.advance(timedelta(hours=1))
    source.put([(3, "2025-01-01T00:00:00+00:00", "part-0", "changed")])
    source.do("DELETE FROM items WHERE id = 5")
    for name in ("windows", "log"):
        lab.ran(name, new_run=lambda _: RunId(f"run-{next(numbers)}"))
    files = (path for path in lab.layout.root.rglob("*") if path.is_file() and path.name != "duck.db")
    return {path.relative_to(root).as_posix(): _without_step(path) for path in files}


def _without_step(path: Path) -> bytes:
    """What a file says; of manifests without the step of the schema, which whoever commits first takes."""
    if path.name != "_manifest.json":
        return path.read_bytes()
    said = json.loads(path.read_bytes())
    assert said["commit"].pop("schema_step", None) is None or said["schema_version"] == 1
    return json.dumps(said).encode()


def test_files_manifests_and_views_are_the_same_the_first_time_on_sqlite_and_the_second_on_postgres(
    tmp_path: Path, spark: Any, postgres_server: PostgresServer
) -> None:
    root = tmp_path / "project"
    database = postgres_server.create_database()

    first = written(root, spark, SQLITE)
    second = written(root, spark, postgres_server.url(database))

    postgres_server.drop_database(database)
    kinds = Counter(name.rpartition("/")[2].rpartition(".")[2] for name in first)
    assert kinds["parquet"] > 7
    assert (kinds["sql"], kinds["jsonl"]) == (3, 3)
    assert {name for name in first if first[name] != second.get(name)} == set()
    assert set(first) == set(second)
