"""Compaction on Spark against DuckDB doing the same in one statement, on two cores, in one run."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.measure import Measured, medians_in_turn
from bench.pipelines import spark_of

RUNS = 20
ROWS = 4_000_000
KEYS = 2_000_000
TRIES = 3
CLUSTER_BY = ("repo", "updated_at")


def run() -> list[Measured]:
    """The figures of `make bench`."""
    with TemporaryDirectory(prefix="hakiri-bench-") as name:
        root = Path(name)
        files = _written(root / "runs")
        with spark_of(root) as spark:
            _folded(spark, files, root)  # the first job of a server is slow
            ours, duck = medians_in_turn(
                TRIES,
                lambda: _folded(spark, files, root),
                lambda: _by_duckdb(files, root / "duck.parquet"),
            )
    return [
        Measured(name=f"{ROWS:,} rows of {RUNS} runs by DuckDB in one statement", value=duck, unit="s"),
        Measured(name="… compacted on Spark / DuckDB", value=ours / duck, unit="", goal=2.0),
    ]


def _written(folder: Path) -> list[Path]:
    """Runs as Hakiri writes them: every key about twice, in no order."""
    import duckdb

    folder.mkdir()
    share = ROWS // RUNS
    files = []
    with duckdb.connect(config={"threads": 2}) as connection:
        for number in range(RUNS):
            files.append(folder / f"run-{number:02d}.parquet")
            connection.execute(
                f"""
                COPY (
                    SELECT (hash(i * 31 + {number} * 7919) % {KEYS})::BIGINT AS id,
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
    began = perf_counter()
    Fold(
        recipe=Recipe(
            table="issues",
            schemas={1: schema_text(pa.schema(own))},
            primary_key=("id",),
            cluster_by=CLUSTER_BY,
        ),
        inputs=tuple(
            InputFile(path=str(file), schema_version=1, rows=ROWS // RUNS, bytes=file.stat().st_size)
            for file in files
        ),
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
