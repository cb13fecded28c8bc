"""What a plan announces of a table's columns is what apply then writes into the schema log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from tests.support.protocol_lab_judge import PIPELINE, STORED
from tests.support.protocol_lab_source import RECIPES, TABLE, ListedConnector
from tests.support.protocol_lab_story import MANIFEST, Story

from hakiri.catalog import Catalog
from hakiri.manifest import load_project
from hakiri.pipelines import plan_project
from hakiri.pipelines.asking import ask_sources
from hakiri.pipelines.evolution import Change
from hakiri.pipelines.evolution.log import LogEntry, schema_log
from hakiri.pipelines.plan import PlannedTable
from hakiri.pipelines.runtime.apply import run_now
from hakiri.sources.contract import EXTRA_COLUMN, Batch, Read, Table

pytestmark = pytest.mark.proof

RECIPE = next(recipe for recipe in RECIPES if recipe.name == "tokens with keys")
ITEMS = pa.schema({"id": pa.int64(), "name": pa.string(), "size": pa.int32(), "total": pa.int64()})


def without(name: str) -> pa.Schema:
    return ITEMS.remove(ITEMS.get_field_index(name))


def retyped(name: str, kind: pa.DataType) -> pa.Schema:
    return ITEMS.set(ITEMS.get_field_index(name), pa.field(name, kind))


def with_more(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([*ITEMS, *(pa.field(name, kind) for name, kind in columns.items())])


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A table, and what it is like the next time: at the source, or in the manifest."""

    before: pa.Schema = ITEMS
    after: pa.Schema = ITEMS
    is_open: bool = False
    key: tuple[str, ...] = ("id",)
    key_after: tuple[str, ...] = ("id",)
    declared: str = ""
    """More of the table in the manifest the second time."""
    values: dict[str, Any] = field(default_factory=dict)


SITUATIONS = {
    "nothing": Situation(),
    "another order": Situation(after=pa.schema([*ITEMS][::-1])),
    "a new column": Situation(after=with_more(note=pa.string(), at=pa.timestamp("ns", "UTC"))),
    "a type that Spark has under another name": Situation(after=with_more(tag=pa.large_string())),
    "a type that Spark has not": Situation(after=with_more(n=pa.uint32())),
    "a column without any value yet": Situation(after=with_more(nothing=pa.null())),
    "a column that is gone": Situation(after=without("name")),
    "a wider type": Situation(after=retyped("size", pa.int64())),
    "a fraction that holds all numbers there are": Situation(after=retyped("total", pa.float64())),
    "a fraction that does not": Situation(after=retyped("total", pa.float64()), values={"total": 2**60}),
    "a narrower type": Situation(after=retyped("total", pa.int32())),
    "another type": Situation(after=retyped("name", pa.int64())),
    "a struct with one more": Situation(
        before=with_more(place=pa.struct({"city": pa.string()})),
        after=with_more(place=pa.struct({"city": pa.string(), "zip": pa.string()})),
    ),
    "a declared rename": Situation(
        after=ITEMS.set(1, pa.field("label", pa.string())),
        declared='columns = { label = { renamed_from = "name" } }',
    ),
    "names that differ in case alone": Situation(after=with_more(NAME=pa.string())),
    "another key": Situation(key_after=("id", "name")),
    "no key any more": Situation(key_after=()),
    "a frozen table that grows": Situation(after=with_more(note=pa.string()), declared='contract = "freeze"'),
    "a table that discards what is new": Situation(
        after=with_more(note=pa.string()), declared='contract = "discard"'
    ),
    "a sample that lacks a column": Situation(after=without("name"), is_open=True),
    "a sample that shows another number": Situation(after=retyped("total", pa.float64()), is_open=True),
    "a sample with a new column and a place for the rest": Situation(
        before=with_more(**{EXTRA_COLUMN: pa.string()}),
        after=pa.schema(
            [*without("size"), pa.field("note", pa.string()), pa.field(EXTRA_COLUMN, pa.string())]
        ),
        is_open=True,
    ),
}


class Shelf:
    """The source's one table, and its rows: one more at each read."""

    def __init__(self, situation: Situation) -> None:
        self.schema, self.key, self.situation = situation.before, situation.key, situation
        self.rows = 0

    def table(self) -> Table:
        return Table(name=TABLE, schema=self.schema, primary_key=self.key, is_open=self.situation.is_open)

    def read(self, read: Read) -> Iterator[Batch]:
        schema = read.schema or self.schema
        self.rows += 1
        row = {each.name: self._value(each) for each in schema if each.name in self.schema.names}
        batch = pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names}], schema=schema)
        yield Batch(rows=batch, cursor={"token": self.rows})

    def _value(self, column: pa.Field) -> Any:
        if column.name in self.situation.values:
            return self.situation.values[column.name]
        if pa.types.is_integer(column.type):
            return self.rows
        return float(self.rows) if pa.types.is_floating(column.type) else None


def apply(story: Story) -> Exception | None:
    with story.ground() as ground:
        return run_now(ground, ground.project.pipeline(PIPELINE)).error


def planned(story: Story) -> tuple[PlannedTable, list[str]]:
    """What is announced of the table, and what is wrong with it."""
    with story.ground() as ground:
        specs = [ground.project.pipeline(PIPELINE)]
        plan = plan_project(
            ground.project,
            specs,
            catalog=ground.catalog,
            answers=ask_sources(ground.project, specs, {}, ground.clock),
            default_destination="context",
            now=ground.clock.now(),
            find_files=ground.find_files,
        )
    (pipeline,) = plan.pipelines
    (table,) = pipeline.tables
    return table, [str(problem) for problem in pipeline.problems]


def log_of(catalog: Catalog) -> list[LogEntry]:
    return list(schema_log(catalog, PIPELINE, [STORED]))


def facts(changes: Sequence[Change] | None) -> set[tuple[Any, ...]]:
    return {(change.kind, change.column, change.before, change.after) for change in changes or ()}


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story.begin(tmp_path / "story", RECIPE, Random(1))


def stock(story: Story, monkeypatch: pytest.MonkeyPatch, situation: Situation) -> Shelf:
    shelf = Shelf(situation)
    monkeypatch.setattr(ListedConnector, "source", story.source, raising=False)
    monkeypatch.setattr(ListedConnector, "discover", lambda *_: [shelf.table()])
    monkeypatch.setattr(ListedConnector, "open", lambda _, read: shelf.read(read))
    return shelf


def declare(story: Story, more: str) -> None:
    table = f'tables = [{{ name = "{TABLE}", {more} }}]'
    (story.folder / "hakiri.toml").write_text(MANIFEST.replace(f'tables = ["{TABLE}"]', table))
    story.project = load_project(story.folder)


@pytest.mark.spec("HP-031")
@pytest.mark.parametrize("name", SITUATIONS)
def test_what_a_plan_announces_is_what_apply_records(
    story: Story, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    situation = SITUATIONS[name]
    shelf = stock(story, monkeypatch, situation)

    for is_first in (True, False):
        if not is_first:
            shelf.schema, shelf.key = situation.after, situation.key_after
        if not is_first and situation.declared:
            declare(story, situation.declared)
        with story.ground() as ground:
            known = len(log_of(ground.catalog))
        announced, problems = planned(story)

        error = apply(story)

        with story.ground() as ground:
            recorded = log_of(ground.catalog)[known:]
        done = [change for entry in recorded if entry.version is not None for change in entry.changes]
        refused = [change for entry in recorded if entry.version is None for change in entry.changes]
        assert facts(announced.changes) == facts(done)
        assert facts(announced.refused) == facts(refused)
        assert problems == ([] if error is None else [str(error)])


def test_a_rule_about_a_column_that_a_sample_does_not_show_is_no_problem(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = stock(story, monkeypatch, Situation(is_open=True))
    apply(story)
    shelf.schema = without("size")
    declare(story, 'expect = [{ column = "size", not_null = true }, { column = "siez", not_null = true }]')

    _, problems = planned(story)
    error = apply(story)

    assert problems == [str(error)]
    assert "siez" in str(error)
    assert "`size`" not in str(error)
