"""Readers that know the page about the format, and nothing of Hakiri: pyarrow, pandas and Polars."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import Workshop

# The rules of docs/format.md: which files count, and which of the rows in them.
FILES = """
import json, sqlite3, sys
from pathlib import Path

root, table = Path(sys.argv[1]), "orders"
catalog = sqlite3.connect(f"file:{root}/meta.sqlite?mode=ro", uri=True)
data = root / "tables" / table / "data"
found = catalog.execute(
    "SELECT manifest FROM snapshot WHERE table_name = ? ORDER BY revision DESC LIMIT 1", [table]
).fetchone()
snapshot = json.loads(found[0])
files = [str(data / file["path"]) for file in snapshot["files"]]
for (text,) in catalog.execute(
    "SELECT manifest FROM pipeline_chunks WHERE table_name = ? AND winning_attempt IS NOT NULL", [table]
):
    chunk = json.loads(text)
    if chunk["seq"] >= snapshot["frontier"]:
        attempt = f"chunk-{chunk['chunk']}/attempt-{chunk['attempt']}"
        folder = data / "runs" / chunk["run"] / chunk["node"] / attempt
        files += [str(folder / file["name"]) for file in chunk["files"]]
"""
READERS = {
    "pyarrow": """
import pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
rows = pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
rows = rows.sort_by([("id", "ascending"), ("_seq", "descending"), ("_position", "descending")])
newest = rows.group_by("id", use_threads=False).aggregate([("name", "first"), ("_op", "first")])
kept = newest.filter(pc.not_equal(newest["_op_first"], "delete"))
answer = list(zip(kept["id"].to_pylist(), kept["name_first"].to_pylist()))
""",
    "pandas": """
import pandas as pd
rows = pd.concat([pd.read_parquet(file, partitioning=None) for file in files])
newest = rows.sort_values(["_seq", "_position"]).groupby("id").tail(1)
kept = newest[newest["_op"] != "delete"]
answer = list(zip(kept["id"].tolist(), kept["name"].tolist()))
""",
    "polars": """
import polars as pl
rows = pl.read_parquet(files, hive_partitioning=False)
newest = rows.sort("_seq", "_position").group_by("id").last()
answer = newest.filter(pl.col("_op") != "delete").select("id", "name").rows()
""",
}


@pytest.mark.spec("HC-003")
@pytest.mark.spec("HC-021")
@pytest.mark.parametrize("reader", READERS)
def test_a_table_is_read_by_its_documented_layout_alone(workshop: Workshop, reader: str) -> None:
    bench = Bench(workshop)
    bench.land([{"id": number, "name": f"n{number}"} for number in range(9)], SCHEMA, "id")
    bench.land([{"id": 1, "_op": "delete"}, {"id": 2, "name": "first"}], SCHEMA, "id")
    bench.compacted()
    bench.land(
        [{"id": 2, "name": "second"}, {"id": 3, "_op": "delete"}, {"id": 2, "name": "third"}], SCHEMA, "id"
    )
    code = f"{FILES}{READERS[reader]}\nassert not any(name.startswith('hakiri') for name in sys.modules)\n"

    done = subprocess.run(
        [sys.executable, "-c", f"{code}print(sorted(answer))", str(workshop.layout.root)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == str(bench.rows())
