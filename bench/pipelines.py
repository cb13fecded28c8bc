"""What running pipelines costs, beside the same reads and writes as bare Spark jobs."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.runtime import Lab

from bench.measure import Measured, environment, medians_in_turn, seconds_of
from hakiri.core.clock import SystemClock
from hakiri.core.errors import Place
from hakiri.engine import Engine, EngineConfig, EngineHome, session, stop_servers
from hakiri.sources.bridge.frames import source_rows
from hakiri.sources.contract import Read, Window
from hakiri.sources.reading import OpenSource, open_source

CHUNKS, CHUNK_ROWS = 300, 500
ROWS = 10_000_000
PIPELINES = 100
ROUNDS = 3
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
# Numbers that cost next to nothing to make, so that what is measured is everything else.
CONNECTOR = """
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from hakiri.core.cursors import CursorKind
from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import Batch, Connector, Extent, Hint, Table

BATCH = 65_536
FIRST = 1_577_836_800
SCHEMA = pa.schema({
    "id": pa.int64(), "at": pa.timestamp("us", "UTC"), "customer": pa.int64(), "amount": pa.float64(),
    "country": pa.string(), "note": pa.string(),
})
COUNTRIES = pa.array(["DE", "FR", "IN", "BR", "US"])


class MadeConfig(SourceConfig):
    rows: int


class MadeConnector(Connector):
    Config = MadeConfig
    summary = "numbers in any quantity"

    def discover(self, only=None):
        return [Table(name="numbers", schema=SCHEMA, primary_key=("id",), estimated_rows=self.config.rows)]

    def backfill_hint(self, table):
        return Hint(cursor_kind=CursorKind.MONOTONIC, cursor_field="at")

    def extent(self, table, column):
        rows = self.config.rows
        return Extent(lowest=_text(0), highest=_text(rows - 1), rows=rows, has_nulls=False)

    def open(self, read):
        since, until = 0, self.config.rows
        if read.window is not None:
            since = max(since, _id(read.window.since, 0))
            until = min(until, _id(read.window.until, until))
        if read.cursor is not None:
            since = _id(read.cursor["at"], 0) + 1
        for start in range(since, until, BATCH):
            ids = np.arange(start, min(start + BATCH, until))
            rows = pa.RecordBatch.from_arrays(
                [
                    pa.array(ids),
                    pa.array((ids + FIRST) * 1_000_000).cast(SCHEMA.field("at").type),
                    pa.array(ids % 100_000),
                    pa.array(ids * 0.01),
                    COUNTRIES.take(pa.array(ids % 5)),
                    pa.array(np.char.add("order ", ids.astype(str))),
                ],
                schema=SCHEMA,
            )
            yield Batch(rows=rows, cursor={"at": _text(int(ids[-1]))})


def _text(number):
    return datetime.fromtimestamp(FIRST + number, UTC).isoformat()


def _id(text, otherwise):
    return otherwise if text is None else int(datetime.fromisoformat(text).timestamp()) - FIRST
"""
MANIFEST = """
[[pipeline]]
id = "p"
source = {{ connector = "made", config = {{ rows = {rows} }} }}
tables = ["numbers"]
incremental = "at"
[pipeline.backfill]
window = "{window}s"
{more}
"""


def run() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="hakiri-bench-") as folder:
        root = Path(folder)
        with spark_of(root) as spark:
            figures = [*_small_chunks(spark, root), *_many_rows(spark, root)]
        return [*figures, *_nothing_to_do(root)]


def _small_chunks(spark: Any, root: Path) -> Iterator[Measured]:
    rows = CHUNKS * CHUNK_ROWS
    alone = _lab(spark, root / "alone", rows, CHUNK_ROWS, "parallelism = 1\n")
    joined = _lab(spark, root / "joined", rows, CHUNK_ROWS)
    with _source(alone) as source:
        bare, one_by_one, together = medians_in_turn(
            ROUNDS,
            lambda: _bare(spark, source, _windows(rows, CHUNKS), root / "bare"),
            lambda: _applied(alone),
            lambda: _applied(joined),
        )
    yield Measured(name=f"{CHUNKS} small chunks as bare Spark jobs", value=bare, unit="s")
    yield Measured(name="… as chunks, one by one / bare", value=one_by_one / bare, unit="", goal=1.25)
    yield Measured(name="… as chunks, neighbours joined / bare", value=together / bare, unit="", goal=0.5)


def _many_rows(spark: Any, root: Path) -> Iterator[Measured]:
    lab = _lab(spark, root / "many", ROWS, ROWS // 10, "parallelism = 2\n")
    few = _lab(spark, root / "few", ROWS // 10, ROWS // 10, "parallelism = 2\n")
    with _source(lab) as source:
        _applied(few)
        before = _memory()
        bare, ours = medians_in_turn(
            ROUNDS,
            lambda: _bare(spark, source, _windows(ROWS, 10), root / "bare", at_once=2),
            lambda: _applied(lab),
        )
    yield Measured(name=f"{ROWS:,} rows: bare Spark write", value=bare, unit="s")
    yield Measured(name="… as a pipeline / bare", value=ours / bare, unit="", goal=1.15)
    yield Measured(
        name="… memory of this process, 10 / 1 million rows", value=_memory() / before, unit="", goal=1.1
    )


def _nothing_to_do(root: Path) -> Iterator[Measured]:
    """A second `apply` over a hundred pipelines that are up to date, as a whole process."""
    folder = root / "hundred"
    (folder / "data").mkdir(parents=True)
    blocks = ['[project]\nname = "shop"\n']
    for number in range(PIPELINES):
        (folder / "data" / f"t{number}.csv").write_text("id,name\n1,a\n")
        blocks.append(
            f'[[pipeline]]\nid = "p{number}"\ntables = ["t{number}"]\nschedule = "every 1d"\n'
            f'source = {{ connector = "files", config = {{ path = "data/t{number}.csv" }} }}\n'
        )
    (folder / "hakiri.toml").write_text("\n".join(blocks))
    hakiri = [str(Path(sys.executable).parent / "hakiri"), "-C", str(folder)]
    env = environment(HAKIRI_RUNTIME_DIR=str(root / "engine"))
    subprocess.run([*hakiri, "apply", "--quiet"], env=env, check=True, capture_output=True)
    subprocess.run([*hakiri, "engine", "stop"], env=env, check=True, capture_output=True)
    again = min(seconds_of([*hakiri, "apply"], env) for _ in range(ROUNDS))
    yield Measured(name=f"apply with nothing to do, {PIPELINES} pipelines", value=again, unit="s", goal=1.0)


def _bare(spark: Any, source: OpenSource, windows: list[Window], target: Path, *, at_once: int = 1) -> float:
    """Every window as a Spark job of its own, with nothing around it."""
    from concurrent.futures import ThreadPoolExecutor

    shutil.rmtree(target, ignore_errors=True)
    table = source.table("numbers", Place("bench"))

    def write(number: int) -> None:
        rows = source_rows(spark, source.task, table, [Read(table="numbers", window=windows[number])])
        rows.frame.write.option("compression", "zstd").parquet(str(target / str(number)))

    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(write, range(len(windows))))
    return time.perf_counter() - began


def _applied(lab: Lab) -> float:
    """A pipeline from nothing to streaming."""
    shutil.rmtree(lab.layout.root, ignore_errors=True)
    lab.events.clear()
    began = time.perf_counter()
    applied = lab.applied()
    seconds = time.perf_counter() - began
    assert applied.result is not None
    assert applied.result.is_converged
    return seconds


def _windows(rows: int, count: int) -> list[Window]:
    ends = [(FIRST + timedelta(seconds=n * (rows // count))).isoformat() for n in range(count + 1)]
    return [Window(field="at", since=since, until=until) for since, until in pairwise(ends)]


def _lab(spark: Any, root: Path, rows: int, chunk_rows: int, more: str = "") -> Lab:
    (root / "connectors").mkdir(parents=True)
    (root / "connectors" / "made.py").write_text(CONNECTOR)
    return Lab(root=root, spark=spark).write(MANIFEST.format(rows=rows, window=chunk_rows, more=more))


@contextmanager
def _source(lab: Lab) -> Iterator[OpenSource]:
    project = lab.project
    with open_source(project.pipeline("p"), project=project, env={}, clock=SystemClock()) as source:
        yield source


def _memory() -> int:
    """The most memory this process ever had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class _Unwatched:
    def starting(self) -> None: ...

    def ready(self, record: object, *, was_started: bool) -> None: ...

    def progress(self, look: object) -> None: ...


@contextmanager
def spark_of(root: Path) -> Iterator[Any]:
    home = EngineHome(runtime=root / "runtime", cache=root / "cache")
    engine = Engine(
        config=EngineConfig(master="local[2]", heap_mib=2048, archive=False),
        home=home,
        env=dict(os.environ),
        python=sys.executable,
        clock=SystemClock(),
    )
    try:
        with session(engine, _Unwatched()) as spark:
            yield spark
    finally:
        stop_servers(home, SystemClock(), force=True)
