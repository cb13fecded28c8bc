"""A real project on real Spark loses its catalog: queries, runs and compactions go on as if nothing were."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.door import SHARED, Door

from hakiri.engine import EngineHome

pytestmark = pytest.mark.spark

MANIFEST = """[project]
name = "shop"

[[pipeline]]
id = "shop"
source = { connector = "sql", config = { url = "sqlite:///shop.sqlite" } }
tables = ["orders", "events"]
incremental = "id"
"""


class Project:
    """Two tables, of which `events` has no key, and the commands that a user types."""

    def __init__(self, door: Door) -> None:
        self.hakiri = door
        self.store = door.folder / ".hakiri" / "context" / "shop"
        door.write("hakiri.toml", MANIFEST)
        self.sql(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE events (id INTEGER NOT NULL, name TEXT)",
        )

    def sql(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.hakiri.folder / "shop.sqlite")) as database, database:
            for statement in statements:
                database.execute(statement)

    def grow(self, first: int) -> None:
        for table in ("orders", "events"):
            self.sql(
                f"INSERT INTO {table} (id, name) VALUES "
                + ", ".join(f"({number}, 'n{number}')" for number in range(first, first + 5))
            )

    def source(self) -> list[list[Any]]:
        with closing(sqlite3.connect(self.hakiri.folder / "shop.sqlite")) as database:
            return [
                [list(row) for row in database.execute(f"SELECT id, name FROM {table} ORDER BY id")]
                for table in ("orders", "events")
            ]

    def seen(self) -> list[list[Any]]:
        """By the command line, and the same by stock DuckDB."""
        sql = [f"SELECT id, name FROM {table} ORDER BY id" for table in ("orders", "events")]
        answers = [
            [list(row.values()) for row in self.hakiri.done("query", each, "--json").data["rows"]]
            for each in sql
        ]
        with duckdb.connect(str(self.store / "duck.db"), read_only=True) as stock:
            assert [[list(row) for row in stock.execute(each).fetchall()] for each in sql] == answers
        return answers

    def compact(self) -> Any:
        return self.hakiri.done("context", "compact", "--json", *SHARED).data["tables"]


@pytest.mark.spec("HC-027")
@pytest.mark.spec("HC-028")
@pytest.mark.timeout(300)
def test_a_project_goes_on_after_its_catalog_was_lost(tmp_path: Path, shared_home: EngineHome) -> None:
    project = Project(Door.beside(shared_home, tmp_path))
    hakiri = project.hakiri
    project.grow(1)
    hakiri.done("apply")
    project.grow(6)
    hakiri.done("run", "shop")
    project.sql("UPDATE events SET name = 'mended' WHERE id = 3")
    hakiri.done(
        "backfill",
        "rewind",
        "shop",
        "--from",
        "1",
        "--to",
        "4",
        "--table",
        "events",
        "--reason",
        "RT-481",
        "--as",
        "anna",
    )
    hakiri.done("apply")
    project.sql("ALTER TABLE orders ADD COLUMN note TEXT")
    project.compact()
    project.grow(11)
    hakiri.done("run", "shop")
    before = project.seen()
    assert before == project.source()

    for file in project.store.glob("meta.sqlite*"):
        file.unlink()
    rebuilt = hakiri.done("context", "rebuild-catalog", "--yes", "--json").data

    assert [table["schema_version"] for table in rebuilt["tables"]] == [1, 2]
    assert [each["phase"] for each in rebuilt["pipelines"]] == ["streaming"]
    assert hakiri.done("catalog", "check").code == 0
    assert project.seen() == before
    assert {row["reason"] for row in lineage(project)} == {"RT-481", None}
    project.grow(16)
    (pulled,) = hakiri.done("run", "shop", "--json").data["pipelines"]
    assert pulled["rows"] == 10
    assert project.seen() == project.source()
    assert all(table["is_compacted"] for table in project.compact())
    assert project.seen() == project.source()
    assert hakiri.done("apply", "--json").data["pipelines"][0]["rows"] == 0
    assert project.seen() == project.source()


def lineage(project: Project) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(project.store / "meta.sqlite")) as catalog:
        catalog.row_factory = sqlite3.Row
        return [dict(row) for row in catalog.execute("SELECT * FROM lineage")]
