"""Our plans mean what Spark's own parser makes of the same text: one judge, many texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.transforms.sql.corpus import (
    BAD_EXPRESSIONS,
    BAD_QUERIES,
    EXPRESSIONS,
    QUERIES,
    TABLES,
    UNNAMED,
    lines,
)
from tests.transforms.sql.generation import random_expressions

from hakiri.transforms.sql import BadSql, query_plan

pytestmark = pytest.mark.spark

BATCH = 40
RANDOM_EXPRESSIONS = 240
QUERIES_A_TEST = 15
FAILED = "failed"
# To compile a query takes longer than to interpret it for a few rows.
FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True, slots=True)
class Judge:
    """Runs one text twice: as Spark parses it, and as we do."""

    spark: Any

    def answers(self, text: str, *, is_ordered: bool = False) -> tuple[object, object]:
        return (
            self._answer(lambda: self.spark.sql(text), is_ordered=is_ordered),
            self._answer(lambda: self.frame(text), is_ordered=is_ordered),
        )

    def frame(self, text: str) -> Any:
        from pyspark.sql.connect.dataframe import DataFrame
        from pyspark.sql.connect.plan import LogicalPlan

        relation = query_plan(text, tables=TABLES.keys())

        class Ready(LogicalPlan):
            def plan(self, session: Any) -> Any:
                return relation

        return DataFrame(Ready(None), self.spark)

    def _answer(self, frame: Callable[[], Any], *, is_ordered: bool) -> object:
        from pyspark.errors import PySparkException

        try:
            table = frame().toArrow()
        except (BadSql, PySparkException):
            return FAILED
        rows = [repr(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
        schema = [(field.name, str(field.type)) for field in table.schema]
        return schema, rows if is_ordered else sorted(rows)

    def differences(self, texts: Sequence[str]) -> Iterator[str]:
        """The expressions whose types or values differ; many are asked at once."""
        listed = ",\n".join(f"{text}\nAS c{place}" for place, text in enumerate(texts))
        spark_s, ours = self.answers(f"SELECT {listed} FROM t")
        if spark_s == ours != FAILED or (spark_s == ours and len(texts) == 1):
            return
        if len(texts) == 1:
            yield f"{texts[0]}\n    Spark: {spark_s}\n    ours:  {ours}"
            return
        middle = len(texts) // 2
        yield from self.differences(texts[:middle])
        yield from self.differences(texts[middle:])


@pytest.fixture(scope="module")
def judge(spark: Any) -> Iterator[Judge]:
    for name, text in TABLES.items():
        spark.sql(text).createOrReplaceTempView(name)
    before = {name: spark.conf.get(name) for name in FOR_FEW_ROWS}
    for name, value in FOR_FEW_ROWS.items():
        spark.conf.set(name, value)
    yield Judge(spark)
    for name, value in before.items():
        spark.conf.set(name, value)
    for name in TABLES:
        spark.catalog.dropTempView(name)


def in_parts(texts: list[str], size: int) -> list[list[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


@pytest.mark.parametrize("texts", in_parts(lines(EXPRESSIONS), BATCH), ids=lambda texts: texts[0])
def test_expressions_have_spark_s_types_and_values(judge: Judge, texts: list[str]) -> None:
    assert list(judge.differences(texts)) == []


@pytest.mark.parametrize("texts", in_parts(lines(QUERIES), QUERIES_A_TEST), ids=lambda texts: texts[0])
def test_queries_have_spark_s_columns_and_rows(judge: Judge, texts: list[str]) -> None:
    differing = []
    for text in texts:
        is_ordered = "ORDER BY" in text.rpartition(")")[2]
        spark_s, ours = judge.answers(text, is_ordered=is_ordered)
        if spark_s != ours or spark_s == FAILED:
            differing.append(f"{text}\n    Spark: {spark_s}\n    ours:  {ours}")

    assert differing == []


def test_columns_without_an_alias_have_spark_s_names(judge: Judge) -> None:
    texts = lines(UNNAMED)
    plain = [text for text in texts if text != "count(i)"]
    listed = f"SELECT {', '.join(plain)} FROM t"

    assert judge.frame(listed).columns == judge.spark.sql(listed).columns
    assert judge.frame("SELECT count(i) FROM t").columns == judge.spark.sql("SELECT count(i) FROM t").columns


def test_what_spark_refuses_is_refused(judge: Judge) -> None:
    texts = [f"SELECT {text} FROM t" for text in lines(BAD_EXPRESSIONS)] + lines(BAD_QUERIES)

    accepted = [text for text in texts if judge.answers(text) != (FAILED, FAILED)]

    assert accepted == []


def test_random_expressions_have_spark_s_types_and_values(judge: Judge) -> None:
    texts = random_expressions(RANDOM_EXPRESSIONS)

    assert [text for part in in_parts(texts, BATCH) for text in judge.differences(part)] == []
