"""Rows out of a database and out of an API into Parquet, against dlt, bare ADBC, and plain Spark."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.parquet_sinks import ParquetSinks
from tests.support.postgres import PostgresServer

from bench.measure import Measured, medians_in_turn
from bench.peers import dlt_python, timed
from hakiri.core.clock import SystemClock
from hakiri.core.errors import Place
from hakiri.engine import Engine, EngineConfig, EngineHome, session, stop_servers
from hakiri.manifest import PipelineSpec
from hakiri.sources.bridge.frames import source_rows
from hakiri.sources.bridge.landing import land
from hakiri.sources.contract import Read
from hakiri.sources.reading import OpenSource, open_source
from hakiri.sources.sql.ranges import key_ranges

ROWS, RECORDS, PAGE = 5_000_000, 500_000, 1_000
ROUNDS = 3
TABLE = """
CREATE TABLE orders AS
SELECT i::bigint AS id, (i % 100000)::int AS customer_id, (i % 99991) * 0.01::float8 AS amount,
       (i % 7)::smallint AS kind, 'order number ' || i AS note,
       timestamptz '2020-01-01' + i * interval '10 seconds' AS created_at,
       date '2020-01-01' + (i / 8640)::int AS day, md5(i::text) AS token, i % 3 = 0 AS paid,
       (array['DE', 'FR', 'IN', 'BR', 'US'])[1 + i % 5] AS country
  FROM generate_series(1, {rows}) AS i
"""
DLT = """
import os, shutil, sys, time
os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
import dlt
url, folder = sys.argv[1:]

def seconds_of(source):
    shutil.rmtree(folder, ignore_errors=True)
    began = time.perf_counter()
    files = dlt.destinations.filesystem(bucket_url=f"file://{folder}/out")
    pipeline = dlt.pipeline("bench", destination=files, dataset_name="d", pipelines_dir=f"{folder}/state")
    pipeline.run(source(), loader_file_format="parquet", write_disposition="replace")
    return time.perf_counter() - began
"""
DLT_SQL = f"""{DLT}
from dlt.sources.sql_database import sql_table
credentials = url.replace("postgresql://", "postgresql+psycopg2://")
fastest = {{"backend": "connectorx", "backend_kwargs": {{"return_type": "arrow", "conn": url}}}}
# The second is the one that counts: nothing is loaded for the first time any more.
orders = lambda: sql_table(credentials=credentials, table="orders", **fastest)
print([seconds_of(orders) for _ in range(2)][1])
"""
DLT_REST = f"""{DLT}
from dlt.sources.rest_api import rest_api_source
pages = {{"type": "page_number", "base_page": 1, "total_path": "pages"}}
records = {{"name": "records", "endpoint": {{"path": "records", "data_selector": "items"}}}}
config = {{"client": {{"base_url": url, "paginator": pages}}, "resources": [records]}}
print(seconds_of(lambda: rest_api_source(config)))
"""


def run() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="hakiri-bench-") as folder:
        root = Path(folder)
        home = EngineHome(runtime=root / "runtime", cache=root / "cache")
        engine = Engine(
            config=EngineConfig(heap_mib=3072),
            home=home,
            env=dict(os.environ),
            python=sys.executable,
            clock=SystemClock(),
        )
        try:
            with session(engine, _Nobody()) as spark:
                return [*_sql_figures(spark, root), *_rest_figures(spark, root), *_plan_figures(spark, root)]
        finally:
            stop_servers(home, SystemClock(), force=True)


def _sql_figures(spark: Any, root: Path) -> Iterator[Measured]:
    with PostgresServer.start() as server:
        import psycopg

        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(TABLE.format(rows=ROWS))
            connection.execute("ALTER TABLE orders ADD PRIMARY KEY (id)")
            connection.execute("VACUUM ANALYZE orders")
        host, port = server.tcp_address
        url = f"postgresql://postgres@{host}:{port}/postgres"
        spec = _spec("sql", {"url": url}, "orders")
        python = dlt_python()
        with _opened(spec, root) as source:
            table = source.table("orders", Place("bench"))
            windows = key_ranges(source.connector.extent("orders", "id"), field="id", parts=2)
            reads = [Read(table="orders", window=window) for window in windows]

            def landed() -> None:
                files = land(
                    spark, source.task, table, reads, ParquetSinks([root / "landed" / str(n) for n in (0, 1)])
                )
                assert sum(each.rows for each in files) == ROWS

            def through_spark() -> None:
                from pyspark.sql import functions as F

                rows = source_rows(spark, source.task, table, reads).frame
                changed = rows.where(F.col("amount") >= 0).withColumn("note", F.upper("note"))
                changed.drop("_position").write.option("compression", "zstd").parquet(
                    str(root / "transformed")
                )

            measures = {
                "bare": lambda: _bare(url, root / "bare.parquet"),
                "landed": landed,
                "through Spark": through_spark,
            }
            for name in ("landed", "through Spark"):
                _seconds(measures[name], root)
            bare, direct, changed, dlt = medians_in_turn(
                ROUNDS,
                *(lambda work=work: _seconds(work, root) for work in measures.values()),
                lambda: timed(python, DLT_SQL, url, str(root / "dlt")),
            )
    yield Measured(name=f"Postgres, {ROWS:,} rows: bare ADBC → Parquet", value=bare, unit="s")
    yield Measured(name="… ours / bare", value=direct / bare, unit="", goal=1.5)
    yield Measured(name="… ours with a transform on Spark / bare", value=changed / bare, unit="", goal=2.5)
    yield Measured(name="… ours / dlt with ConnectorX", value=direct / dlt, unit="", goal=1.0)


def _bare(url: str, target: Path) -> None:
    import adbc_driver_postgresql.dbapi as postgres
    import pyarrow.parquet as pq

    with postgres.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM orders")
        reader = cursor.fetch_record_batch()
        with pq.ParquetWriter(target, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)


def _rest_figures(spark: Any, root: Path) -> Iterator[Measured]:
    python = dlt_python()
    with _api() as url:
        config = {
            "base_url": url,
            "pagination": {"type": "page", "total_pages": "pages"},
            "resources": [{"name": "records", "records": "items", "primary_key": ["id"]}],
        }
        with _opened(_spec("rest", config, "records"), root) as source:
            table = source.table("records", Place("bench"))

            def landed() -> None:
                (only,) = land(
                    spark,
                    source.task,
                    table,
                    [Read(table="records", schema=table.schema)],
                    ParquetSinks([root / "rest"]),
                )
                assert only.rows == RECORDS

            _seconds(landed, root)
            ours, dlt = medians_in_turn(
                ROUNDS,
                lambda: _seconds(landed, root),
                lambda: timed(python, DLT_REST, url, str(root / "dlt")),
            )
    yield Measured(name=f"REST, {RECORDS:,} records: ours", value=ours, unit="s")
    yield Measured(name="… ours / dlt", value=ours / dlt, unit="", goal=1 / 3)


def _plan_figures(spark: Any, root: Path) -> Iterator[Measured]:
    """A compiled plan against the same frame written by hand, over the same rows."""
    from pyspark.sql import functions as F
    from tests.support.compiled import STEP, compiled_orders

    from hakiri.transforms import stored_plans, transformed

    rows = spark.range(20_000_000).select("id", (F.col("id") % 100).alias("n"), F.lit("abc").alias("word"))
    body = (
        'df.where(F.col("n") > 10).select("id", (F.col("n") * 2).alias("n"), F.upper("word").alias("word"))'
    )
    compiled = compiled_orders(root / "project", {"orders.py": f"{STEP}def f(df):\n    return {body}\n"})
    plans = stored_plans([compiled.artifact], "orders", [])

    def stored() -> None:
        transformed(rows, plans, {}).write.format("noop").mode("overwrite").save()

    def by_hand() -> None:
        frame = rows.where(F.col("n") > 10).select(
            "id", (F.col("n") * 2).alias("n"), F.upper("word").alias("word")
        )
        frame.write.format("noop").mode("overwrite").save()

    _seconds(stored, root), _seconds(by_hand, root)
    mine, plain = medians_in_turn(9, lambda: _seconds(stored, root), lambda: _seconds(by_hand, root))
    yield Measured(name="a compiled plan / the same by hand", value=mine / plain, unit="", goal=1.05)


def _seconds(work: Callable[[], None], root: Path) -> float:
    for name in ("landed", "transformed", "rest"):
        shutil.rmtree(root / name, ignore_errors=True)
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _spec(connector: str, config: dict[str, Any], table: str) -> PipelineSpec:
    data = {"id": "bench", "source": {"connector": connector, "config": config}, "tables": [table]}
    return PipelineSpec.model_validate_json(json.dumps(data))


@contextmanager
def _opened(spec: PipelineSpec, root: Path) -> Iterator[OpenSource]:
    with open_source(spec, project=_Project(root), env={}, clock=SystemClock()) as source:
        yield source


class _Project:
    def __init__(self, root: Path) -> None:
        self.root = root

    def place_of(self, pipeline_id: str) -> Place:
        return Place("bench", 1)


class _Nobody:
    def starting(self) -> None: ...
    def ready(self, record: object, *, was_started: bool) -> None: ...
    def progress(self, look: object) -> None: ...


@contextmanager
def _api() -> Iterator[str]:
    """An API with pages of JSON records, made in advance so that the server costs next to nothing."""
    pages = [_page(number) for number in range(RECORDS // PAGE)]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            number = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0]) - 1
            body = pages[number] if number < len(pages) else b'{"pages": 0, "items": []}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def _page(number: int) -> bytes:
    items = [
        {
            "id": number * PAGE + n,
            "title": f"record {n} of page {number}",
            "score": n / 7,
            "open": n % 2 == 0,
            "author": {"login": f"user{n % 100}", "id": n % 100},
            "labels": [{"name": "bug", "color": "red"}, {"name": f"p{n % 5}", "color": "blue"}],
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": f"2026-01-{1 + n % 28:02d}T12:00:00Z",
            "body": "some text that is a little longer than the rest " * 3,
        }
        for n in range(PAGE)
    ]
    return json.dumps({"pages": RECORDS // PAGE, "items": items}).encode()
