"""The store in a Python program."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.store.workshop import ORDERS, Workshop, open_workshop

import hakiri
from hakiri.core.ids import TableName
from hakiri.manifest.errors import NoProject
from hakiri.store.errors import StoreTooNew
from hakiri.store.query.errors import DamagedFile

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hakiri.toml").write_text('[project]\nname = "shop"\n')
    return tmp_path


@pytest.fixture
def workshop(project: Path) -> Iterator[Workshop]:
    with open_workshop(project / ".hakiri" / "context" / "shop") as workshop:
        yield workshop


def test_a_program_asks_the_store_and_sees_what_is_committed_meanwhile(
    project: Path, workshop: Workshop
) -> None:
    workshop.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    workshop.publish()

    with hakiri.open_store(project) as store:
        assert store.tables() == ("orders",)
        assert store.sql("SELECT name FROM orders WHERE id = ?", [2]).fetchall() == [("b",)]

        workshop.land([{"id": 2, "name": "B"}], SCHEMA, "id")
        workshop.publish()

        assert store.sql("SELECT name FROM orders WHERE id = ?", [2]).fetchall() == [("B",)]


def test_a_program_changes_nothing(project: Path, workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.publish()

    with hakiri.open_store(str(project)) as store, pytest.raises(duckdb.Error, match="read-only"):
        store.connection.execute("DROP VIEW orders")


def test_a_store_that_is_empty_has_no_tables(project: Path) -> None:
    with hakiri.open_store(project) as store:
        assert store.tables() == ()


def test_without_a_project_there_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(NoProject, match=r"no `hakiri.toml`"):
        hakiri.open_store(tmp_path)


def test_a_store_that_was_copied_is_read_where_it_lies(project: Path, workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.publish()
    copy = project.parent / f"{project.name}-copy"
    shutil.copytree(project, copy)
    workshop.land([{"id": 1, "name": "later"}], SCHEMA, "id")
    workshop.publish()

    with hakiri.open_store(copy) as store:
        assert store.sql("SELECT name FROM orders").fetchall() == [("a",)]


def test_a_program_sees_what_is_committed_in_a_copy_meanwhile(project: Path, workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, table=TableName("events"))
    workshop.publish(ORDERS, TableName("events"))
    copy = project.parent / f"{project.name}-copy"
    shutil.copytree(project, copy)

    with (
        hakiri.open_store(copy) as store,
        open_workshop(copy / ".hakiri" / "context" / "shop") as there,
    ):
        there.plans = iter(range(100, 200))
        before = store.sql("SELECT count(*) FROM orders").fetchall()
        there.land([{"id": 2, "name": "b"}], SCHEMA, "id")
        there.publish()

        assert before == [(1,)]
        assert store.sql("SELECT count(*) FROM orders").fetchall() == [(2,)]
        assert store.sql("SELECT count(*) FROM events").fetchall() == [(1,)]


def test_a_program_is_told_which_file_of_a_copy_is_damaged(project: Path, workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.publish()
    copy = project.parent / f"{project.name}-copy"
    shutil.copytree(project, copy)
    next(copy.rglob("part-*.parquet")).unlink()

    with hakiri.open_store(copy) as store:
        assert store.sql("SELECT 1").fetchall() == [(1,)]
        with pytest.raises(DamagedFile, match=r"part-00000\.parquet"):
            store.sql("FROM orders")
        with pytest.raises(duckdb.CatalogException, match="ordres"):
            store.sql("FROM ordres")


def test_a_store_of_a_newer_version_is_refused(project: Path, workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.publish()
    config = workshop.layout.config_file
    config.write_text(config.read_text().replace("version = 1", "version = 99"))

    with pytest.raises(StoreTooNew, match="version 99"):
        hakiri.open_store(project)
