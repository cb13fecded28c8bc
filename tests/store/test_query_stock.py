"""The store in a stock DuckDB that knows nothing of Hakiri."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.store.workshop import Workshop

ROOT = Path(__file__).resolve().parents[2]
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


READER = """
import duckdb, sys
counts = []
while True:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{sys.argv[1]}' (READ_ONLY)")
        ((count,),) = connection.execute("SELECT count(*) FROM duck.orders").fetchall()
    counts.append(count)
    if count >= int(sys.argv[2]):
        break
assert counts == sorted(counts)
print(counts[0], counts[-1])
"""


@pytest.mark.proof
@pytest.mark.spec("HC-021")
def test_stock_duckdb_reads_the_store_while_a_writer_commits(workshop: Workshop, tmp_path: Path) -> None:
    workshop.land([{"id": 0}], SCHEMA.remove(1))
    workshop.publish()
    reader = subprocess.Popen(
        [sys.executable, "-I", "-c", READER, str(workshop.layout.duck_db), "11"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    writer = [sys.executable, "-m", "tests.store.crowd", str(workshop.layout.root), "1", "10"]
    subprocess.run(writer, cwd=ROOT, check=True)

    told, _ = reader.communicate(timeout=30)

    assert (reader.returncode, told.split()[1]) == (0, "11")
