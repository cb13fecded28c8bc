"""Every type of Postgres gives the same value by the snapshot and by a change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from tests.sources.cdc.helpers import connector_to

from hakiri.sources.contract import Read

Sql = psycopg.Connection[tuple[Any, ...]]
STAMP, MOMENT = pa.timestamp("us"), pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A column, some of its values in SQL, and what becomes of them."""

    sql_type: str
    arrow: pa.DataType
    values: dict[str, Any]


SAMPLES = (
    Sample(sql_type="boolean", arrow=pa.bool_(), values={"true": True, "false": False}),
    Sample(sql_type="smallint", arrow=pa.int16(), values={"-32768": -32768, "32767": 32767}),
    Sample(sql_type="integer", arrow=pa.int32(), values={"-2147483648": -(2**31)}),
    Sample(sql_type="bigint", arrow=pa.int64(), values={"-9223372036854775808": -(2**63)}),
    Sample(sql_type="oid", arrow=pa.int64(), values={"4294967295": 2**32 - 1}),
    Sample(
        sql_type="real", arrow=pa.float32(), values={"0.5": 0.5, "'-Infinity'": -math.inf, "3.4e38": None}
    ),
    Sample(
        sql_type="double precision",
        arrow=pa.float64(),
        values={"0.1": 0.1, "5e-324": 5e-324, "'Infinity'": math.inf, "1e308": 1e308},
    ),
    Sample(
        sql_type="numeric(10, 2)",
        arrow=pa.decimal128(10, 2),
        values={"12345678.9": Decimal("12345678.90"), "-0.01": Decimal("-0.01")},
    ),
    Sample(
        sql_type="numeric(38, 10)",
        arrow=pa.decimal128(38, 10),
        values={"1e27": Decimal(10) ** 27, "-1e-10": Decimal("-1e-10")},
    ),
    Sample(sql_type="numeric(3, 5)", arrow=pa.decimal128(5, 5), values={"0.00123": Decimal("0.00123")}),
    Sample(sql_type="numeric(3, -2)", arrow=pa.decimal128(5, 0), values={"12345": Decimal(12300)}),
    Sample(sql_type="numeric(50, 0)", arrow=pa.string(), values={"1e45": "1" + "0" * 45}),
    Sample(sql_type="numeric", arrow=pa.string(), values={"1.50": "1.50", "'NaN'": "NaN"}),
    Sample(
        sql_type="text",
        arrow=pa.string(),
        values={"''": "", r"E'a\nb\r\n\t\"\\,'": 'a\nb\r\n\t"\\,', "'żółć 🐘'": "żółć 🐘", r"'\.'": r"\."},
    ),
    Sample(sql_type="varchar(5)", arrow=pa.string(), values={"'NULL'": "NULL"}),
    Sample(sql_type="char(4)", arrow=pa.string(), values={"'ab'": "ab  "}),
    Sample(sql_type='"char"', arrow=pa.string(), values={"'x'": "x"}),
    Sample(sql_type="name", arrow=pa.string(), values={"'who'": "who"}),
    Sample(sql_type="bytea", arrow=pa.binary(), values={"'\\x00ff2c'": b"\x00\xff,", "''": b""}),
    Sample(
        sql_type="date",
        arrow=pa.date32(),
        values={"'2026-05-11'": date(2026, 5, 11), "'0001-01-01'": date(1, 1, 1)},
    ),
    Sample(sql_type="time", arrow=pa.string(), values={"'24:00'": "24:00:00", "'01:02:03.5'": "01:02:03.5"}),
    Sample(sql_type="timetz", arrow=pa.string(), values={"'01:02:03+05:30'": "01:02:03+05:30"}),
    Sample(
        sql_type="timestamp",
        arrow=STAMP,
        values={"'2026-05-11 08:00:00.123456'": datetime(2026, 5, 11, 8, 0, 0, 123456)},  # noqa: DTZ001
    ),
    Sample(
        sql_type="timestamptz",
        arrow=MOMENT,
        values={"'2026-05-11 08:00+02'": datetime(2026, 5, 11, 6, 0, tzinfo=UTC)},
    ),
    Sample(
        sql_type="interval",
        arrow=pa.string(),
        values={"'1 year 2 days 03:04:05.6'": "P1Y2DT3H4M5.6S", "'-1 day'": "P-1D"},
    ),
    Sample(
        sql_type="uuid",
        arrow=pa.string(),
        values={"'0A000000-0000-0000-0000-000000000001'": "0a000000-0000-0000-0000-000000000001"},
    ),
    Sample(sql_type="json", arrow=pa.string(), values={"'{\"a\":  [1, null]}'": '{"a":  [1, null]}'}),
    Sample(sql_type="jsonb", arrow=pa.string(), values={'\'{"b":1,"a":2}\'': '{"a": 2, "b": 1}'}),
    Sample(sql_type="inet", arrow=pa.string(), values={"'10.0.0.1/8'": "10.0.0.1/8"}),
    Sample(sql_type="bit(3)", arrow=pa.string(), values={"B'101'": "101"}),
    Sample(sql_type="int4range", arrow=pa.string(), values={"'[1,5]'": "[1,6)", "'empty'": "empty"}),
    Sample(sql_type="point", arrow=pa.string(), values={"'(1.5,2)'": "(1.5,2)"}),
    Sample(sql_type="tsvector", arrow=pa.string(), values={"'a b'": "'a' 'b'"}),
    Sample(sql_type="int[]", arrow=pa.list_(pa.int32()), values={"'{1,NULL,3}'": [1, None, 3], "'{}'": []}),
    Sample(sql_type="int[4]", arrow=pa.list_(pa.int32()), values={"'[0:1]={7,8}'": [7, 8]}),
    Sample(
        sql_type="text[]",
        arrow=pa.list_(pa.string()),
        values={
            r"""ARRAY['a,b', '', 'NULL', NULL, E'q"\\\n', ' {} ']""": [
                *("a,b", "", "NULL", None, 'q"\\\n', " {} ")
            ]
        },
    ),
    Sample(
        sql_type="numeric(5,1)[]",
        arrow=pa.list_(pa.decimal128(5, 1)),
        values={"'{1.5,2}'": [Decimal("1.5"), Decimal("2.0")]},
    ),
    Sample(sql_type="bytea[]", arrow=pa.list_(pa.binary()), values={"'{\"\\\\x0a\"}'": [b"\n"]}),
    Sample(
        sql_type="timestamptz[]",
        arrow=pa.list_(MOMENT),
        values={"'{\"2026-05-11 08:00+00\"}'": [datetime(2026, 5, 11, 8, 0, tzinfo=UTC)]},
    ),
    Sample(sql_type="box[]", arrow=pa.string(), values={"'{(1,1),(0,0)}'": "{(1,1),(0,0)}"}),
    Sample(sql_type="int2vector", arrow=pa.string(), values={"'1 2'": "1 2"}),
    Sample(sql_type="mood", arrow=pa.string(), values={"'glad'": "glad"}),
    Sample(sql_type="mood[]", arrow=pa.list_(pa.string()), values={"'{sad,glad}'": ["sad", "glad"]}),
    Sample(sql_type="price", arrow=pa.decimal128(8, 3), values={"1.5": Decimal("1.500")}),
    Sample(sql_type="prices", arrow=pa.list_(pa.decimal128(8, 3)), values={"'{1.5}'": [Decimal("1.500")]}),
    Sample(sql_type="pair", arrow=pa.string(), values={"ROW(1, 'a b')": '(1,"a b")'}),
)


@pytest.fixture
def words(sql: Sql) -> None:
    sql.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    sql.execute("CREATE DOMAIN price AS numeric(8, 3) CHECK (VALUE > 0)")
    sql.execute("CREATE DOMAIN prices AS price[]")
    sql.execute("CREATE TYPE pair AS (n int, word text)")


def test_a_value_is_the_same_by_the_snapshot_and_by_a_change(url: str, sql: Sql, words: None) -> None:
    columns = ", ".join(f"c{number} {sample.sql_type}" for number, sample in enumerate(SAMPLES))
    sql.execute(f"CREATE TABLE t (id int PRIMARY KEY, {columns})".encode())
    statements = [
        f"INSERT INTO t (id, c{number}) VALUES (%s, {value})"
        for number, sample in enumerate(SAMPLES)
        for value in sample.values
    ]

    def write(first: int) -> None:
        for place, statement in enumerate(statements):
            sql.execute(statement.encode(), [first + place])

    write(0)
    (snapshot,) = connector_to(url).open(Read(table="t"))
    write(1_000)
    (changes,) = connector_to(url).open(Read(table="t", cursor=snapshot.cursor))

    assert snapshot.rows.schema == changes.rows.schema
    for number, sample in enumerate(SAMPLES):
        column = f"c{number}"
        assert snapshot.rows.schema.field(column).type == sample.arrow, sample.sql_type
        by_snapshot, by_change = snapshot.rows.column(column), changes.rows.column(column)
        assert by_snapshot.equals(by_change), sample.sql_type
        given = [value for value in by_snapshot.to_pylist() if value is not None]
        expected = list(sample.values.values())
        assert len(given) == len(expected)
        assert [value for value, wish in zip(given, expected, strict=True) if wish is not None] == [
            wish for wish in expected if wish is not None
        ], sample.sql_type


def test_not_a_number_is_a_value_of_floating_point(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, v float8)")
    sql.execute("INSERT INTO t VALUES (1, 'NaN')")

    (batch,) = connector_to(url).open(Read(table="t"))

    assert math.isnan(batch.rows.column("v")[0].as_py())


def test_days_and_moments_of_any_year_are_exact(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, d date, m timestamptz)")
    texts = ["4713-01-01 BC", "0001-12-31 BC", "0004-02-29", "9999-12-31", "10000-01-01", "294246-12-31"]
    for number, text in enumerate(texts):
        moment = f"{text.removesuffix(' BC')} 12:34:56.789+00{text[-3:] if text.endswith('BC') else ''}"
        sql.execute(
            "INSERT INTO t VALUES (%s, %s::text::date, %s::text::timestamptz)", [number, text, moment]
        )
    expected = sql.execute(
        "SELECT d - '1970-01-01'::date, (extract(epoch FROM m) * 1000000)::bigint FROM t ORDER BY id"
    ).fetchall()

    (batch,) = connector_to(url).open(Read(table="t"))

    days = batch.rows.column("d").cast(pa.int32()).to_pylist()
    moments = batch.rows.column("m").cast(pa.int64()).to_pylist()
    assert list(zip(days, moments, strict=True)) == expected


def test_a_key_of_any_type_finds_its_row_again(url: str, sql: Sql, words: None) -> None:
    for kind, value in (
        ("mood", "'glad'"),
        ("price", "1.5"),
        ("uuid", "gen_random_uuid()"),
        ("char(3)", "'a'"),
    ):
        sql.execute("DROP TABLE IF EXISTS t")
        sql.execute(f"CREATE TABLE t (id {kind} PRIMARY KEY, n int, body text)".encode())
        sql.execute("ALTER TABLE t ALTER body SET STORAGE EXTERNAL")
        sql.execute(f"INSERT INTO t VALUES ({value}, 1, repeat('x', 9000))".encode())
        (snapshot,) = connector_to(url).open(Read(table="t"))
        sql.execute("UPDATE t SET n = 2")

        (changes,) = connector_to(url).open(Read(table="t", cursor=snapshot.cursor))

        assert changes.rows.column("id").equals(snapshot.rows.column("id")), kind
        assert changes.rows.column("body").equals(snapshot.rows.column("body")), kind
        assert changes.rows.column("n").to_pylist() == [2]
