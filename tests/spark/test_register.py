"""The store in a Spark session: the same rows as in DuckDB's views."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import open_workshop

import hakiri.spark
from hakiri.core.ids import ChunkId
from hakiri.manifest.errors import NoProject
from hakiri.store.writing import BadRows

pytestmark = pytest.mark.spark

NOON = datetime(2026, 5, 11, 12, 30, 0, 250000, tzinfo=UTC)


def was(name: str, kind: pa.DataType, *former: str) -> pa.Field:
    return pa.field(name, kind, metadata={"hakiri.was": json.dumps(former)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hakiri.toml").write_text('[project]\nname = "shop"\n')
    return tmp_path


@pytest.fixture
def bench(project: Path) -> Iterator[Bench]:
    with open_workshop(project / ".hakiri" / "context" / "shop") as workshop:
        yield Bench(workshop)


def by_spark(spark: Any, table: str = "orders") -> list[tuple[Any, ...]]:
    rows = spark.table(table).toArrow()
    return sorted((tuple(row.values()) for row in rows.to_pylist(maps_as_pydicts="strict")), key=repr)


def by_duckdb(bench: Bench, table: str = "orders", columns: str = "*") -> list[tuple[Any, ...]]:
    import duckdb

    with duckdb.connect(str(bench.workshop.layout.duck_db), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return sorted(connection.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)


@pytest.mark.spec("HC-021")
@pytest.mark.spec("HC-003")
def test_snapshots_newer_runs_deletes_and_renamed_columns_read_as_in_duckdb(
    spark: Any, project: Path, bench: Bench
) -> None:
    inner = pa.struct([("a", pa.int32()), ("b", pa.string())])
    old = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("s", inner), ("l", pa.list_(inner))])
    rows = [
        {"id": n, "n": n, "s": {"a": n, "b": "x"} if n % 3 else None, "l": [{"a": n, "b": None}]}
        for n in range(8)
    ]
    bench.land(rows, old, "id")
    bench.land([{"id": 1, "_op": "delete"}, {"id": 0, "n": 100}], old, "id")
    bench.compacted()
    bench.land([{"id": 2, "n": 200, "s": {"a": 2, "b": "again"}}], old, "id")
    wider = pa.struct([("c", pa.float64()), was("first", pa.int64(), "a"), ("b", pa.string())])
    new = pa.schema(
        [
            ("id", pa.int64()),
            ("more", pa.string()),
            was("number", pa.int64(), "n"),
            ("s", wider),
            ("l", pa.list_(wider)),
        ]
    )
    added = {"id": 3, "number": 2**40, "s": {"first": 2**40, "b": "y", "c": 0.5}, "l": None, "more": "m"}
    bench.land([added, {"id": 4, "_op": "delete"}, {"id": 9, "number": 9}], new, "id")
    bench.land([{"id": 9, "number": 99}, {"id": 9, "number": 999}], new, "id")

    names = hakiri.spark.register(spark, project)

    assert names == ("orders",)
    assert by_spark(spark) == by_duckdb(bench)
    assert spark.table("orders").columns == ["id", "more", "number", "s", "l"]
    assert [row[0] for row in by_spark(spark)] == [0, 2, 3, 5, 6, 7, 9]


def test_a_table_without_a_key_leaves_out_what_was_replaced(spark: Any, project: Path, bench: Bench) -> None:
    bench.land([{"id": 1, "name": "a"}, {"id": 1, "name": "b"}], SCHEMA)
    bench.land([{"id": 2, "name": "c"}], SCHEMA)
    bench.compacted()
    workshop = bench.workshop
    first = workshop.chunks()[0]
    workshop.catalog.chunks.supersede(first.pipeline, [ChunkId(int(first.chunk))], "again", NOON)
    workshop.work([{"id": 1, "name": "new"}], SCHEMA)
    workshop.publish()

    hakiri.spark.register(spark, project)

    assert by_spark(spark) == by_duckdb(bench) == [(1, "new"), (2, "c")]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_type_reads_alike_and_so_does_its_text(
    spark: Any, project: Path, bench: Bench, zone: str
) -> None:
    kinds: dict[str, tuple[pa.DataType, list[Any]]] = {
        "flag": (pa.bool_(), [True, False]),
        "small": (pa.int8(), [-128, 7]),
        "whole": (pa.int64(), [2**63 - 1, -1]),
        "real": (pa.float64(), [0.1, 1e16]),
        "large": (pa.float64(), [12345678.5, 1.5e300]),
        "tiny": (pa.float64(), [0.00025, -2.5e-9]),
        "odd": (pa.float64(), [float("inf"), 1e22]),
        "single": (pa.float32(), [0.5, 16777216.0]),
        "digits": (pa.decimal128(20, 4), [Decimal("1234.5000"), Decimal("-0.0001")]),
        "day": (pa.date32(), [date(2026, 5, 11), date(1969, 1, 1)]),
        "moment": (pa.timestamp("us", "UTC"), [NOON, NOON - timedelta(days=40000)]),
        "local": (
            pa.timestamp("us"),
            [NOON.replace(tzinfo=None), NOON.replace(month=11, day=1, hour=1, tzinfo=None)],
        ),
        "clock": (pa.time64("ns"), [time(12, 30, 0, 5), time(0)]),
        "text": (pa.string(), ["ä`.", ""]),
        "data": (pa.binary(), [b"\x00a", b""]),
        "pairs": (pa.map_(pa.string(), pa.int32()), [{"a": 1}, {}]),
        "lists": (pa.list_(pa.float64()), [[0.5, None], []]),
    }
    schema = pa.schema([("id", pa.int64()), *((name, kind) for name, (kind, _) in kinds.items())])
    rows = [{"id": n, **{name: values[n] for name, (_, values) in kinds.items()}} for n in (0, 1)]
    bench.land([*rows, {"id": 2}], schema, "id")
    spark.conf.set("spark.sql.session.timeZone", zone)

    try:
        hakiri.spark.register(spark, project)
        clock = "* REPLACE (strftime(DATE '1970-01-01' + clock, '%H:%M:%S.%f') AS clock)"
        assert by_spark(spark) == by_duckdb(bench, columns=clock)

        texts = [name for name in kinds if name != "data"]
        bench.land(
            [{"id": 9}],
            pa.schema(
                [(name, pa.string() if name in texts else schema.field(name).type) for name in schema.names]
            ),
            "id",
        )
        hakiri.spark.register(spark, project)
        assert by_spark(spark) == by_duckdb(bench)
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_dates_and_moments_without_a_zone_become_moments_in_utc(
    spark: Any, project: Path, bench: Bench
) -> None:
    moment = pa.timestamp("us", "UTC")
    gap = NOON.replace(month=3, day=8, hour=2, tzinfo=None)  # an hour that New York does not have
    bench.land(
        [{"id": 1, "d": gap.date(), "t": gap}],
        pa.schema([("id", pa.int64()), ("d", pa.date32()), ("t", pa.timestamp("us"))]),
        "id",
    )
    bench.land([{"id": 2}], pa.schema([("id", pa.int64()), ("d", moment), ("t", moment)]), "id")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")

    try:
        hakiri.spark.register(spark, project)
        assert by_spark(spark) == by_duckdb(bench)
        assert by_spark(spark)[0][2] == gap.replace(tzinfo=UTC)
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_durations_empty_tables_and_quarantined_rows_have_views(
    spark: Any, project: Path, bench: Bench
) -> None:
    schema = pa.schema([("id", pa.int64()), ("took", pa.duration("us")), ("never", pa.null())])
    workshop = bench.workshop
    workshop.evolve(schema, "id")
    workshop.publish()
    assert hakiri.spark.register(spark, project) == ("orders",)
    assert by_spark(spark) == []

    workshop.land([{"id": 1, "took": timedelta(days=-3, microseconds=1)}], schema, "id")
    workshop.publish()
    hakiri.spark.register(spark, project)
    assert by_spark(spark) == [(1, timedelta(days=-3, microseconds=1), None)]

    workshop.land([{"id": 2}, {"took": timedelta(1)}], schema, "id", bad_rows=BadRows.QUARANTINE)
    workshop.publish()
    assert hakiri.spark.register(spark, project) == ("orders", "orders__quarantine")
    assert by_spark(spark, "orders__quarantine") == by_duckdb(bench, "orders__quarantine")
    assert len(by_spark(spark)) == 2


def test_outside_a_project_it_says_so(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(NoProject, match=r"no `hakiri.toml`"):
        hakiri.spark.register(spark, tmp_path)


def test_before_the_first_run_there_is_nothing_to_register(spark: Any, project: Path) -> None:
    assert hakiri.spark.register(spark, str(project)) == ()
