"""Two nodes that pull the same table at once: what both fetched is in the table once."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, NewChunk
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TTL = timedelta(minutes=10)
PIPELINE, TABLE = PipelineId("orders"), TableName("orders")
# A process of its own, as any reader is one; DuckDB also complains at the end of a long test process.
NEWEST = """
import duckdb, json, sys
rows = duckdb.execute(
    "SELECT id, state FROM read_parquet($files)"
    " QUALIFY row_number() OVER (PARTITION BY id ORDER BY _seq DESC) = 1 ORDER BY id",
    {"files": sys.argv[1:]},
).fetchall()
print(json.dumps(rows))
"""

Source = dict[int, str]


def begin(catalog: Catalog, node: str, now: datetime) -> tuple[ChunkAttempt, int]:
    """Start an incremental run, which is one chunk, from where the table was read up to."""
    cursor = catalog.cursors.get(PIPELINE, TABLE)
    since = json.loads(cursor.value)["id"] if cursor else 0
    run = RunId(f"{now.isoformat()}-{node}")
    assert not catalog.runs.start(run, PIPELINE, NodeId(node), now, ttl=TTL).is_skipped
    catalog.chunks.plan(PIPELINE, run, [NewChunk(table=TABLE, predicate=f'{{"after":{since}}}')], now)
    attempt = catalog.queue.claim(PIPELINE, run, NodeId(node), now, ttl=TTL)
    assert attempt is not None
    return attempt, since


def land(catalog: Catalog, attempt: ChunkAttempt, source: Source, since: int, folder: Path) -> None:
    """Write what the source has after `since`, and commit it with the cursor."""
    rows = {number: state for number, state in source.items() if number > since}
    file = folder / attempt.run / attempt.place / "part-00000.parquet"
    file.parent.mkdir(parents=True)
    columns = {"id": list(rows), "state": list(rows.values()), "_seq": [attempt.seq] * len(rows)}
    pq.write_table(pa.table(columns), file)
    cursor = json.dumps({"id": max(rows, default=since)})
    commit = ChunkCommit(
        rows=len(rows), bytes=file.stat().st_size, manifest=json.dumps([str(file)]), cursor=cursor
    )
    catalog.queue.commit(attempt, commit, attempt.claimed_at)


def table(catalog: Catalog) -> list[tuple[int, str]]:
    """The table as a reader sees it: the newest row of each key in the committed files."""
    manifests = [chunk.manifest for chunk in catalog.chunks.page(PIPELINE) if chunk.manifest]
    files = [file for manifest in manifests for file in json.loads(manifest)]
    read = subprocess.run([sys.executable, "-c", NEWEST, *files], stdout=subprocess.PIPE, check=True)
    return [(number, state) for number, state in json.loads(read.stdout)]


@pytest.mark.spec("HP-063")
@pytest.mark.spec("HC-102")
@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_what_two_nodes_fetched_at_once_is_in_the_table_once(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/meta.sqlite"
    if backend == "postgres":
        url = request.getfixturevalue("postgres_url")
    with (
        open_catalog(url, project="shop", base=tmp_path, now=T0) as anna,
        open_catalog(url, project="shop", base=tmp_path, now=T0) as ben,
    ):
        anna.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        source: Source = {1: "open", 2: "open", 3: "open"}
        first, since_first = begin(anna, "anna", T0)
        second, since_second = begin(ben, "ben", T0)
        # Both fetch rows 1 to 3. The later claim sees a change and commits first; the other comes late.
        land(ben, second, source | {2: "paid", 4: "open"}, since_second, tmp_path / "data")
        land(anna, first, source, since_first, tmp_path / "data")

        assert table(anna) == [(1, "open"), (2, "paid"), (3, "open"), (4, "open")]
        cursor = anna.cursors.get(PIPELINE, TABLE)
        assert cursor is not None
        assert cursor.value == '{"id": 4}'

        third, since_third = begin(anna, "anna", T0 + TTL)
        land(anna, third, {5: "open"}, since_third, tmp_path / "data")
        assert [number for number, _ in table(ben)] == [1, 2, 3, 4, 5]
