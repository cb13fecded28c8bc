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
from tests.store.random_rows import floats_of_every_magnitude
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


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_floats_of_every_magnitude_become_the_same_texts_as_in_duckdb(
    spark: Any, project: Path, bench: Bench, kind: pa.DataType
) -> None:
    values = floats_of_every_magnitude(kind).to_pylist()
    rows = [{"id": number, "alone": value, "listed": [value, None]} for number, value in enumerate(values)]
    bench.land(rows, pa.schema([("id", pa.int64()), ("alone", kind), ("listed", pa.list_(kind))]), "id")
    bench.land([], pa.schema([("id", pa.int64()), ("alone", pa.string()), ("listed", pa.string())]), "id")

    hakiri.spark.register(spark, project)

    assert by_spark(spark) == by_duckdb(bench)


def test_nested_values_become_the_same_json_as_in_duckdb(spark: Any, project: Path, bench: Bench) -> None:
    inner = pa.struct(
        [
            ('q"', pa.string()),
            ("when", pa.timestamp("us", "UTC")),
            ("clock", pa.time64("us")),
            ("took", pa.duration("us")),
            ("digits", pa.decimal128(20, 4)),
            ("data", pa.binary()),
        ]
    )
    kinds: dict[str, tuple[pa.DataType, Any]] = {
        "structs": (
            pa.list_(inner),
            [
                {
                    'q"': '"\\\n\x1f\x7fü\u2028',
                    "when": NOON,
                    "clock": time(1, 2, 3, 4),
                    "took": timedelta(days=1),
                    "digits": Decimal("-0.0001"),
                    "data": b"\xde\xad",
                },
                {},
                None,
            ],
        ),
        "floats": (pa.map_(pa.float64(), pa.float32()), [(1e20, 0.1), (0.5, None), (1.5, float("nan"))]),
        "flags": (pa.map_(pa.bool_(), pa.list_(pa.bool_())), [(True, [True, None]), (False, None)]),
        "days": (pa.map_(pa.date32(), pa.int8()), [(date(2026, 5, 11), 1)]),
        "texts": (pa.map_(pa.string(), pa.string()), [('k"', "\t")]),
    }
    fields = [(name, kind) for name, (kind, _) in kinds.items()]
    rows = [{"id": 1, **{name: value for name, (_, value) in kinds.items()}}, {"id": 2}]
    bench.land(rows, pa.schema([("id", pa.int64()), *fields]), "id")
    bench.land([], pa.schema([("id", pa.int64()), *((name, pa.string()) for name, _ in fields)]), "id")

    hakiri.spark.register(spark, project)

    assert by_spark(spark) == by_duckdb(bench)


@pytest.mark.parametrize("name", ["[x]", "a*b", "a?b", "{x,y}", r"b\x"])
def test_a_project_whose_path_looks_like_a_pattern_shows_its_own_rows_and_no_other(
    spark: Any, tmp_path: Path, name: str
) -> None:
    for folder in ("x", "y", "aZb", "bx", name):
        project = tmp_path / folder
        project.mkdir()
        (project / "hakiri.toml").write_text('[project]\nname = "shop"\n')
        with open_workshop(project / ".hakiri" / "context" / "shop") as workshop:
            rows = [{"id": 1, "name": folder}, {"id": None, "name": folder}]
            workshop.land(rows, SCHEMA, "id", bad_rows=BadRows.QUARANTINE)
            workshop.publish()

    hakiri.spark.register(spark, tmp_path / name)

    assert by_spark(spark) == [(1, name)]
    assert [json.loads(row[1])["name"] for row in by_spark(spark, "orders__quarantine")] == [name]


@pytest.mark.parametrize("key", ["_nth", "_key_0", "row", "newer", "found"])
def test_columns_of_any_name_are_read_and_tell_rows_apart(
    spark: Any, project: Path, bench: Bench, key: str
) -> None:
    names = ["_key_1", "_key_0", "_nth", "row", "nth", "newer", "found"]
    inside = pa.struct([(name, pa.int64()) for name in names])
    schema = pa.schema([*((name, pa.int64()) for name in names), ("newer.found", inside)])

    def row(number: int, value: int) -> dict[str, Any]:
        return dict.fromkeys(names, value) | {key: number, "newer.found": dict.fromkeys(names, value)}

    bench.land([row(number, 0) for number in range(5)], schema, key, "newer" if key == "found" else "found")
    bench.compacted()
    bench.land([row(1, 0) | {"nth": 10}, row(2, 0) | {"_op": "delete"}, row(7, 0)], schema, key, "found")

    hakiri.spark.register(spark, project)

    assert by_spark(spark) == by_duckdb(bench)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_keys_with_nan_and_both_zeros_tell_rows_apart_as_in_duckdb(
    spark: Any, project: Path, bench: Bench, kind: pa.DataType
) -> None:
    nan = float("nan")
    schema = pa.schema([("a", kind), ("b", kind), ("nth", pa.int64())])
    rows = [(nan, 1.0), (-nan, 1.0), (0.0, nan), (-0.0, -nan), (2.0, 0.0), (2.0, -0.0), (3.0, 3.0)]
    bench.land([{"a": a, "b": b, "nth": nth} for nth, (a, b) in enumerate(rows)], schema, "a", "b")
    bench.compacted()
    bench.land([{"a": -nan, "b": 1.0, "nth": 10}, {"a": 2.0, "b": 0.0, "_op": "delete"}], schema, "a", "b")

    hakiri.spark.register(spark, project)

    assert [row[2] for row in by_spark(spark)] == [row[2] for row in by_duckdb(bench)]
    assert sorted(row[2] for row in by_spark(spark)) == [3, 6, 10]


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
