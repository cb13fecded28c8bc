"""On a real server: what is hostile never gets there, and what is verified never brings it down."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import hostile_plans
from tests.support.plans import call, plan_of, proto, table
from tests.support.random_plans import random_plan, small_table

from hakiri.transforms.offline import grafted
from hakiri.transforms.verify import PlanRefused, verify_plan
from hakiri.transforms.verify.functions import ALLOWED_FUNCTIONS
from hakiri.transforms.verify.refused_functions import REFUSED_FUNCTIONS

from pyspark.errors import PySparkException  # isort: skip - the client is loaded by tests.support.plans
from pyspark.sql import functions as F

pytestmark = pytest.mark.spark

# Operators that `SHOW FUNCTIONS` lists and that no call by name finds.
NOT_CALLED = {"!=", "<>", "||", "case", "cast"}
MARKER = "hakiri.test.marker"


def run_verified(spark: Any, plan: proto.Relation) -> list[Any]:
    """What the product does with a plan: verify it, and only then send it."""
    verify_plan(plan, inputs=("input",))
    return list(grafted(plan, {"input": small_table(spark)}).collect())


def system_property(spark: Any) -> Any:
    return spark.sql(f"SELECT java_method('java.lang.System', 'getProperty', '{MARKER}')").first()[0]


def set_property(value: str) -> Any:
    """A column that does something outside of Spark."""
    arguments = (F.lit("java.lang.System"), F.lit("setProperty"), F.lit(MARKER), F.lit(value))
    return F.call_function("`java_method`", *arguments)


@pytest.mark.spec("HP-091")
def test_a_call_of_java_does_what_it_says_only_where_nobody_verifies(spark: Any) -> None:
    spark.range(1).select(set_property("unverified")).collect()
    with pytest.raises(PlanRefused):
        run_verified(spark, plan_of(table().select(set_property("verified"))))

    assert system_property(spark) == "unverified"


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("plans", [hostile_plans.REFUSED_RELATIONS, hostile_plans.REFUSED_EXPRESSIONS])
def test_nothing_of_a_hostile_plan_is_sent(spark: Any, plans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    client = type(spark.client)
    for name in ("_execute_and_fetch", "_execute_and_fetch_as_iterator", "_analyze", "execute_command"):
        monkeypatch.setattr(client, name, lambda *_args, name=name, **_words: sent.append(name))

    for make in plans.values():
        with pytest.raises(PlanRefused):
            run_verified(spark, make())

    assert sent == []


def test_every_function_of_the_server_is_decided(spark: Any) -> None:
    listed = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}

    assert listed - ALLOWED_FUNCTIONS - REFUSED_FUNCTIONS.keys() - NOT_CALLED == set()
    assert listed & NOT_CALLED & ALLOWED_FUNCTIONS == set()


def test_every_allowed_function_is_one_of_the_server(spark: Any) -> None:
    unknown = []
    for name in sorted(ALLOWED_FUNCTIONS):
        try:
            _ = spark.range(1).select(call(name)).schema
        except PySparkException as error:
            if error.getCondition() == "UNRESOLVED_ROUTINE":
                unknown.append(name)

    assert unknown == []


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (F.repeat(F.lit("*"), F.length("s") - 3), "**"),
        (F.size(F.sequence(F.lit(-5), F.greatest(F.least("n", F.lit(9)), F.lit(-5)))), 3),
        (F.from_json("raw", "a int, b array<string>").getField("a"), 0),
        (F.hll_sketch_estimate(F.hll_sketch_agg("id", 12)), 12),
    ],
)
def test_what_is_verified_runs(spark: Any, column: Any, row: Any) -> None:
    rows = run_verified(spark, plan_of(table().select(column)))

    assert rows[0][0] == row


@pytest.mark.spec("HP-091")
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**64 - 1))
def test_a_verified_plan_gives_rows_or_an_ordinary_error_and_the_server_stays(spark: Any, seed: int) -> None:
    plan = random_plan(Random(seed))

    try:
        rows = run_verified(spark, plan)
    except (PlanRefused, PySparkException):
        rows = []

    assert len(rows) < 1_000_000
    assert spark.range(1).count() == 1
