"""Every type of Postgres: what is announced is what comes, and nothing is lost on the way."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.sql.lab import Lab, Typed, check_everything

from hakiri.sources.errors import PermanentFailure, SchemaIncompatible
from hakiri.sources.sql.postgres_types import decimal_of

SETUP = """
CREATE TYPE mood AS ENUM ('calm', 'glad');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN price AS numeric(10, 2);
CREATE DOMAIN dear AS price CHECK (value > 100);
CREATE DOMAIN names AS text[];
CREATE TYPE place AS (street text, number int);
CREATE TYPE span AS RANGE (subtype = float8);
"""
moment = datetime.fromisoformat
UTC_MOMENT = pa.timestamp("us", "UTC")
LOCAL_MOMENT = pa.timestamp("us")
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
TYPES: list[Typed] = [
    ("smallint", "-32768", pa.int16(), -32768),
    ("integer", "2147483647", pa.int32(), 2147483647),
    ("bigint", "-9223372036854775808", pa.int64(), -9223372036854775808),
    ("serial", "7", pa.int32(), 7),
    ("oid", "4294967295", pa.int64(), 4294967295),
    ("numeric(10,2)", "-12345678.90", pa.decimal128(10, 2), Decimal("-12345678.90")),
    ("numeric(5)", "12345", pa.decimal128(5, 0), Decimal(12345)),
    ("numeric(38,10)", "1" * 28 + "." + "9" * 10, pa.decimal128(38, 10), Decimal("1" * 28 + "." + "9" * 10)),
    ("numeric(3,5)", "0.00123", pa.decimal128(5, 5), Decimal("0.00123")),
    ("numeric(5,-2)", "1234500", pa.decimal128(7, 0), Decimal(1234500)),
    ("numeric(39,1)", "1.5", pa.string(), "1.5"),
    ("numeric", "123.4500", pa.string(), "123.4500"),
    ("numeric", "'NaN'", pa.string(), "NaN"),
    ("numeric", "'-Infinity'", pa.string(), "-Infinity"),
    ("money", "'1234.56'", pa.decimal128(23, 4), Decimal("1234.5600")),
    ("real", "1.5", pa.float32(), 1.5),
    ("double precision", "0.1", pa.float64(), 0.1),
    ("double precision", "'Infinity'", pa.float64(), float("inf")),
    ("boolean", "true", pa.bool_(), True),
    ("text", "'žluťoučký 🐎'", pa.string(), "žluťoučký 🐎"),
    ("text", "''", pa.string(), ""),
    ("varchar(5)", "'ab'", pa.string(), "ab"),
    ("char(5)", "'ab'", pa.string(), "ab   "),
    ('"char"', "'x'", pa.string(), "x"),
    ("name", "'x'", pa.string(), "x"),
    ("bytea", r"'\x00ff00'", pa.binary(), b"\x00\xff\x00"),
    ("date", "'0001-01-01'", pa.date32(), date(1, 1, 1)),
    ("date", "'9999-12-31'", pa.date32(), date(9999, 12, 31)),
    ("time", "'24:00'", pa.string(), "24:00:00"),
    ("time", "'10:00:00.5'", pa.string(), "10:00:00.5"),
    ("timetz", "'10:00+02'", pa.string(), "10:00:00+02"),
    ("timestamp", "'2026-05-11 08:00:00.123456'", LOCAL_MOMENT, moment("2026-05-11T08:00:00.123456")),
    ("timestamp(0)", "'2026-05-11 08:00'", LOCAL_MOMENT, moment("2026-05-11T08:00")),
    ("timestamptz", "'2026-05-11 08:00+02'", UTC_MOMENT, datetime(2026, 5, 11, 6, tzinfo=UTC)),
    ("timestamptz", "'0001-01-01 00:00+00'", UTC_MOMENT, datetime(1, 1, 1, tzinfo=UTC)),
    ("interval", "'1 mon 2 days 03:04:05.5'", pa.string(), "P1M2DT3H4M5.5S"),
    ("uuid", f"'{UUID}'", pa.string(), UUID),
    ("json", """'{"a":  1}'""", pa.string(), '{"a":  1}'),
    ("jsonb", """'{"a":  1}'""", pa.string(), '{"a": 1}'),
    ("inet", "'10.0.0.1/8'", pa.string(), "10.0.0.1/8"),
    ("cidr", "'10.0.0.0/8'", pa.string(), "10.0.0.0/8"),
    ("macaddr", "'08:00:2b:01:02:03'", pa.string(), "08:00:2b:01:02:03"),
    ("bit(3)", "B'101'", pa.string(), "101"),
    ("varbit", "B'10'", pa.string(), "10"),
    ("point", "'(1,2)'", pa.string(), "(1,2)"),
    ("tsvector", "'b a'", pa.string(), "'a' 'b'"),
    ("int4range", "'[1,3)'", pa.string(), "[1,3)"),
    ("span", "'[1.5,3)'", pa.string(), "[1.5,3)"),
    ("pg_lsn", "'0/1'", pa.string(), "0/1"),
    ("regclass", "'pg_class'", pa.string(), "pg_class"),
    ("xid8", "'5'", pa.string(), "5"),
    ("int2vector", "'1 2'", pa.string(), "1 2"),
    ("mood", "'glad'", pa.string(), "glad"),
    ("positive", "5", pa.int32(), 5),
    ("dear", "250", pa.decimal128(10, 2), Decimal("250.00")),
    ("names", "'{a,b}'", pa.list_(pa.string()), ["a", "b"]),
    ("place", "('High Street', 5)", pa.string(), '{"street":"High Street","number":5}'),
    ("place[]", "array[('x', 5)::place]", pa.string(), '[{"street":"x","number":5}]'),
    ("int[]", "'{1,NULL,3}'", pa.list_(pa.int32()), [1, None, 3]),
    ("int[]", "'{}'", pa.list_(pa.int32()), []),
    ("int[][]", "'{{1,2},{3,4}}'", pa.string(), "[[1,2],[3,4]]"),
    ("text[]", """'{"a,b",c}'""", pa.list_(pa.string()), ["a,b", "c"]),
    ("char(3)[]", "'{abc}'", pa.list_(pa.string()), ["abc"]),
    ("bit(3)[]", "'{101}'", pa.list_(pa.string()), ["101"]),
    ("numeric(10,2)[]", "'{1.5,NULL}'", pa.list_(pa.decimal128(10, 2)), [Decimal("1.50"), None]),
    ("numeric[]", "'{1.5,NaN}'", pa.list_(pa.string()), ["1.5", "NaN"]),
    ("money[]", "'{1.5}'", pa.list_(pa.decimal128(23, 4)), [Decimal("1.5000")]),
    ("oid[]", "'{4294967295}'", pa.list_(pa.int64()), [4294967295]),
    ("bytea[]", r"""'{"\\x00"}'""", pa.list_(pa.binary()), [b"\x00"]),
    ("date[]", "'{2026-05-11}'", pa.list_(pa.date32()), [date(2026, 5, 11)]),
    (
        "timestamptz[]",
        "'{2026-05-11 08:00+00}'",
        pa.list_(UTC_MOMENT),
        [datetime(2026, 5, 11, 8, tzinfo=UTC)],
    ),
    ("uuid[]", f"'{{{UUID}}}'", pa.list_(pa.string()), [UUID]),
    ("jsonb[]", """array['{"a":1}'::jsonb]""", pa.list_(pa.string()), ['{"a": 1}']),
    ("mood[]", "'{calm}'", pa.list_(pa.string()), ["calm"]),
    ("positive[]", "'{5}'", pa.list_(pa.int32()), [5]),
    ("price[]", "'{5}'", pa.list_(pa.decimal128(10, 2)), [Decimal("5.00")]),
    ("interval[]", "'{1 day}'", pa.list_(pa.string()), ["P1D"]),
]


@pytest.mark.spec("HP-024")
def test_every_type_is_announced_as_it_comes_with_its_values(postgres: Lab, tmp_path: Path) -> None:
    columns = ", ".join(f"c{number} {kind}" for number, (kind, *_) in enumerate(TYPES))
    values = ", ".join(value for _, value, *_ in TYPES)
    nulls = ", ".join("0" if kind == "serial" else "NULL" for kind, *_ in TYPES)
    postgres.run(SETUP)
    postgres.run(f"CREATE TABLE everything ({columns}); INSERT INTO everything VALUES ({values}), ({nulls})")

    assert set(check_everything(postgres, TYPES, tmp_path)) == {None, 0}


def test_an_empty_table_has_the_same_types(postgres: Lab) -> None:
    postgres.run(SETUP)
    columns = ", ".join(f"c{number} {kind}" for number, (kind, *_) in enumerate(TYPES))
    postgres.run(f"CREATE TABLE everything ({columns})")

    assert postgres.batches("everything") == []
    assert postgres.table("everything").schema.types == [arrow for _, _, arrow, _ in TYPES]


def test_a_view_has_the_types_of_what_it_shows(postgres: Lab) -> None:
    postgres.run(SETUP)
    # Postgres forgets of a view's arrays how deep they were declared.
    kept = [entry for entry in TYPES if entry[0] != "int[][]"]
    listed = ", ".join(f"({value})::{kind} AS c{number}" for number, (kind, value, *_) in enumerate(kept))
    postgres.run("CREATE VIEW seen AS SELECT " + listed.replace("::serial", "::int"))

    (batch,) = postgres.batches("seen")

    assert batch.rows.schema.equals(postgres.table("seen").schema)
    assert list(batch.rows.to_pylist()[0].values()) == [value for *_, value in kept]


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("timestamptz", "'infinity'", "it is infinite, before the year 1, or after the year 9999"),
        ("timestamptz", "'-infinity'", "it is infinite, before the year 1, or after the year 9999"),
        ("timestamp", "'infinity'", "it is infinite, before the year 1, or after the year 9999"),
        ("timestamp", "'294276-12-31'", "it is infinite, before the year 1, or after the year 9999"),
        ("timestamp", "'10000-01-01'", "it is infinite, before the year 1, or after the year 9999"),
        ("timestamptz", "'0044-03-15 BC'", "it is infinite, before the year 1, or after the year 9999"),
        ("date", "'infinity'", "it is infinite, before the year 1, or after the year 9999"),
        ("date", "'0001-12-31 BC'", "it is infinite, before the year 1, or after the year 9999"),
        ("date", "'10000-01-01'", "it is infinite, before the year 1, or after the year 9999"),
        ("date[]", "'{infinity}'", "it is infinite, before the year 1, or after the year 9999"),
        ("numeric(10,2)", "'NaN'", "it is too large, or no number at all"),
        ("numeric(10,2)[]", "'{NaN}'", "it is too large, or no number at all"),
        ("int[]", "'{{1,2},{3,4}}'", "it is an array of more than one dimension"),
    ],
)
def test_a_value_without_a_place_in_arrow_is_refused_and_can_be_read_as_text(
    postgres: Lab, kind: str, value: str, problem: str
) -> None:
    postgres.run(f"CREATE TABLE odd (id int, v {kind}); INSERT INTO odd VALUES (1, NULL), (2, {value})")

    with pytest.raises(SchemaIncompatible) as refused:
        postgres.rows("odd")
    as_text = postgres.rows("odd", {"as_text": ["odd.v"]})

    arrow = postgres.table("odd").schema.field("v").type
    assert str(refused.value).startswith("a row of `odd` does not fit: `v` has ")
    assert str(refused.value).endswith(f" does not fit {arrow}: {problem}")
    assert refused.value.hint == (
        'mend the row, read the column as text with as_text = ["odd.v"], '
        'or set `on_bad_row = "quarantine"` for the table'
    )
    shown = [row["v"] for row in as_text]
    assert shown[0] is None
    assert shown[1].replace(" 00:00:00", "").replace("+00", "") == value.strip("'")


def test_a_column_to_read_as_text_that_is_not_there_is_refused(postgres: Lab) -> None:
    postgres.run("CREATE TABLE odd (paid_at timestamp)")

    with pytest.raises(PermanentFailure) as refused:
        postgres.table("odd", as_text=["odd.payed_at"])

    assert (str(refused.value), refused.value.hint) == (
        "table `odd` has no column `payed_at`",
        "did you mean `paid_at`?",
    )


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.decimals(-(10**14), 10**14, places=4, allow_nan=False), min_size=1, max_size=50))
def test_decimals_are_what_was_written(postgres: Lab, values: list[Decimal]) -> None:
    listed = ", ".join(f"({number}, {value})" for number, value in enumerate(values))
    postgres.run(
        "DROP TABLE IF EXISTS d; CREATE TABLE d (n int PRIMARY KEY, v numeric(20,4));"
        f"INSERT INTO d VALUES {listed}"
    )

    rows = sorted(postgres.rows("d"), key=lambda row: row["n"])

    assert [row["v"] for row in rows] == values


def test_a_number_without_room_in_spark_is_none_of_its_decimals() -> None:
    def modifier(precision: int, scale: int) -> int:
        return ((precision << 16) | (scale & 0x7FF)) + 4

    assert decimal_of(-1) is None
    assert decimal_of(modifier(38, 0)) == pa.decimal128(38, 0)
    assert decimal_of(modifier(39, 0)) is None
    assert decimal_of(modifier(2, 40)) is None
    assert decimal_of(modifier(30, -9)) is None
    assert decimal_of(modifier(30, -8)) == pa.decimal128(38, 0)
