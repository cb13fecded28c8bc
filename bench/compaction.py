"""Compaction on Spark beside DuckDB and Delta doing the same, ten times the data, and a little more of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.measure import Measured, medians_in_turn
from bench.peers import delta_python, timed
from bench.pipelines import spark_of
from bench.stores import made_store

RUNS = 20
ROWS = 4_000_000
KEYS = 2_000_000
MORE = 10
NEWS = 40_000
TRIES = 3
CLUSTER_BY = ("repo", "updated_at")
# What a user of Delta does for the same: merge each run in turn, then sort the files by the same columns.
DELTA = """
import sys, time
import pyarrow as pa, pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

target, columns, files = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]

def newest(file):
    rows = pq.read_table(file).sort_by([("id", "ascending"), ("_position", "ascending")])
    names = [name for name in rows.schema.names if name != "id"]
    kept = rows.group_by("id", use_threads=False).aggregate([(name, "last") for name in names])
    first = kept.schema.names[0] == "id"
    return kept.rename_columns(["id", *names] if first else [*names, "id"])

began = time.perf_counter()
write_deltalake(target, newest(files[0]))
for file in files[1:]:
    table = DeltaTable(target)
    merge = table.merge(newest(file), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
DeltaTable(target).optimize.z_order(columns)
print(time.perf_counter() - began)
"""


def run() -> Iterator[Measured]:
    """The figures of `make bench`."""
    with TemporaryDirectory(prefix="hakiri-bench-") as name:
        root = Path(name)
        with spark_of(root) as spark:
            yield from _beside_others(spark, root)
            yield from _ten_times(spark, root)
            yield from _a_little_more(spark, root)


def _beside_others(spark: Any, root: Path) -> Iterator[Measured]:
    files = _written(root / "runs")
    _folded(spark, files, root)  # the first job of a server is slow
    ours, duck = medians_in_turn(
        TRIES, lambda: _folded(spark, files, root), lambda: _by_duckdb(files, root / "duck.parquet")
    )
    delta = _by_delta(files, root / "delta")
    yield Measured(name=f"{ROWS:,} rows of {RUNS} runs by DuckDB in one statement", value=duck, unit="s")
    yield Measured(name="… compacted on Spark / DuckDB", value=ours / duck, unit="", goal=2.0)
    yield Measured(
        name="… compacted on Spark / Delta, merged and sorted", value=ours / delta, unit="", goal=1.0
    )


def _ten_times(spark: Any, root: Path) -> Iterator[Measured]:
    few, many = root / "runs", _written(root / "more", times=MORE)
    with _peak_memory(root) as small:
        once = _folded(spark, sorted(few.glob("*.parquet")), root)
    with _peak_memory(root) as large:
        ten_times = _folded(spark, many, root)
    yield Measured(name=f"{MORE} times the rows / once, time", value=ten_times / once, unit="", goal=12.0)
    yield Measured(name="… memory of driver, JVM and workers", value=large[0] / small[0], unit="", goal=1.2)


def _a_little_more(spark: Any, root: Path) -> Iterator[Measured]:
    """A snapshot, and one small run since: what is folded, against all of it written anew."""
    from hakiri.compaction.recipes import TableLayout
    from hakiri.compaction.runner import SparkTasks

    tasks, laid_out = SparkTasks(lambda: spark), TableLayout(cluster_by=CLUSTER_BY)
    with made_store(root / "little") as store:
        store.land(ROWS, f"(i * 7919) % {ROWS}")
        store.compact(laid_out, tasks)
        times: dict[bool, list[float]] = {False: [], True: []}
        for number in range(2 * TRIES):
            store.land(NEWS, f"hash(i + {number} * 7919) % {ROWS + NEWS}")
            is_full = number % 2 == 1
            began = perf_counter()
            store.compact(laid_out, tasks, is_full=is_full)
            times[is_full].append(perf_counter() - began)
    ours, whole = sorted(times[False])[TRIES // 2], sorted(times[True])[TRIES // 2]
    yield Measured(name=f"{NEWS:,} rows into a snapshot of {ROWS:,}", value=ours, unit="s")
    yield Measured(name="… / all of it written anew", value=ours / whole, unit="")


@contextmanager
def _peak_memory(root: Path) -> Iterator[list[int]]:
    """The most memory that this process, the server of Spark and its workers had at once, in KiB."""
    from hakiri.engine import EngineHome

    home = EngineHome(runtime=root / "runtime", cache=root / "cache")
    records = [record for each in home.servers() if (record := each.read_record()) is not None]
    peak, is_over = [0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.2):
            peak[0] = max(peak[0], _memory_of({os.getpid(), *(record.pid for record in records)}))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        is_over.set()
        watcher.join()


def _memory_of(roots: set[int]) -> int:
    """What the processes and all that they started share out among them, in KiB."""
    parents, sizes = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue  # it has ended meanwhile
        pid = int(status.parent.name)
        parents[pid], sizes[pid] = int(lines["PPid"]), int(lines.get("RssAnon", "0 kB").split()[0])

    def belongs(pid: int) -> bool:
        while pid in parents and pid not in roots:
            pid = parents[pid]
        return pid in roots

    return sum(size for pid, size in sizes.items() if belongs(pid))


def _by_delta(files: list[Path], target: Path) -> float:
    shutil.rmtree(target, ignore_errors=True)
    return timed(delta_python(), DELTA, str(target), ",".join(CLUSTER_BY), *map(str, files))


def _written(folder: Path, *, times: int = 1) -> list[Path]:
    """Runs as Hakiri writes them: every key about twice, in no order."""
    import duckdb

    folder.mkdir()
    share, keys = ROWS // RUNS * times, KEYS * times
    files = []
    with duckdb.connect(config={"threads": 2}) as connection:
        for number in range(RUNS):
            files.append(folder / f"run-{number:02d}.parquet")
            connection.execute(
                f"""
                COPY (
                    SELECT (hash(i * 31 + {number} * 7919) % {keys})::BIGINT AS id,
                           'org/repo-' || hash(i + {number}) % 1000 AS repo,
                           TIMESTAMPTZ '2025-01-01 00:00:00+00'
                             + INTERVAL 1 SECOND * (hash(i * 17 + {number}) % 31536000)::BIGINT AS updated_at,
                           'title ' || md5(i::VARCHAR) AS title,
                           'body ' || md5((i * {number + 1})::VARCHAR) || md5((i + 7)::VARCHAR) AS body,
                           (i % 10007) / 7.0 AS amount,
                           CASE WHEN i % 3 = 0 THEN 'open' ELSE 'closed' END AS state,
                           'run-{number:02d}' AS _run_id, 'github' AS _pipeline_id,
                           TIMESTAMPTZ '2026-05-11 08:00:00+00' + INTERVAL 1 HOUR * {number} AS _ingested_at,
                           {1000 + number}::BIGINT AS _seq, i::BIGINT AS _position, 'upsert' AS _op,
                           unhex(md5(i::VARCHAR || '{number}')) AS _content_hash
                      FROM range({share}) AS made (i)
                ) TO '{files[-1]}' (COMPRESSION zstd)
                """
            )
    return files


def _folded(spark: Any, files: list[Path], root: Path) -> float:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from hakiri.compaction.folding import Fold
    from hakiri.compaction.runner import SparkTasks
    from hakiri.compaction.steps import unwatched
    from hakiri.compaction.tasks import InputFile, Recipe
    from hakiri.store.rows import HIDDEN
    from hakiri.store.schemas import schema_text

    moment = pa.timestamp("us", "UTC")
    own = [
        pa.field(field.name, moment if pa.types.is_timestamp(field.type) else field.type)
        for field in pq.read_schema(files[0])
        if field.name not in HIDDEN
    ]
    target = root / "snapshot"
    shutil.rmtree(target, ignore_errors=True)
    inputs = tuple(
        InputFile(
            path=str(file),
            schema_version=1,
            rows=pq.read_metadata(file).num_rows,
            bytes=file.stat().st_size,
            sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        )
        for file in files
    )
    began = perf_counter()
    Fold(
        recipe=Recipe(
            table="issues",
            schemas={1: schema_text(pa.schema(own))},
            primary_key=("id",),
            cluster_by=CLUSTER_BY,
            label="",
        ),
        inputs=inputs,
        target=target / "data",
        exchange=target / "exchange",
        run=SparkTasks(lambda: spark),
        reached=unwatched,
    ).work()
    return perf_counter() - began


def _by_duckdb(files: list[Path], target: Path) -> float:
    import duckdb

    order = ", ".join(CLUSTER_BY)
    with duckdb.connect(config={"threads": 2}) as connection:
        began = perf_counter()
        connection.execute(
            f"""
            COPY (
                SELECT * FROM read_parquet({[str(file) for file in files]})
                QUALIFY row_number() OVER (PARTITION BY id ORDER BY _seq DESC, _position DESC) = 1
                ORDER BY {order}
            ) TO '{target}' (COMPRESSION zstd, ROW_GROUP_SIZE 122880)
            """
        )
        return perf_counter() - began
