"""A large table is read in little memory, from each of the three databases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.sources.sql.lab import Lab

pytestmark = pytest.mark.proof

ROWS = 1_000_000
MOST_GROWTH_MIB = 160
READER = """
import json, resource, sys
from pathlib import Path
from hakiri.core.clock import SystemClock
from hakiri.sources.budget import NoBudget
from hakiri.sources.contract import Context, Read
from hakiri.sources.sql import SqlConnector
from hakiri.sources.sql.config import SqlConfig

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

context = Context(root=Path(sys.argv[2]), secrets={}, budget=NoBudget(), clock=SystemClock(), wait=print)
connector = SqlConnector(SqlConfig.model_validate_json(json.dumps({"url": sys.argv[1]})), context)
list(connector.open(Read(table="large", limit=1)))
before, rows, size = peak(), 0, 0
for batch in connector.open(Read(table="large", **json.loads(sys.argv[3]))):
    rows, size = rows + batch.rows.num_rows, size + batch.rows.nbytes
print(rows, size // 2**20, round(peak() - before))
"""
LARGE = {
    "postgres": (
        "INSERT INTO large SELECT g, md5(g::text) || repeat('x', 200) FROM generate_series(1, {rows}) g"
    ),
    "sqlite": (
        "INSERT INTO large WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < {rows}) "
        "SELECT i, printf('%232d', i) FROM g"
    ),
    "duckdb": "INSERT INTO large SELECT i, md5(i::VARCHAR) || repeat('x', 200) FROM range({rows}) r(i)",
}


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("postgres", "{}"),
        ("postgres", '{"incremental": "id"}'),
        ("sqlite", "{}"),
        ("sqlite", '{"incremental": "id"}'),
        ("duckdb", "{}"),  # it sorts a whole table at once, in what memory it allows itself
    ],
)
def test_a_million_rows_take_little_memory(
    kind: str, read: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    lab: Lab = request.getfixturevalue(kind)
    lab.run(f"CREATE TABLE large (id integer PRIMARY KEY, v text); {LARGE[kind].format(rows=ROWS)}")

    said = subprocess.run(
        [sys.executable, "-c", READER, lab.url, str(tmp_path), read],
        capture_output=True,
        text=True,
        check=False,
    )

    assert said.returncode == 0, said.stderr
    rows, size_mib, growth_mib = map(int, said.stdout.split())
    assert rows == ROWS
    assert size_mib > MOST_GROWTH_MIB
    assert growth_mib < MOST_GROWTH_MIB
