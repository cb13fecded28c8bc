"""What the SQLite file itself refuses to raw SQL, trigger by trigger, also when a row is to replace another.

The statements are in `raw/`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.support.databases import sqlite_database
from tests.support.raw_sql import Attempt, attempts, by_promise, statements

REFUSED = attempts("refused.sql", "refused_sqlite.sql")
TRIED = [*REFUSED, *attempts("unfit.sql", "unfit_sqlite.sql")]
UNFIT = re.compile("constraint failed|cannot store|column.* rowid|malformed JSON|it is a view|once$")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("catalog") / "meta.sqlite"
    sqlite_database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements("rows.sql"):
            connection.execute(statement)
        connection.commit()
        yield connection


@pytest.fixture
def raw(filled: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A connection that knows nothing of Hakiri, to a catalog with rows in every table that is watched."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        filled.backup(connection)
        yield connection


def content(raw: sqlite3.Connection) -> dict[str, list[Any]]:
    tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {table: raw.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


def guards(raw: sqlite3.Connection) -> dict[str, str]:
    """The triggers that fire before a write, and their text."""
    triggers = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    return {name: sql for name, sql in triggers if f" {name} BEFORE " in sql}


def refuses(raw: sqlite3.Connection, attempt: Attempt) -> None:
    """Fail unless the statement is refused, by the trigger of its section's name or by the table itself."""
    before = content(raw)

    with pytest.raises(sqlite3.Error) as caught:
        raw.execute(attempt.statement)

    assert content(raw) == before
    if attempt.name in guards(raw):
        assert f"'{caught.value}'" in guards(raw)[attempt.name]
    else:
        assert UNFIT.search(str(caught.value))


@pytest.mark.parametrize("attempt", by_promise(TRIED), ids=str)
def test_the_store_refuses_what_breaks_a_promise(raw: sqlite3.Connection, attempt: Attempt) -> None:
    refuses(raw, attempt)


@pytest.mark.parametrize("statement", statements("taken.sql"))
def test_the_store_takes_what_keeps_its_promises(raw: sqlite3.Connection, statement: str) -> None:
    before = content(raw)

    raw.execute(statement)

    assert content(raw) != before or "DO NOTHING" in statement


@pytest.mark.spec("HP-060")
@pytest.mark.parametrize("verb", ["REPLACE", "INSERT OR REPLACE", "INSERT OR IGNORE"])
def test_a_cursor_of_an_earlier_claim_is_left_out(raw: sqlite3.Connection, verb: str) -> None:
    before = content(raw)

    raw.execute(f"{verb} INTO pipeline_cursor VALUES ('p', 't', '\"old\"', '2026-05-11 13:00Z', 'r0', 4)")

    assert content(raw) == before


def test_every_guard_has_been_tried(raw: sqlite3.Connection) -> None:
    leaving_out = {name for name, sql in guards(raw).items() if "RAISE(IGNORE)" in sql}

    assert leaving_out == {"pipeline_cursor_again"}
    assert {attempt.name for attempt in REFUSED} == guards(raw).keys() - leaving_out
    assert {attempt.name for attempt in TRIED if attempt not in REFUSED}.isdisjoint(guards(raw))


# The tables as the documents print them --------------------------------------------------------------------

# `!` means NOT NULL, `key` a part of the primary key.
DOCUMENTED = """
pipeline_cursor: pipeline_id TEXT! key, table_name TEXT! key, cursor_json TEXT!, updated_at TEXT!
pipeline_run: run_id TEXT key, pipeline_id TEXT!, started_at TEXT!, ended_at TEXT, status TEXT!,
    row_count INTEGER, bytes INTEGER, error_kind TEXT, error_msg TEXT, trace_id TEXT
pipeline_chunks: pipeline_id TEXT! key, chunk_id INTEGER! key, predicate TEXT!, status TEXT!,
    attempts INTEGER!, started_at TEXT, completed_at TEXT, cursor_committed TEXT
schema_version: id INTEGER key, applied_at TEXT!
table_schema: table_name TEXT key, arrow_schema_json TEXT!, primary_key TEXT, created_at TEXT!,
    updated_at TEXT!
schema_history: id INTEGER key, table_name TEXT!, change_kind TEXT!, before_json TEXT,
    after_json TEXT!, decided_by TEXT!, at TEXT!
snapshot: snapshot_id TEXT key, table_name TEXT!, created_at TEXT!, includes_runs TEXT!,
    row_count INTEGER!
lineage: child_run_id TEXT! key, parent_run_id TEXT! key
pipeline_lease: pipeline_id TEXT key, holder_node TEXT!, expires_at TEXT!
"""
# Of one pair of runs there may be edges of several kinds and records.
WIDER_KEYS = {"lineage": {"kind", "record_id"}}


def has_the_documented_columns(raw: sqlite3.Connection, table: str) -> None:
    """Fail unless the columns and the key of a table are those of the documents."""
    printed = re.search(rf"^{table}: ((?:.|\n )+)$", DOCUMENTED, re.MULTILINE)
    assert printed is not None
    # Where rows have no hidden numbers, a key is NOT NULL without saying so.
    expected = dict(re.findall(r"(\w+) ([^,\n]+)", printed[1].replace("! key", " key")))
    columns = {
        name: f"{kind} key" if key else f"{kind}{'!' * must}"
        for _, name, kind, must, _, key in raw.execute(f"PRAGMA table_info({table})")
    }

    assert {name: columns.get(name) for name in expected} == expected
    keys = {name for name, text in columns.items() if text.endswith("key")}
    expected_keys = {name for name, text in expected.items() if text.endswith("key")}
    assert keys == expected_keys | WIDER_KEYS.get(table, set())


@pytest.mark.spec("HP-060")
@pytest.mark.parametrize("table", ["pipeline_cursor", "pipeline_run"])
def test_the_tables_of_cursors_and_runs_are_those_of_the_documents(
    raw: sqlite3.Connection, table: str
) -> None:
    has_the_documented_columns(raw, table)


@pytest.mark.spec("HP-115")
def test_the_table_of_chunks_is_that_of_the_documents(raw: sqlite3.Connection) -> None:
    has_the_documented_columns(raw, "pipeline_chunks")


@pytest.mark.spec("HC-024")
@pytest.mark.parametrize("table", ["schema_version", "table_schema", "schema_history", "snapshot"])
def test_the_tables_of_the_store_are_those_of_the_documents(raw: sqlite3.Connection, table: str) -> None:
    has_the_documented_columns(raw, table)


@pytest.mark.spec("HC-026")
def test_the_table_of_lineage_is_that_of_the_documents(raw: sqlite3.Connection) -> None:
    has_the_documented_columns(raw, "lineage")


@pytest.mark.spec("HC-105")
def test_the_table_of_leases_is_that_of_the_documents(raw: sqlite3.Connection) -> None:
    has_the_documented_columns(raw, "pipeline_lease")


@pytest.mark.spec("HC-024")
def test_runs_are_shown_to_readers_as_the_documents_print_them(raw: sqlite3.Connection) -> None:
    shown = raw.execute("SELECT * FROM run ORDER BY run_id")

    names = [column for column, *_ in shown.description]
    assert ", ".join(names) == (
        "run_id, pipeline_id, started_at, ended_at, status, row_count, byte_count, trace_id"
    )
    assert [(row[0], row[4], row[5]) for row in shown] == [
        ("ended", "success", 10),
        ("open", "running", None),
    ]
