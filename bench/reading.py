"""What a query costs: rows skipped, single rows, runs beside a snapshot, and very many small files."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from tests.store.workshop import ORDERS, T0

from bench.measure import Measured, medians_in_turn
from bench.stores import SCHEMA, MadeStore, made_store
from hakiri.compaction.recipes import TableLayout
from hakiri.store.duck_file import ViewText, make_duck_file
from hakiri.store.files import LocalFiles
from hakiri.store.layout import StoreLayout
from hakiri.store.opened import OpenStore
from hakiri.store.reading import open_reader, visible_files
from hakiri.store.rows import HIDDEN_FIELDS, OP, POSITION, SEQ
from hakiri.store.views import TableState, view_sql

ROWS = 10_000_000
RUNS = 49
RUN_ROWS = 4_000
FOLDERS = 35_000
READS = 500
WARM_UP = 20
ROUNDS = 5
BY_REPO = TableLayout(cluster_by=("repo", "updated_at"))
FILTER = "repo = 'org/repo-0500' AND updated_at > '2025-06-01'"
QUESTIONS = {
    "an aggregate": "SELECT state, count(*), sum(amount), max(title) FROM orders GROUP BY 1",
    "a filter": f"SELECT count(*), max(title) FROM orders WHERE {FILTER}",
}
_SCANNED = re.compile(r"Row Groups Scanned: (\d+) / (\d+)")


def run() -> Iterator[Measured]:
    with TemporaryDirectory(prefix="hakiri-bench-") as name:
        root = Path(name)
        yield from _single_rows(root)
        yield from _beside_runs(root)
        yield from _many_files(root)


def _single_rows(root: Path) -> Iterator[Measured]:
    with made_store(root / "by-key") as store:
        store.land(ROWS, f"(i * 7919) % {ROWS}")
        store.compact(TableLayout())
        with store.open() as opened:
            query = "SELECT * FROM orders WHERE id = ?"
            chance = random.Random(7)
            taken = [
                _seconds(lambda: opened.sql(query, [chance.randrange(ROWS)]).fetchall())
                for _ in range(WARM_UP + READS)
            ]
    times = sorted(taken[WARM_UP:])
    yield Measured(name=f"a row by its key of {ROWS:,}, warm, p50", value=times[READS // 2] * 1000, unit="ms")
    yield Measured(name="… p99", value=times[READS * 99 // 100] * 1000, unit="ms", goal=10.0)


def _beside_runs(root: Path) -> Iterator[Measured]:
    rows = ROWS * 4 // 10
    with made_store(root / "alone") as alone, made_store(root / "beside") as beside:
        for store in (alone, beside):
            store.land(rows, f"(i * 7919) % {rows}")
            store.compact(BY_REPO)
        for number in range(RUNS):
            beside.land(RUN_ROWS, f"hash(i * 31 + {number} * 7919) % {rows + rows // 40}")
        with alone.open() as snapshot, beside.open() as both, _bare(beside) as bare:
            read, every = _groups(snapshot, FILTER)
            yield Measured(
                name="row groups read for a filter on clustered columns / all", value=read / every, unit=""
            )
            for name, query in QUESTIONS.items():
                base, ours, least = medians_in_turn(
                    ROUNDS,
                    _asking(snapshot.sql, query),
                    _asking(both.sql, query),
                    _asking(bare.sql, query),
                )
                yield Measured(
                    name=f"{name}, snapshot and {RUNS} runs / snapshot alone",
                    value=ours / base,
                    unit="",
                    goal=2.0,
                )
                yield Measured(
                    name="… all rows of the same files by DuckDB, without newest wins / snapshot alone",
                    value=least / base,
                    unit="",
                )
                yield Measured(name="… what a run adds", value=(ours - base) / RUNS * 1000, unit="ms")


def _bare(store: MadeStore) -> duckdb.DuckDBPyConnection:
    """DuckDB with all rows of a store's files, older ones too: what reading them takes at least."""
    found = visible_files(store.workshop.layout, store.workshop.catalog, ORDERS)
    assert found is not None
    paths = [str(path) for of_version in found.files.values() for path in of_version]
    bare = duckdb.connect()
    bare.execute(f"CREATE VIEW orders AS FROM read_parquet({paths!r})")
    return bare


def _many_files(root: Path) -> Iterator[Measured]:
    """Folders of runs of a few rows each, as a pipeline leaves them that runs every few minutes."""
    layout = StoreLayout(root / "many")
    paths = tuple(_small_runs(layout, FOLDERS))
    state = TableState(
        table="orders",
        primary_key=("id",),
        schemas={1: SCHEMA},
        revision=1,
        since=T0,
        root=str(layout.root),
        files={1: paths},
        rows=3 * FOLDERS,
    )
    text = view_sql(state)
    make_duck_file(layout, LocalFiles(), [ViewText(table="orders", sql=text)])
    query = "SELECT sum(amount) FROM orders"
    with duckdb.connect() as bare, duckdb.connect() as stock, open_reader(layout) as ours:
        bare.execute(f"CREATE VIEW orders AS FROM read_parquet({list(paths)!r})")
        stock.execute(text)
        by_hand, by_view, by_door = medians_in_turn(
            3,
            lambda: _seconds(lambda: bare.execute(query).fetchall()),
            lambda: _seconds(lambda: stock.execute(query).fetchall()),
            lambda: _seconds(lambda: ours.execute(query).fetchall()),
        )
    yield Measured(
        name=f"{FOLDERS:,} run folders by stock DuckDB, without newest wins, a file",
        value=by_hand / FOLDERS * 1e6,
        unit="µs",
    )
    yield Measured(name="… through the view / without", value=by_view / by_hand, unit="", goal=1.5)
    yield Measured(
        name="… through the view, as Hakiri opens it / without", value=by_door / by_hand, unit="", goal=1.5
    )


def _small_runs(layout: StoreLayout, count: int) -> Iterator[str]:
    hidden = pa.schema([field for field in HIDDEN_FIELDS if field.name in {SEQ, POSITION, OP}])
    schema = pa.schema([*SCHEMA, *hidden])
    empty = {name: [None] * 3 for name in schema.names}
    for number in range(count):
        folder = layout.attempt_folder(
            table="orders", run=f"run-{number:06d}", node="node-1", chunk=number, number=1
        )
        folder.mkdir(parents=True)
        ids = [number * 3 + place for place in range(3)]
        own = {"id": ids, "amount": [float(each) for each in ids], SEQ: [number] * 3, POSITION: [0, 1, 2]}
        rows = pa.table(empty | own | {OP: ["upsert"] * 3}, schema=schema)
        pq.write_table(rows, folder / "part-00000.parquet", compression="zstd")
        yield str(folder / "part-00000.parquet")


def _groups(opened: OpenStore, where: str) -> tuple[int, int]:
    ((_, plan),) = opened.connection.execute(f"EXPLAIN ANALYZE SELECT * FROM orders WHERE {where}").fetchall()
    found = _SCANNED.search(plan)
    assert found is not None
    return int(found[1]), int(found[2])


def _asking(sql: Callable[[str], duckdb.DuckDBPyRelation], query: str) -> Callable[[], float]:
    return lambda: _seconds(lambda: sql(query).fetchall())


def _seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began
