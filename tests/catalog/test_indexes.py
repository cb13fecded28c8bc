"""Statements that are asked again and again find their rows by an index, however many others there are."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.support.databases import sqlite_database

from hakiri.catalog.sql.statements import statements_for

LOOKED_UP = {
    "landed_chunks": ["pipeline_chunks_landed (table_name=? AND (pipeline_id,chunk_id)>(?,?))"],
    "recent_chunks": ["pipeline_chunks_recent (pipeline_id=?)"],
    "worked_on": ["pipeline_chunks_running (pipeline_id=?)"],
    "first_open_table": [
        "pipeline_chunks_pending (pipeline_id=?)",
        "pipeline_chunks_running (pipeline_id=?)",
    ],
    "first_open_table_of": [
        "pipeline_chunks_of_table (pipeline_id=? AND table_name=?)",
        "pipeline_chunks_running (pipeline_id=?)",
    ],
    "open_chunks": [
        "pipeline_chunks_of_table (pipeline_id=? AND table_name=?)",
        "pipeline_chunks_running (pipeline_id=?)",
    ],
    "claim_chunks": ["sqlite_autoindex_pipeline_chunks_1 (pipeline_id=? AND chunk_id=?)"],
    "renew_chunks": ["sqlite_autoindex_pipeline_chunks_1 (pipeline_id=? AND chunk_id=?)"],
    "finish_chunks": ["sqlite_autoindex_pipeline_chunks_1 (pipeline_id=? AND chunk_id=?)"],
    "supersede_chunks": ["sqlite_autoindex_pipeline_chunks_1 (pipeline_id=? AND chunk_id=?)"],
    "skip_failed_chunks": ["pipeline_chunks_failed (pipeline_id=?)"],
    "reopen_failed_chunks": ["pipeline_chunks_failed (pipeline_id=?)"],
    "abandoned_runs": ["pipeline_run_running (pipeline_id=?)", "pipeline_chunks_running (pipeline_id=?)"],
    "open_runs_of_node": ["pipeline_run_open (node_id=?)"],
    "entries_of_pipeline": ["audit_of_pipeline (pipeline_id=? AND number<?)"],
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("catalog") / "meta.sqlite"
    sqlite_database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        yield connection


@pytest.mark.parametrize("name", LOOKED_UP)
def test_rows_are_found_by_an_index(file: sqlite3.Connection, name: str) -> None:
    statement = statements_for("sqlite")[name]
    values = dict.fromkeys(re.findall(r":(\w+)", statement), "{}") | {"limit": 1, "count": 1}

    plan = [detail for *_, detail in file.execute(f"EXPLAIN QUERY PLAN {statement}", values)]

    used = [step.partition(" USING ")[2] for step in plan if step.startswith("SEARCH ")]
    indexes = [step.removeprefix("COVERING ").removeprefix("INDEX ") for step in used]
    assert [index for index in LOOKED_UP[name] if index not in indexes] == []
    assert [step for step in plan if re.match(r"SCAN (main\.)?(pipeline_\w+|audit)\b", step)] == []
