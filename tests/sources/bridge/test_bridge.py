"""A connector as a Spark source: one read a task, rows once, and errors that arrive as they were raised."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from tests.sources.bridge.numbers_project import line_of, numbers_project, numbers_table, open_numbers
from tests.support.parquet_sinks import ParquetSinks

from hakiri.sources.bridge.failures import failure_in
from hakiri.sources.bridge.frames import source_rows
from hakiri.sources.bridge.landing import land
from hakiri.sources.contract import Read, Window
from hakiri.sources.errors import ConnectorFailed, RateLimited
from hakiri.sources.reading import OpenSource

pytestmark = pytest.mark.spark

MARK = "sesame-4711"
Open = Callable[..., AbstractContextManager[OpenSource]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    return partial(open_numbers, numbers_project(tmp_path / "project"), MARK)


def reads(*windows: tuple[int, int]) -> list[Read]:
    return [Read(table="numbers", window=Window(field="n", since=a, until=b)) for a, b in windows]


@pytest.mark.spec("HP-026")
def test_every_read_gives_its_rows_once_and_its_last_cursor(spark: Any, opened: Open, tmp_path: Path) -> None:
    with opened() as source:
        rows = source_rows(spark, source.task, numbers_table(source), reads((0, 10), (100, 103), (7, 7)))
        rows.frame.write.parquet(str(tmp_path / "out"))
        outcomes = rows.outcomes()

    written = pq.read_table(tmp_path / "out").sort_by("_position").to_pydict()
    assert written["n"] == [*range(10), 100, 101, 102]
    assert written["name"] == [f"number {n}" for n in written["n"]]
    assert [at.microsecond for at in written["at"]] == written["n"]
    assert written["_position"] == [*range(10), *range(1 << 40, (1 << 40) + 3)]
    assert [outcome.rows for outcome in outcomes] == [10, 3, 0]
    # A read without rows has a cursor all the same.
    assert [outcome.cursor for outcome in outcomes] == [{"through": 10}, {"through": 103}, {"through": 7}]


@pytest.mark.spec("HP-027")
def test_landed_rows_are_what_was_read_and_sinks_tell_what_became_of_them(
    spark: Any, opened: Open, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    wanted = reads((0, 10), (100, 103), (7, 7))
    with opened() as source:
        landed = land(spark, source.task, numbers_table(source), wanted, ParquetSinks(folders))

    assert [each.rows for each in landed] == [10, 3, 0]
    assert [each.cursor for each in landed] == [{"through": 10}, {"through": 103}, {"through": 7}]
    assert [each.report for each in landed] == [
        *(str(path) for path in sorted(tmp_path.rglob("*.parquet"))),
        "",
    ]
    assert pq.read_table(folders[0]).column("n").to_pylist() == list(range(10))
    assert not folders[2].exists()


def test_both_ways_give_the_same_rows_and_types(spark: Any, opened: Open, tmp_path: Path) -> None:
    with opened() as source:
        table = numbers_table(source)
        through_spark = source_rows(spark, source.task, table, reads((0, 9)))
        through_spark.frame.drop("_position").write.parquet(str(tmp_path / "spark"))
        land(spark, source.task, table, reads((0, 9)), ParquetSinks([tmp_path / "landed"]))

    first, second = (spark.read.parquet(str(tmp_path / name)) for name in ("spark", "landed"))
    assert first.schema == second.schema
    assert sorted(first.collect()) == sorted(second.collect())


def test_a_typed_error_arrives_as_it_was_raised(spark: Any, opened: Open, tmp_path: Path) -> None:
    with opened(fails="limit") as source:
        rows = source_rows(spark, source.task, numbers_table(source), reads((0, 10)))
        with pytest.raises(PySparkException) as caught:
            rows.frame.write.parquet(str(tmp_path / "out"))

    error = failure_in(str(caught.value))
    assert isinstance(error, RateLimited)
    assert error.seconds == 17
    assert error.retryable
    assert str(error) == "the source wants a rest"


def test_a_fault_of_the_connector_is_told_with_its_line_and_without_secrets(spark: Any, opened: Open) -> None:
    with opened(fails="secret") as source:
        rows = source_rows(spark, source.task, numbers_table(source), reads((0, 10)))
        with pytest.raises(PySparkException) as caught:
            rows.frame.collect()

    error = failure_in(str(caught.value))
    assert isinstance(error, ConnectorFailed)
    assert str(error) == "connector `numbers` failed: ValueError: no way in with ***"
    assert error.places == (line_of("no way in with"),)
    assert MARK not in str(caught.value)
    assert error.__notes__[0].endswith("\nValueError: no way in with ***")
