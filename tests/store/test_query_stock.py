"""The store in a stock DuckDB that knows nothing of Hakiri."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.store.workshop import Workshop

SCHEMA = pa.schema([("id", pa.int64()), ("title", pa.string())])


def stock(folder: Path, *statements: str) -> list[str]:
    """What a new process with nothing but DuckDB answers to the last statement, line by line."""
    code = (
        "import duckdb, sys\n"
        "connection = duckdb.connect()\n"
        "for sql in sys.argv[1:]:\n    answer = connection.execute(sql)\n"
        "print(*answer.fetchall(), sep='\\n')\n"
        "assert not any(name.startswith('hakiri') for name in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *statements], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.spec("HC-021")
def test_stock_duckdb_attaches_the_store_from_any_folder(workshop: Workshop, tmp_path: Path) -> None:
    workshop.land([{"id": 1, "title": "a"}, {"id": 1, "title": "b"}], SCHEMA, "id")
    workshop.publish()
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)

    read = stock(elsewhere, f"ATTACH '{workshop.layout.duck_db}'", "SELECT * FROM duck.orders LIMIT 10")
    used = stock(elsewhere, f"ATTACH '{workshop.layout.duck_db}' (READ_ONLY)", "USE duck", "FROM orders")
    views = stock(
        elsewhere, workshop.layout.view_file("orders").read_text("utf-8"), "SELECT * FROM orders LIMIT 10"
    )

    assert read == used == views == ["(1, 'b')"]
