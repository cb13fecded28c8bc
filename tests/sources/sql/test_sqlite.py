"""SQLite: what was declared decides, and a value that is something else is told, never lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.sources.sql.lab import Lab, Typed

from hakiri.sources.contract import Read, Window
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible, TransientFailure

TYPES: list[Typed] = [
    ("INTEGER", "-9223372036854775808", pa.int64(), -9223372036854775808),
    ("BIGINT UNSIGNED", "7", pa.int64(), 7),
    ("REAL", "1", pa.float64(), 1.0),
    ("DOUBLE PRECISION", "0.1", pa.float64(), 0.1),
    ("NUMERIC(10,2)", "12.5", pa.float64(), 12.5),
    ("DECIMAL", "9007199254740992", pa.float64(), 9007199254740992.0),
    ("BOOLEAN", "1", pa.bool_(), True),
    ("TEXT", "'žluťoučký'", pa.string(), "žluťoučký"),
    ("VARCHAR(5)", "123", pa.string(), "123"),
    ("TEXT", "cast(x'410042' AS TEXT)", pa.string(), "A\0B"),
    ("BLOB", "x'00ff00'", pa.binary(), b"\x00\xff\x00"),
    ("DATETIME", "'2026-05-11 08:00:00'", pa.string(), "2026-05-11 08:00:00"),
    ("TIMESTAMP", "1767225600", pa.string(), "1767225600"),
    ("DATE", "'2026-05-11'", pa.string(), "2026-05-11"),
    ("JSON", """'{"a": 1}'""", pa.string(), '{"a": 1}'),
    ("", "'untyped'", pa.string(), "untyped"),
    ("", "5", pa.string(), "5"),
]


@pytest.mark.spec("HP-024")
def test_every_declared_type_is_announced_as_it_comes_with_its_values(sqlite: Lab) -> None:
    columns = ", ".join(f"c{number} {kind}" for number, (kind, *_) in enumerate(TYPES))
    nulls = ", ".join("NULL" for _ in TYPES)
    sqlite.run(
        f"CREATE TABLE everything ({columns});"
        # The driver would guess from these, and then fail at the first value.
        "INSERT INTO everything WITH RECURSIVE g(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 3000)"
        f"SELECT {nulls} FROM g;"
        f"INSERT INTO everything VALUES ({', '.join(value for _, value, *_ in TYPES)})"
    )

    rows = sqlite.rows("everything")

    assert sqlite.table("everything").schema.types == [arrow for _, _, arrow, _ in TYPES]
    assert list(rows[-1].values()) == [value for *_, value in TYPES]
    assert set(rows[0].values()) == {None}


def test_tables_views_keys_and_estimates_are_found(sqlite: Lab) -> None:
    sqlite.run(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, updated_at DATETIME, n INT NOT NULL,"
        "doubled AS (n * 2));"
        "CREATE INDEX by_n ON orders (n);"
        "CREATE TABLE lines (b INT, a INT, PRIMARY KEY (a, b)) WITHOUT ROWID;"
        "CREATE VIEW seen AS SELECT id, n * 1.5 AS half FROM orders;"
        "CREATE VIRTUAL TABLE words USING fts5(body);"
        "INSERT INTO orders VALUES (7, '2026-01-01', 1)"
    )

    found = {table.name: table for table in sqlite.connector().discover()}

    assert list(found) == ["lines", "orders", "seen", "words"]
    assert found["orders"].primary_key == ("id",)
    assert found["orders"].cursor_fields == ("updated_at", "id", "n")
    assert [field.nullable for field in found["orders"].schema] == [False, True, False, True]
    assert found["orders"].estimated_rows == 7
    assert found["lines"].primary_key == ("a", "b")
    assert found["lines"].estimated_rows is None
    sqlite.run("ANALYZE")
    assert sqlite.table("orders").estimated_rows == 1


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("INTEGER", "'seven'", "seven"),
        ("INTEGER", "1.5", "1.5"),
        ("INTEGER", "x'01'", r"\x01"),
        ("REAL", "'much'", "much"),
        ("NUMERIC", "9007199254740993", "9007199254740993"),
        ("BOOLEAN", "2", "2"),
        ("BOOLEAN", "'yes'", "yes"),
        ("TEXT", "x'ff'", r"\xff"),
        ("BLOB", "'text'", "text"),
        ("DATETIME", "x'ff'", r"\xff"),
    ],
)
def test_a_value_of_another_kind_is_refused_and_can_be_read_as_text(
    sqlite: Lab, kind: str, value: str, shown: str
) -> None:
    sqlite.run(f"CREATE TABLE odd (id INTEGER PRIMARY KEY, v {kind}); INSERT INTO odd VALUES (1, {value})")

    with pytest.raises(SchemaIncompatible) as refused:
        sqlite.rows("odd")
    rows = sqlite.rows("odd", {"as_text": ["odd.v"]})

    arrow = sqlite.table("odd").schema.field("v").type
    assert str(refused.value) == f"a row of `odd` does not fit: `v` has `{shown}`, which is no {arrow}"
    assert refused.value.hint == (
        'mend the row, read the column as text with as_text = ["odd.v"], '
        'or set `on_bad_row = "quarantine"` for the table'
    )
    assert rows == [{"id": 1, "v": shown}]


def test_text_that_is_not_utf8_is_refused(sqlite: Lab) -> None:
    sqlite.run("CREATE TABLE odd (v TEXT); INSERT INTO odd VALUES (cast(x'ff41' AS TEXT))")

    with pytest.raises(SchemaIncompatible) as refused:
        sqlite.rows("odd")

    assert str(refused.value).endswith("`v` has a value that does not fit string: it is not UTF-8")
    assert refused.value.hint == 'mend the row, or set `on_bad_row = "quarantine"` for the table'


def test_a_cursor_column_with_numbers_and_texts_is_refused(sqlite: Lab) -> None:
    sqlite.run("CREATE TABLE t (at DATETIME); INSERT INTO t VALUES ('2026-01-01'), (1767225600)")

    assert len(sqlite.rows("t")) == 2
    with pytest.raises(SchemaIncompatible) as refused:
        sqlite.rows("t", incremental="at")
    assert str(refused.value) == (
        "a row of `t` does not fit: `at` has `1767225600`, which does not fit string: "
        "a cursor cannot follow texts and others"
    )
    assert refused.value.hint == (
        "mend the row: it has no place in the order of `at`, by which rows are read"
    )


def test_rows_that_do_not_fit_are_set_aside_with_all_that_can_be_read_of_them(sqlite: Lab) -> None:
    sqlite.run(
        "CREATE TABLE odd (id INTEGER PRIMARY KEY, n INTEGER, r REAL, s TEXT);"
        "INSERT INTO odd VALUES (1, 10, 1.5, 'one'), (2, 'n/a', x'ff', 'two'), (3, 30, NULL, NULL),"
        "(4, 40, 4.5, cast(x'ff41' AS TEXT)), (5, 50, 5.5, 'five')"
    )

    (batch,) = sqlite.batches("odd", sets_aside=True)

    assert batch.rows.column("id").to_pylist() == [1, 3, 5]
    assert [(reject.reason, json.loads(reject.row)) for reject in batch.rejects] == [
        ("`n` has `n/a`, which is no int64", {"id": 2, "n": "n/a", "r": r"\xff", "s": "two"}),
        (
            "`s` has a value that does not fit string: it is not UTF-8",
            {"id": 4, "n": 40, "r": 4.5, "s": "\ufffdA"},
        ),
    ]


def test_a_value_with_the_signs_that_part_values_is_told_as_it_is(sqlite: Lab) -> None:
    value = "a\x1eb\x1f7\x1ec"
    sqlite.run(f"CREATE TABLE odd (n INTEGER, m INTEGER); INSERT INTO odd VALUES ('{value}', 'x')")

    (batch,) = sqlite.batches("odd", sets_aside=True)

    assert json.loads(batch.rejects[0].row) == {"n": value, "m": "x"}


@pytest.mark.parametrize("last", [2, 6])
def test_the_cursor_goes_past_rows_that_were_set_aside(sqlite: Lab, last: int) -> None:
    values = ", ".join(f"({n}, {n // 2}, {n if n < last else repr('bad')})" for n in range(8))
    sqlite.run(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, n INTEGER); INSERT INTO t VALUES {values}"
    )

    batches = sqlite.batches("t", incremental="at", sets_aside=True)
    some = sqlite.batches("t", incremental="at", sets_aside=True, limit=5)
    (cursor,) = [batch.cursor for batch in some if batch.cursor is not None]
    rest = sqlite.batches("t", cursor=cursor, sets_aside=True)

    assert [batch.cursor for batch in batches] == [{"at": 3}]
    assert sqlite.batches("t", cursor={"at": 3}, sets_aside=True) == []
    assert [len(batch.rejects) for batch in batches] == [8 - last]
    covered = some[0]
    assert covered.cursor == {"at": 1}
    assert covered.rows.num_rows + sum(batch.rows.num_rows for batch in rest) == last
    assert len(covered.rejects) + sum(len(batch.rejects) for batch in rest) == 8 - last


@pytest.mark.parametrize("sets_aside", [True, False])
def test_a_row_without_a_place_in_the_order_of_the_cursor_is_never_set_aside(
    sqlite: Lab, sets_aside: bool
) -> None:
    sqlite.run("CREATE TABLE t (at INTEGER, n INTEGER); INSERT INTO t VALUES (1, 1), ('x', 'y')")

    with pytest.raises(SchemaIncompatible) as refused:
        sqlite.batches("t", incremental="at", sets_aside=sets_aside)

    assert str(refused.value) == "a row of `t` does not fit: `at` has `x`, which is no int64"
    assert refused.value.hint == "mend the row: it has no place in the order of `at`, by which rows are read"


def test_windows_of_days_fit_both_ways_to_write_a_moment(sqlite: Lab) -> None:
    sqlite.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT);"
        "INSERT INTO t VALUES (1, '2026-01-01 23:59:59'), (2, '2026-01-02 00:00:00'),"
        "(3, '2026-01-02T12:00:00Z'), (4, '2026-01-03T00:00:00Z')"
    )
    day = Window(field="at", since="2026-01-02T00:00:00Z", until="2026-01-03T00:00:00+00:00")

    rows = sqlite.rows("t", window=day)

    assert [row["id"] for row in rows] == [2, 3]


def test_texts_are_followed_by_their_bytes_whatever_the_column_prefers(sqlite: Lab) -> None:
    sqlite.run(
        "CREATE TABLE t (name TEXT COLLATE NOCASE); INSERT INTO t VALUES ('b'), ('B'), ('a'), ('A'), (NULL)"
    )

    first = sqlite.rows("t", incremental="name")
    rest = sqlite.rows("t", incremental="name", cursor={"name": "B"})

    assert [row["name"] for row in first] == [None, "A", "B", "a", "b"]
    assert [row["name"] for row in rest] == ["a", "b"]


def test_a_read_sees_one_state_while_others_write(sqlite: Lab) -> None:
    sqlite.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT);"
        "INSERT INTO t WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 200000)"
        "SELECT i, NULL FROM g"
    )
    reading = sqlite.connector().open(Read(table="t", incremental="v"))
    count = next(reading).rows.num_rows
    sqlite.run("UPDATE t SET v = 1; DELETE FROM t WHERE id > 100000")

    count += sum(batch.rows.num_rows for batch in reading)

    assert count == 200_000


def test_a_file_that_is_locked_may_be_asked_again(sqlite: Lab) -> None:
    sqlite.run("PRAGMA journal_mode = delete; CREATE TABLE t (id INT)")
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-I", "-c", script, str(sqlite.root / "shop.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "locked\n"

        with pytest.raises(TransientFailure) as refused:
            sqlite.rows("t")
        writer.communicate()

    assert "(SQLite 5)" in str(refused.value)
    assert sqlite.rows("t") == []


def test_a_file_that_is_none_or_of_another_program_is_told(sqlite: Lab, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("no database " * 100)

    with pytest.raises(PermanentFailure, match=r"there is no file `gone\.db`"):
        sqlite.connector(url="sqlite:///gone.db").check()
    with pytest.raises(PermanentFailure, match=r"`notes\.db` is no database of SQLite"):
        sqlite.connector(url="sqlite:///notes.db").check()
    assert not (tmp_path / "gone.db").exists()


def test_a_view_of_which_a_part_is_gone_is_told_and_keeps_nothing_else_from_being_listed(sqlite: Lab) -> None:
    sqlite.run("CREATE TABLE t (id INT); CREATE TABLE u (id INT); CREATE VIEW v AS SELECT * FROM u")
    sqlite.run("DROP TABLE u")

    listed = [table.name for table in sqlite.connector().discover()]
    with pytest.raises(PermanentFailure):
        sqlite.rows("v")

    assert listed == ["t"]


def test_a_check_says_what_was_reached(sqlite: Lab) -> None:
    sqlite.run("CREATE TABLE t (id INT); CREATE VIEW v AS SELECT 1")

    said = sqlite.connector().check()

    assert said.startswith("SQLite 3.")
    assert said.endswith(", file `shop.db`, 2 tables and views")
