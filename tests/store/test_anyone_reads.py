"""The store is a folder of plain files that anybody reads with stock tools, without Hakiri or a network."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.compaction.bench import Bench
from tests.store.everything import make_everything
from tests.store.test_format_page import CODE
from tests.store.workshop import ORDERS, Workshop, open_workshop

from hakiri.store.rows import HIDDEN
from hakiri.store.schemas import schema_from

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
ATTEMPT = r"tables/\w+/data/runs/[\w-]+/[\w-]+/chunk-\d+/attempt-\d+"
SNAPSHOT = r"snapshot=\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-[\w-]+"
TREE = re.compile(
    r"config\.toml|duck\.db|meta\.sqlite(-lock|-shm|-wal)?|views/\.lock|views/\w+\.sql"
    r"|tables/\w+/(schema\.json|schema-history\.jsonl)"
    rf"|{ATTEMPT}/(part|quarantine)-\d{{5,}}\.parquet|{ATTEMPT}/_manifest\.json"
    rf"|tables/\w+/data/{SNAPSHOT}/(part-\d+\.parquet|_manifest\.json)"
    rf"|tables/\w+/indexes/checksum/{SNAPSHOT}/(checksums\.parquet|_manifest\.json)"
)
WITHOUT_HAKIRI = """
import importlib.util, json, sys
sys.path[:0] = json.loads(sys.argv[1])
assert importlib.util.find_spec("hakiri") is None
import duckdb
names = {}
exec(sys.argv[3], names)
rows = names["read_table"](sys.argv[2], "orders")
by_arrow = sorted((row["id"], row["name"]) for row in rows)
store = duckdb.connect(sys.argv[2] + "/duck.db", read_only=True)
by_duckdb = store.sql("SELECT id, name FROM orders ORDER BY id").fetchall()
assert not any(name.startswith("hakiri") for name in sys.modules)
print(json.dumps([by_arrow, by_duckdb]))
"""
WITHOUT_NETWORK = """
import sys
calls = {"connect", "bind", "sendto", "getaddrinfo", "gethostbyname"}
def refuse(event, arguments):
    if event.startswith("socket.") and event.removeprefix("socket.") in calls:
        raise PermissionError(f"{event} {arguments[1:]}")
sys.addaudithook(refuse)
from pathlib import Path
from tests.compaction.bench import Bench
from tests.store.everything import make_everything
from tests.store.workshop import open_workshop
root = Path(sys.argv[1])
with open_workshop(root / ".hakiri" / "context" / "shop") as workshop:
    make_everything(Bench(workshop))
(root / "hakiri.toml").write_text('[project]\\nname = "shop"\\n')
from hakiri.cli import main
for words in (
    ("query", "SELECT count(*) AS orders FROM orders"),
    ("plan",), ("status",), ("context", "check"), ("context", "gc"), ("schema", "regen-view"),
):
    assert main(("-C", str(root), *words)) == 0, words
"""


def files_of(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with open_workshop(tmp_path_factory.mktemp("everything") / "shop") as workshop:
        make_everything(Bench(workshop))
        yield workshop


@pytest.mark.spec("HC-001")
def test_the_first_run_makes_the_documented_tree(workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.publish()

    root = workshop.layout.root
    attempt = "data/runs/0196be00-0000-7000-8000-000000000002/node-anna/chunk-1/attempt-1"
    assert [name for name in files_of(root) if not name.startswith("meta.sqlite-")] == [
        "config.toml",
        "duck.db",
        "meta.sqlite",
        f"tables/orders/{attempt}/_manifest.json",
        f"tables/orders/{attempt}/part-00000.parquet",
        "tables/orders/schema-history.jsonl",
        "tables/orders/schema.json",
        "views/.lock",
        "views/orders.sql",
    ]


@pytest.mark.spec("HC-001")
def test_a_store_has_nothing_that_the_tree_does_not_say(everything: Workshop) -> None:
    assert [name for name in files_of(everything.layout.root) if not TREE.fullmatch(name)] == []


@pytest.mark.spec("HC-002")
def test_every_file_opens_with_its_stock_reader(everything: Workshop) -> None:
    root = everything.layout.root
    readers = {
        ".sqlite": lambda path: sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone(),
        ".db": lambda path: duckdb.connect(path, read_only=True).execute("SHOW TABLES").fetchall(),
        ".sql": lambda path: duckdb.connect().execute(path.read_text()),
        ".parquet": pq.read_table,
        ".json": lambda path: json.loads(path.read_text()),
        ".jsonl": lambda path: [json.loads(line) for line in path.read_text().splitlines()],
        ".toml": lambda path: tomllib.loads(path.read_text()),
    }
    of_sqlite = {"meta.sqlite-shm", "meta.sqlite-wal"}
    files = [root / name for name in files_of(root) if name not in of_sqlite]
    plain = [path for path in files if path.suffix in readers]

    for path in plain:
        assert readers[path.suffix](path), path

    assert {path.suffix for path in plain} == readers.keys()
    assert {path.name: path.stat().st_size for path in files if path not in plain} == {
        ".lock": 0,
        "meta.sqlite-lock": 0,
    }


@pytest.mark.spec("HC-003")
def test_tables_are_read_by_a_process_that_has_no_hakiri(everything: Workshop, tmp_path: Path) -> None:
    libraries = {str(Path(str(module.__file__)).parents[1]) for module in (pa, duckdb)}
    done = subprocess.run(
        [
            *(sys.executable, "-I", "-S", "-c", WITHOUT_HAKIRI),
            *(json.dumps(sorted(libraries)), str(everything.layout.root), CODE["read_table"]),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    by_arrow, by_duckdb = json.loads(done.stdout)
    assert by_arrow == by_duckdb == [[1, "Ada L."], [2, "Bo?"], [2**40, "Di"]]


@pytest.mark.proof
@pytest.mark.spec("HC-004")
def test_everything_works_without_a_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("orders\n     3\n")


@pytest.mark.spec("HC-005")
def test_the_schema_file_says_the_columns_that_the_newest_files_have(everything: Workshop) -> None:
    newest = max(everything.layout.table_folder(ORDERS).glob("data/runs/*/*/*/*/part-*.parquet"))
    stored = pq.read_schema(newest)

    said = json.loads(everything.layout.schema_file(ORDERS).read_text())

    own = [field for field in stored if field.name not in HIDDEN]
    assert [(field["name"], field["nullable"]) for field in said["fields"]] == [
        (field.name, field.nullable) for field in own
    ]
    assert schema_from(json.dumps(said)).types == [field.type for field in own]


@pytest.mark.spec("HC-006")
def test_the_history_of_a_schema_only_grows(workshop: Workshop) -> None:
    columns, before = SCHEMA, b""
    for number in range(4):
        workshop.land([{"id": number}], columns, "id")
        workshop.publish()
        now = workshop.layout.schema_history(ORDERS).read_bytes()
        assert now.startswith(before)
        assert now.count(b"\n") == number + 1
        columns, before = columns.append(pa.field(f"x{number}", pa.int8())), now
