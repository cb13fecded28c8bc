"""Running the author's steps on Spark, and what is said when they fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.errors import ExitCode
from hakiri.transforms import failed_step, load_transforms, run_steps
from hakiri.transforms.errors import TransformFailed

pytestmark = pytest.mark.spark

HEAD = 'import hakiri as hk\nfrom pyspark.sql import functions as F\n\n\n@hk.pipeline("orders")\n'

UNRESOLVED = (
    "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name "
    "`nosuch` cannot be resolved. Did you mean one of the following? [`id`]. SQLSTATE: 42703"
)
DIVIDED = (
    "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return "
    'NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. '
    "SQLSTATE: 22012"
)
FAILING_UDF = (
    "    def check(n):\n        raise ValueError('no such customer')\n\n"
    "    return df.select(F.udf(check, 'bigint')('id'))\n"
)

Through = Callable[..., Any]


@pytest.fixture
def through(spark: Any, tmp_path: Path) -> Through:
    """Two rows, `id` 0 and 1, through the steps of these files, as Spark's DataFrame."""

    def run(**texts: str) -> Any:
        (tmp_path / "transforms").mkdir()
        for name, text in texts.items():
            (tmp_path / "transforms" / f"{name}.py").write_text(text)
        return run_steps(spark.range(2), load_transforms(tmp_path, ["orders"]), tmp_path)

    return run


def rows_of(frame: Any) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.orderBy("id").collect()]


def test_steps_run_one_after_the_other(through: Through) -> None:
    frame = through(
        a=HEAD + "def add(df):\n    return df.select('id', (F.col('id') + 1).alias('n'))\n",
        b=HEAD + "def times(df):\n    return df.select('id', (F.col('n') * 10).alias('n'))\n",
    )

    assert rows_of(frame) == [{"id": 0, "n": 10}, {"id": 1, "n": 20}]


def test_a_udf_runs_with_the_helper_it_calls_though_tasks_have_no_such_files(through: Through) -> None:
    frame = through(
        helpers="BY = 3\n\n\ndef times(n):\n    return n * BY\n",
        orders="from helpers import times\n"
        + HEAD
        + "def orders(df):\n    tripled = F.udf(lambda n: times(n), 'bigint')\n"
        "    return df.select('id', tripled('id').alias('n'))\n",
    )

    assert rows_of(frame) == [{"id": 0, "n": 0}, {"id": 1, "n": 3}]


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("    return {}['total']\n", 7, "KeyError: 'total'"),
        ("    raise ValueError('no such\\ncustomer')\n", 7, "ValueError: no such"),
        ("    import no_such_module\n", 7, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("    df.limit(1)\n", 5, "it returned NoneType and not a DataFrame"),
        ("    return df.collect()\n", 5, "it returned list and not a DataFrame"),
        (
            "    names = df.select('nosuch').columns\n    return df.select(names)\n",
            7,
            UNRESOLVED,
        ),
        (
            "    return df.select(F.col('id').cast(5))\n",
            7,
            "[NOT_EXPECTED_TYPE] Argument `dataType` should be DataType or str, got int",
        ),
    ],
)
def test_an_exception_in_a_step_is_told_with_the_authors_line(
    through: Through, body: str, line: int, problem: str
) -> None:
    with pytest.raises(TransformFailed) as failed:
        through(orders=f"{HEAD}def orders(df):\n{body}")

    assert str(failed.value) == f"the transform of pipeline `orders` failed: {problem}"
    assert [str(place) for place in failed.value.places] == [f"transforms/orders.py:{line}"]
    assert failed.value.hint == "mend that line; --verbose shows the whole traceback"
    assert failed.value.exit_code is ExitCode.FAILED


def test_an_exception_in_a_helper_is_told_with_the_helpers_line(through: Through) -> None:
    with pytest.raises(TransformFailed) as failed:
        through(
            helpers="def halve(n):\n    return n / 0\n",
            orders=f"from helpers import halve\n{HEAD}def orders(df):\n    return df.limit(halve(4))\n",
        )

    assert [str(place) for place in failed.value.places] == ["transforms/helpers.py:2"]


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        (
            "    wanted = F.col('nosuch')\n    return df.select(\n        'id',\n        wanted,\n    )\n",
            7,
            UNRESOLVED,
        ),
        (
            "    return df.select(\n        'id',\n        (F.col('id') / 0).alias('n'),\n    )\n",
            9,
            DIVIDED,
        ),
        (
            FAILING_UDF,
            8,
            "ValueError: no such customer",
        ),
    ],
)
def test_an_error_that_spark_finds_later_is_traced_to_the_authors_line(
    through: Through, tmp_path: Path, body: str, line: int, problem: str
) -> None:
    from pyspark.errors import PySparkException

    frame = through(orders=f"{HEAD}def orders(df):\n{body}")

    with pytest.raises(PySparkException) as refused:
        frame.collect()
    failed = failed_step(refused.value, "orders", tmp_path)

    assert failed is not None
    assert str(failed) == f"the transform of pipeline `orders` failed: {problem}"
    assert [str(place) for place in failed.places] == [f"transforms/orders.py:{line}"]


def test_an_error_that_is_not_the_authors_is_left_alone(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as refused:
        spark.sql("SELECT nosuch FROM range(1)").collect()

    assert failed_step(refused.value, "orders", tmp_path) is None
