from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.clock import SystemClock
from hakiri.core.errors import Place
from hakiri.core.secrets import MissingSecret
from hakiri.manifest import Project, UnknownPipeline, load_project
from hakiri.pipelines import Preview, preview_rows, ready_to_preview
from hakiri.pipelines.errors import NoSuchTable
from hakiri.sources.errors import BadRecord, BadSourceConfig, NoFiles
from hakiri.transforms.errors import BrokenTransform, TransformFailed

MANIFEST = """\
[project]
name = "shop"

[[pipeline]]
id = "orders"
source = { connector = "files", config = { path = "data/*.csv" } }
tables = ["orders"]
"""
ORDERS = "id,n\n1,10\n2,20\n3,30\n"
HEAD = 'import hakiri as hk\nfrom pyspark.sql import functions as F\n\n\n@hk.pipeline("orders")\n'

Load = Callable[..., Project]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A project over three orders, with this text as its only transform and these lines in its pipeline."""

    def load_project_with(transform: str = "", *, more: str = "", data: str = ORDERS) -> Project:
        (tmp_path / "hakiri.toml").write_text(MANIFEST + more)
        for folder, name, text in (("data", "a.csv", data), ("transforms", "orders.py", transform)):
            if text:
                (tmp_path / folder).mkdir()
                (tmp_path / folder / name).write_text(text)
        return load_project(tmp_path)

    return load_project_with


def ready(
    project: Project,
    env: dict[str, str] | None = None,
    *,
    pipeline: str = "orders",
    table: str | None = None,
) -> Any:
    return ready_to_preview(project, pipeline, table=table, env=env or {}, clock=SystemClock())


def look(spark: Any, project: Project, *, rows: int = 10) -> Preview:
    with ready(project) as prospect:
        return preview_rows(spark, prospect, rows=rows, find_files=lambda _: None)


def test_what_can_be_checked_without_spark_is_ready(load: Load) -> None:
    project = load(more='secrets = ["SHOP_TOKEN"]\n')

    with ready(project, {"SHOP_TOKEN": "x"}) as prospect:
        assert prospect.spec is project.pipeline("orders")
        assert prospect.table.schema.names == ["id", "n"]
        assert prospect.plans == ()


def test_a_table_that_is_not_pulled_is_told_with_the_nearest(load: Load) -> None:
    with pytest.raises(NoSuchTable) as refused, ready(load(), table="order"):
        pass

    assert refused.value.hint == "did you mean `orders`?"


@pytest.mark.spec("HP-010")
def test_a_missing_secret_is_told_before_anything_is_read(load: Load) -> None:
    project = load(more='secrets = ["SHOP_TOKEN", "SHOP_USER"]\n', data="")  # nor is there a file to read

    with pytest.raises(MissingSecret) as refused, ready(project, {"SHOP_TOKEN": ""}):
        pass

    assert str(refused.value) == (
        "secrets `SHOP_TOKEN`, `SHOP_USER` are not set in the environment, wanted by pipeline `orders`"
    )


def test_an_unknown_pipeline_is_told_with_the_nearest_before_spark(load: Load) -> None:
    with pytest.raises(UnknownPipeline) as refused, ready(load(), pipeline="ordres"):
        pass

    assert refused.value.hint == "did you mean `orders`?"


def test_errors_of_the_source_name_the_pipelines_place(load: Load) -> None:
    with pytest.raises(NoFiles) as no_files, ready(load(data="")):
        pass

    assert no_files.value.places == (Place("hakiri.toml", 4),)


def test_errors_of_the_config_name_the_pipelines_place(load: Load, tmp_path: Path) -> None:
    load()
    (tmp_path / "hakiri.toml").write_text(MANIFEST.replace("path =", "paht ="))

    with pytest.raises(BadSourceConfig) as bad_config, ready(load_project(tmp_path)):
        pass

    assert bad_config.value.places == (Place("hakiri.toml", 4),)
    assert bad_config.value.hint == "did you mean `path`?"


@pytest.mark.spark
def test_a_pipeline_without_a_transform_shows_its_source(spark: Any, load: Load) -> None:
    assert look(spark, load()) == Preview(
        table="orders",
        columns=(("id", "bigint"), ("n", "bigint")),
        rows=((1, 10), (2, 20), (3, 30)),
        steps=(),
    )


@pytest.mark.spark
def test_rows_go_through_the_transform(spark: Any, load: Load) -> None:
    project = load(
        HEAD + "def orders(df):\n    return df.where('id > 1').select((F.col('n') / 4).alias('quarter'))\n"
    )

    assert look(spark, project) == Preview(
        table="orders",
        columns=(("quarter", "double"),),
        rows=((5.0,), (7.5,)),
        steps=("transforms/orders.py:5",),
    )


@pytest.mark.spark
def test_no_more_rows_come_than_were_asked_for(spark: Any, load: Load) -> None:
    assert look(spark, load(), rows=2).rows == ((1, 10), (2, 20))


@pytest.mark.spark
def test_every_type_arrives_as_a_value_of_python(spark: Any, load: Load) -> None:
    project = load(
        HEAD + "def orders(df):\n"
        "    return df.limit(1).selectExpr(\n"
        "        'CAST(1.5 AS DECIMAL(5,2)) AS decimal', \"TIMESTAMP'2026-01-31 08:00:00' AS at\",\n"
        "        \"TIMESTAMP_NTZ'2026-01-31 08:00:00' AS local\", \"DATE'2026-01-31' AS day\",\n"
        "        \"X'00FF' AS bytes\", \"map('a', 1, 'b', null) AS map\",\n"
        "        \"named_struct('x', array(1, null)) AS struct\", \"INTERVAL '1' DAY AS length\",\n"
        "        'CAST(null AS STRING) AS nothing')\n"
    )

    [row] = look(spark, project).rows

    assert row == (
        Decimal("1.50"),
        datetime(2026, 1, 31, 8, tzinfo=UTC),
        datetime(2026, 1, 31, 8),  # noqa: DTZ001 - a time without a zone is what the column holds
        date(2026, 1, 31),
        b"\x00\xff",
        {"a": 1, "b": None},
        {"x": [1, None]},
        timedelta(days=1),
        None,
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("    return df.select('nosuch')\n", 7, "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, "),
        ("    return df.select(F.col('n') / 0)\n", 7, "[DIVIDE_BY_ZERO] Division by zero. "),
        ("    raise ValueError('no')\n", 7, "ValueError: no"),
        ("    return df.select('id', 'n', F.lit(1).alias('ID'))\n", 5, "it gives the column `id` more than"),
    ],
)
def test_a_transform_that_fails_is_told_with_the_authors_line(
    spark: Any, load: Load, body: str, line: int, problem: str
) -> None:
    project = load(f"{HEAD}def orders(df):\n{body}")

    with pytest.raises(TransformFailed) as failed:
        look(spark, project)

    assert str(failed.value).startswith(f"the transform of pipeline `orders` failed: {problem}")
    assert failed.value.places == (Place("transforms/orders.py", line),)


@pytest.mark.spark
def test_a_broken_file_of_transforms_is_told(spark: Any, load: Load) -> None:
    with pytest.raises(BrokenTransform):
        look(spark, load("1 / 0\n"))


@pytest.mark.spark
def test_a_file_that_cannot_be_read_is_told_with_its_line(spark: Any, load: Load) -> None:
    with pytest.raises(BadRecord) as failed:
        look(spark, load(data="id,n\n1,2\n3\n"))

    assert str(failed.value) == "a row of `data/a.csv` does not fit: it has 1 field instead of 2"
    assert failed.value.places == (Place("data/a.csv", 3),)
