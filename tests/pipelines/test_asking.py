"""Asking sources what they have: all of them at once, and none of them keeps the others waiting."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.support.counted import CountedSource, manifest, moments

from hakiri.catalog import Catalog, open_catalog
from hakiri.core.clock import SystemClock
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId, RunId, TableName
from hakiri.manifest import Project, load_project
from hakiri.pipelines import asking
from hakiri.pipelines.asking import Answer, SourceSilent, TableLook, ask_sources, with_news
from hakiri.sources.contract import Extent

CLOCK = SystemClock()
HEAD = '[project]\nname = "shop"\n'
SQL = 'source = { connector = "sql", config = { url = "sqlite:///shop.db" } }'
SLEEPY = """
import time

import pyarrow as pa

from hakiri.sources import Connector, Table


class Sleepy(Connector):
    def discover(self, only=None):
        self.context.wait(3600)

    def open(self, read):
        return iter(())
"""
BROKEN = SLEEPY.replace("self.context.wait(3600)", "return 1 / 0")


def load(folder: Path, text: str) -> Project:
    (folder / "hakiri.toml").write_text(HEAD + text)
    return load_project(folder)


def ask(project: Project, catalog: Catalog | None = None) -> dict[str, Answer]:
    return ask_sources(project, project.pipelines, {}, CLOCK, catalog=catalog)


def looks(answer: Answer) -> tuple[TableLook, ...]:
    assert isinstance(answer, tuple), answer
    return answer


def own_connector(folder: Path, name: str, code: str) -> None:
    (folder / "connectors").mkdir(exist_ok=True)
    (folder / "connectors" / f"{name}.py").write_text(code)


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, at TEXT)")
    connection.executemany(
        "INSERT INTO orders VALUES (?, ?)", [(n, f"2024-01-{n:02d}") for n in range(1, 31)]
    )
    connection.commit()
    return connection


def test_a_source_tells_its_tables_their_extents_and_how_they_can_be_cut(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    project = load(tmp_path, f'[[pipeline]]\nid = "orders"\n{SQL}\ntables = ["orders"]\nincremental = "id"\n')

    (look,) = looks(ask(project)["orders"])

    assert (look.table.name, look.table.primary_key, look.kind) == ("orders", ("id",), CursorKind.MONOTONIC)
    assert (look.cursor, look.field, look.partitions, look.has_news) == ("id", "id", ({},), None)
    assert (look.extent.lowest, look.extent.highest, look.extent.rows) == (1, 30, 30)


def test_all_tables_of_a_pipeline_are_asked_for_in_its_order(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
    project = load(tmp_path, f'[[pipeline]]\nid = "shop"\n{SQL}\ntables = ["orders", "customers"]\n')

    assert [look.table.name for look in looks(ask(project)["shop"])] == ["orders", "customers"]


def test_a_source_that_has_no_such_table_is_an_answer_too(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    project = load(tmp_path, f'[[pipeline]]\nid = "orders"\n{SQL}\ntables = ["ordres"]\n')

    error = ask(project)["orders"]

    assert isinstance(error, HakiriError)
    assert (str(error), error.hint) == ("the database has no table `ordres`", "did you mean `orders`?")
    assert [str(place) for place in error.places] == ["hakiri.toml:3"]


def test_files_of_which_none_was_read_are_news(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    source = 'source = { connector = "files", config = { path = "*.csv", format = "csv" } }'
    project = load(tmp_path, f'[[pipeline]]\nid = "files"\n{source}\ntables = ["files"]\n')

    with open_catalog("sqlite:///c.sqlite", project="shop", base=tmp_path, now=CLOCK.now()) as catalog:
        news = with_news(project, project.pipelines, catalog, {}, CLOCK)

    assert news == {"files"}


def test_a_missing_secret_is_told_before_the_source_is_called(tmp_path: Path) -> None:
    project = load(
        tmp_path,
        '[[pipeline]]\nid = "shop"\nsecrets = ["SHOPIFY_TOKEN"]\ntables = ["orders"]\n'
        'source = { connector = "shopify", config = { shop = "x" } }\n',
    )

    error = ask(project)["shop"]

    assert isinstance(error, HakiriError)
    assert "SHOPIFY_TOKEN" in str(error)


def test_a_connector_that_breaks_hides_no_other(tmp_path: Path, database: sqlite3.Connection) -> None:
    own_connector(tmp_path, "broken", BROKEN)
    project = load(
        tmp_path,
        f'[[pipeline]]\nid = "orders"\n{SQL}\ntables = ["orders"]\n'
        '[[pipeline]]\nid = "broken"\nsource = { connector = "broken" }\ntables = ["t"]\n',
    )

    answers = ask(project)

    error = answers["broken"]
    assert isinstance(error, HakiriError)
    assert "ZeroDivisionError" in str(error)
    assert looks(answers["orders"])


def test_a_source_that_never_answers_is_not_waited_for(
    tmp_path: Path, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.5)
    own_connector(tmp_path, "sleepy", SLEEPY)
    project = load(
        tmp_path,
        f'[[pipeline]]\nid = "orders"\n{SQL}\ntables = ["orders"]\n'
        '[[pipeline]]\nid = "sleepy"\nsource = { connector = "sleepy" }\ntables = ["t"]\n',
    )

    answers = ask(project)

    assert looks(answers["orders"])
    error = answers["sleepy"]
    assert isinstance(error, SourceSilent)
    assert error.hint == "try `hakiri source check`, or plan without asking: `hakiri plan --offline`"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "monotonic",
            Extent(lowest="2024-01-02T00:00:00+00:00", highest="2024-01-06T00:00:00+00:00", rows=5),
        ),
        ("opaque-token", Extent()),
        ("snapshot-id", Extent()),
    ],
)
def test_only_what_can_be_cut_is_measured(tmp_path: Path, kind: str, expected: Extent) -> None:
    CountedSource.make(tmp_path).put(moments(5))
    project = load(tmp_path, manifest(kind))

    (look,) = looks(ask(project)["p"])

    assert look.kind is CursorKind(kind)
    assert (look.extent.lowest, look.extent.highest, look.extent.rows) == (
        expected.lowest,
        expected.highest,
        expected.rows,
    )


@pytest.mark.spec("HP-099")
def test_asking_fetches_no_row(tmp_path: Path) -> None:
    source = CountedSource.make(tmp_path)
    source.put(moments(5))

    ask(load(tmp_path, manifest("partitioned-monotonic")))

    assert source.reads() == []


@pytest.mark.parametrize(("place", "has_news"), [(30, False), (29, True)])
def test_a_source_says_whether_there_is_something_behind_the_cursor(
    tmp_path: Path, database: sqlite3.Connection, place: int, has_news: bool
) -> None:
    project = load(tmp_path, f'[[pipeline]]\nid = "orders"\n{SQL}\ntables = ["orders"]\nincremental = "id"\n')
    with open_catalog("sqlite:///c.sqlite", project="shop", base=tmp_path, now=CLOCK.now()) as catalog:
        catalog.pipelines.declare(PipelineId("orders"), CursorKind.MONOTONIC, CLOCK.now())
        catalog.cursors.put(
            PipelineId("orders"),
            TableName("orders"),
            f'{{"id": {place}}}',
            run=RunId("run-1"),
            now=CLOCK.now(),
        )
        (look,) = looks(ask(project, catalog)["orders"])
        news = with_news(project, project.pipelines, catalog, {}, CLOCK)

    assert look.has_news is has_news
    assert news == ({"orders"} if has_news else set())
