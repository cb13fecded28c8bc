"""DuckDB: every type as it is announced, and files that are in use or are something else."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.sources.sql.lab import Lab, Typed, check_everything

from hakiri.sources.errors import BadRecord, PermanentFailure, TransientFailure

moment = datetime.fromisoformat
LOCAL_MOMENT = pa.timestamp("us")
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
TYPES: list[Typed] = [
    ("BOOLEAN", "true", pa.bool_(), True),
    ("TINYINT", "-128", pa.int8(), -128),
    ("SMALLINT", "1", pa.int16(), 1),
    ("INTEGER", "1", pa.int32(), 1),
    ("BIGINT", "1", pa.int64(), 1),
    ("HUGEINT", "99999999999999999999999999999999999999", pa.decimal128(38, 0), Decimal(10**38 - 1)),
    ("UTINYINT", "255", pa.int16(), 255),
    ("USMALLINT", "65535", pa.int32(), 65535),
    ("UINTEGER", "4294967295", pa.int64(), 4294967295),
    ("UBIGINT", "18446744073709551615", pa.decimal128(20, 0), Decimal(18446744073709551615)),
    ("UHUGEINT", "5", pa.decimal128(38, 0), Decimal(5)),
    ("FLOAT", "1.5", pa.float32(), 1.5),
    ("DOUBLE", "0.1", pa.float64(), 0.1),
    ("DECIMAL(10,2)", "1.5", pa.decimal128(10, 2), Decimal("1.50")),
    ("VARCHAR", "'žluťoučký'", pa.string(), "žluťoučký"),
    ("BLOB", r"'\x00\xFF'", pa.binary(), b"\x00\xff"),
    ("DATE", "'2026-05-11'", pa.date32(), date(2026, 5, 11)),
    ("TIME", "'10:00:00.5'", pa.string(), "10:00:00.5"),
    ("TIMESTAMP", "'2026-05-11 08:00:00.123456'", LOCAL_MOMENT, moment("2026-05-11T08:00:00.123456")),
    ("TIMESTAMP_S", "'2026-05-11 08:00:00'", LOCAL_MOMENT, moment("2026-05-11T08:00")),
    ("TIMESTAMP_MS", "'2026-05-11 08:00:00.5'", LOCAL_MOMENT, moment("2026-05-11T08:00:00.5")),
    ("TIMESTAMP_NS", "'2026-05-11 08:00:00.000001'", LOCAL_MOMENT, moment("2026-05-11T08:00:00.000001")),
    (
        "TIMESTAMPTZ",
        "'2026-05-11 08:00:00+02'",
        pa.timestamp("us", "UTC"),
        datetime(2026, 5, 11, 6, tzinfo=UTC),
    ),
    ("INTERVAL", "'1 month 2 days'", pa.string(), "1 month 2 days"),
    ("UUID", f"'{UUID}'", pa.string(), UUID),
    ("ENUM('a', 'b')", "'b'", pa.string(), "b"),
    ("JSON", """'{"a": 1}'""", pa.string(), '{"a": 1}'),
    ("BIT", "'101'", pa.string(), "101"),
    ("INTEGER[]", "[1, NULL]", pa.list_(pa.int32()), [1, None]),
    ("UTINYINT[][]", "[[1], [2, 3]]", pa.list_(pa.list_(pa.int16())), [[1], [2, 3]]),
    ("INTEGER[2]", "[1, 2]", pa.list_(pa.int32()), [1, 2]),
    ("ENUM('a')[]", "['a']", pa.list_(pa.string()), ["a"]),
    (
        "STRUCT(x UBIGINT, y UUID[])",
        f"{{'x': 1, 'y': ['{UUID}']}}",
        pa.struct([("x", pa.decimal128(20, 0)), ("y", pa.list_(pa.string()))]),
        {"x": Decimal(1), "y": [UUID]},
    ),
    ("MAP(VARCHAR, USMALLINT)", "MAP {'a': 1}", pa.map_(pa.string(), pa.int32()), [("a", 1)]),
    ("UNION(n INTEGER, s VARCHAR)", "union_value(n := 1)", pa.string(), '{"n":1}'),
]
CREATE = "CREATE TABLE {name} ({columns}); INSERT INTO {name} VALUES ({values}), ({nulls})"


@pytest.mark.spec("HP-024")
def test_every_type_is_announced_as_it_comes_with_its_values(duckdb: Lab, tmp_path: Path) -> None:
    duckdb.run(
        CREATE.format(
            name="everything",
            columns=", ".join(f"c{number} {kind}" for number, (kind, *_) in enumerate(TYPES)),
            values=", ".join(value for _, value, *_ in TYPES),
            nulls=", ".join("NULL" for _ in TYPES),
        )
    )

    assert set(check_everything(duckdb, TYPES, tmp_path)) == {None}


def test_tables_views_keys_comments_and_estimates_are_found(duckdb: Lab) -> None:
    duckdb.run(
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, n INTEGER NOT NULL, updated_at TIMESTAMP);"
        "COMMENT ON TABLE orders IS 'What was sold'; CREATE INDEX by_n ON orders (n);"
        "INSERT INTO orders SELECT i, i, NULL FROM range(500) r(i);"
        "CREATE TABLE lines (b INTEGER, a INTEGER, PRIMARY KEY (a, b));"
        "CREATE VIEW sums AS SELECT n % 2 AS odd, sum(n) AS total FROM orders GROUP BY 1;"
        "CREATE SCHEMA sales; CREATE TABLE sales.leads (id INTEGER);"
        "CREATE TABLE gone (id INTEGER); CREATE VIEW broken AS SELECT * FROM gone; DROP TABLE gone"
    )

    found = {table.name: table for table in duckdb.connector().discover()}

    assert list(found) == ["lines", "orders", "sums"]
    orders = found["orders"]
    assert (orders.primary_key, orders.estimated_rows) == (("id",), 500)
    assert orders.description == "What was sold"
    assert orders.cursor_fields == ("updated_at", "id", "n")
    assert [field.nullable for field in orders.schema] == [False, False, True]
    assert found["lines"].primary_key == ("a", "b")
    assert found["sums"].schema.field("total").type == pa.decimal128(38, 0)
    assert duckdb.table("sales.leads").name == "sales.leads"
    assert [table.name for table in duckdb.connector(schema="sales").discover()] == ["leads"]
    with pytest.raises(PermanentFailure, match="DuckDB cannot read `broken`"):
        duckdb.rows("broken")


def test_values_without_a_place_in_arrow_are_refused_and_can_be_read_as_text(duckdb: Lab) -> None:
    odd = {
        "d": ("DATE", "'infinity'", "it is infinite, before the year 1, or after the year 9999", "infinity"),
        "t": (
            "TIMESTAMP",
            "'20000-01-01'",
            "it is infinite, before the year 1, or after the year 9999",
            "20000-01-01 00:00:00",
        ),
        "n": (
            "TIMESTAMP_NS",
            "'2026-01-01 00:00:00.000000001'",
            "it has nanoseconds",
            "2026-01-01 00:00:00.000000001",
        ),
        "h": ("HUGEINT", f"{2**126}", "it is too large", f"{2**126}"),
        "l": ("DATE[]", "['-infinity']", "it is infinite, before the year 1, or after the year 9999", None),
    }
    odd["h"] = ("HUGEINT", f"{2**127 - 1}", "it is too large", f"{2**127 - 1}")
    duckdb.run(
        "; ".join(
            f"CREATE TABLE {name} (v {kind}); INSERT INTO {name} VALUES ({value})"
            for name, (kind, value, *_) in odd.items()
        )
    )

    for name, (_, _, problem, shown) in odd.items():
        with pytest.raises(BadRecord, match=f"a row of `{name}` does not fit: `v` has .*: {problem}"):
            duckdb.rows(name)
        (batch,) = duckdb.batches(name, sets_aside=True)
        assert (batch.rows.num_rows, len(batch.rejects)) == (0, 1)
        (row,) = duckdb.rows(name, {"as_text": [f"{name}.v"]})
        assert shown is None or row["v"] == shown


def test_a_file_that_is_written_to_may_be_asked_again(duckdb: Lab) -> None:
    duckdb.run("CREATE TABLE t (id INTEGER)")
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(duckdb.root / "shop.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"

        with pytest.raises(TransientFailure) as refused:
            duckdb.rows("t")
        writer.communicate()

    assert str(refused.value).startswith("`shop.duckdb` cannot be opened now: ")
    assert duckdb.rows("t") == []


def test_a_file_that_is_none_or_of_another_program_is_told(duckdb: Lab, tmp_path: Path) -> None:
    (tmp_path / "notes.duckdb").write_text("no database " * 1000)

    with pytest.raises(PermanentFailure, match=r"there is no file `gone\.duckdb`"):
        duckdb.connector(url="duckdb:///gone.duckdb").check()
    with pytest.raises(PermanentFailure, match=r"`notes\.duckdb` is no database of DuckDB"):
        duckdb.connector(url="duckdb:///notes.duckdb").check()
    assert not (tmp_path / "gone.duckdb").exists()


def test_a_check_says_what_was_reached(duckdb: Lab) -> None:
    duckdb.run("CREATE TABLE t (id INTEGER)")

    said = duckdb.connector().check()

    assert said.startswith("DuckDB ")
    assert said.endswith(", file `shop.duckdb`, database `shop`")
