"""Functions that could make much of little: what is within limits and what is not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.plans import call, plan_of, table

from hakiri.transforms.verify import PlanRefused, verify_plan
from hakiri.transforms.verify.refused_functions import REFUSED_FUNCTIONS

from pyspark.sql import functions as F  # isort: skip - the client is loaded by tests.support.plans

EVIL_JSON = (
    '{"type":"struct","fields":[{"name":"a","type":"string","nullable":true,'
    '"metadata":{"EXISTS_DEFAULT":"java_method()"}}]}'
)
TWICE = EVIL_JSON.replace('"metadata":{', '"metadata":{},"metadata":{')
HOUR = F.lit(dt.timedelta(hours=1))


def problems_of(*columns: Any) -> list[str]:
    try:
        verify_plan(plan_of(table().select(*columns)), inputs=("input",))
    except PlanRefused as refused:
        return [refusal.problem for refusal in refused.refusals]
    return []


def lit_call(name: str, *values: Any) -> Any:
    return call(name, *(value if hasattr(value, "_expr") else F.lit(value) for value in values))


WITHIN: dict[str, Callable[[], Any]] = {
    "repeat by a small number": lambda: F.repeat("a", 100),
    "repeat by a limited column": lambda: F.repeat("a", F.least("n", F.lit(50))),
    "repeat a letter by a length": lambda: F.repeat(F.lit("*"), F.length("a") - 4),
    "pad to a limited column": lambda: F.lpad("a", F.least("n", F.lit(9)), F.lit("0")),
    "pad to the length of another": lambda: F.rpad("a", F.length("b") + 2, F.lit(" ")),
    "a format of its own": lambda: F.format_string("%-20s|%08.3f|%%|%2$s", "a", "b"),
    "numbers between literals": lambda: F.sequence(F.lit(0), F.lit(99_999)),
    "numbers by a wide step": lambda: F.sequence(F.lit(0), F.lit(10_000_000), F.lit(1000)),
    "numbers down": lambda: F.sequence(F.lit(10), F.lit(0), F.lit(-1)),
    "numbers to a limited column": lambda: F.sequence(F.lit(1), F.least("n", F.lit(100)), F.lit(1)),
    "numbers between limited columns": lambda: F.sequence(
        F.lit(1), F.greatest(F.least("n", F.lit(100)), F.lit(1))
    ),
    "numbers up to a size": lambda: F.sequence(F.lit(0), F.size("a") - 1, F.lit(1)),
    "numbers up to a remainder": lambda: F.sequence(F.lit(0), F.pmod("n", F.lit(10))),
    "dates by literal days": lambda: F.sequence("a", "b", F.lit(dt.timedelta(days=-7))),
    "times by a day of Spark's own": lambda: F.sequence(F.col("a").cast("timestamp"), "b"),
    "a place near the front": lambda: F.array_insert("a", -3, F.lit(1)),
    "a value set in a variant": lambda: lit_call("variant_set", F.parse_json("a"), "$.a[3]['b c']", 1),
    "rounding to thousands": lambda: F.round("n", -3),
    "a window in its place": lambda: F.window("at", "1 day 12 hours", "6 hours", "30 minutes"),
}
BEYOND: dict[str, Callable[[], Any]] = {
    "repeat by a column": lambda: F.repeat("a", F.col("n")),
    "repeat by a large number": lambda: F.repeat("a", 10_001),
    "repeat by a length": lambda: F.repeat("a", F.length("a")),
    "repeat by a column that may pass its limit": lambda: F.repeat("a", F.greatest("n", F.lit(50))),
    "repeat by what can be NULL": lambda: F.repeat("a", F.least("n", F.col("m"))),
    "repeat with arguments from a star": lambda: call("repeat", F.col("*")),
    "repeat with arguments from a pattern": lambda: call("repeat", table().colRegex("`.*`")),
    "a list of a column's length": lambda: F.array_repeat(F.col("a"), F.col("n")),
    "spaces by a column": lambda: call("space", F.col("n")),
    "pad to a column": lambda: F.lpad("a", F.col("n"), F.lit("0")),
    "pad far": lambda: F.rpad("a", 2_000_000_000, "0"),
    "a wide format": lambda: F.format_string("%2000000000d", "n"),
    "a precise format": lambda: F.format_string("%.2000000000f", "n"),
    "a format from a column": lambda: call("printf", F.col("f"), F.col("n")),
    "many digits": lambda: F.format_number("n", 2_000_000_000),
    "rounding to many digits": lambda: F.round("n", 2_000_000_000),
    "rounding up to many digits": lambda: F.ceil("n", F.lit(2_000_000_000)),
    "numbers to a column": lambda: F.sequence(F.lit(1), F.col("n")),
    "numbers to a column that is limited above only": lambda: F.sequence(F.lit(1), F.least("n", F.lit(100))),
    "numbers by a step from a column": lambda: F.sequence(F.lit(1), F.lit(10), F.col("n")),
    "too many numbers": lambda: F.sequence(F.lit(1), F.lit(1_000_000)),
    "hours between columns": lambda: F.sequence("a", "b", HOUR),
    "no step between columns": lambda: F.sequence("a", "b"),
    "a far place": lambda: F.array_insert("a", 2_000_000_000, F.lit(1)),
    "a far place before": lambda: F.array_insert("a", -2_000_000_000, F.lit(1)),
    "a far place in a variant": lambda: lit_call("variant_set", F.parse_json("a"), "$[2000000000]", 1),
    "a path from a column": lambda: call("variant_insert", F.parse_json("a"), F.col("p"), F.lit(1)),
    "many rows of one": lambda: F.stack(F.lit(1_000_000_000), F.col("a")),
    "many windows": lambda: F.window("at", "10 days", "1 second"),
    "windows of a text that is none": lambda: F.window("at", "10 d", "1 second"),
    "windows by a column": lambda: call("window", F.col("at"), F.col("w"), F.col("s")),
    "a very precise count": lambda: F.approx_count_distinct("a", 0.001),
    "a precision from a column": lambda: call("approx_count_distinct", F.col("a"), F.col("p")),
    "a large sketch": lambda: F.count_min_sketch("a", F.lit(1e-9), F.lit(0.5), F.lit(1)),
    "a very sure sketch": lambda: F.count_min_sketch("a", F.lit(0.1), F.lit(1.0), F.lit(1)),
    "a wide sketch": lambda: F.theta_sketch_agg("a", 26),
    "many bins": lambda: F.histogram_numeric("a", F.lit(1_000_000_000)),
    "a sketch from a column": lambda: F.hll_sketch_estimate("a"),
    "a sketch from bytes": lambda: F.hll_sketch_estimate(F.lit(b"\x00\x01")),
    "the time of the clock": F.unix_timestamp,
    "a schema from a column": lambda: F.from_json("a", F.col("s")),
    "a schema that is put together": lambda: F.from_json("a", F.concat(F.lit("a "), F.lit("int"))),
    "a schema with a default": lambda: F.from_json("a", "a string default java_method('a', 'b')"),
    "a schema with a default in JSON": lambda: F.from_json("a", EVIL_JSON),
    "a schema with a key twice": lambda: F.from_json("a", TWICE),
    "a schema of a column": lambda: F.from_json("a", F.schema_of_json(F.col("a"))),
    "a schema of CSV with a default": lambda: F.from_csv("a", "a string default 'x'"),
    "an option about memory": lambda: F.from_csv("a", "a string", {"maxColumns": "2000000000"}),
    "options from a column": lambda: call("to_json", F.col("a"), F.col("o")),
    "a variant's type from a column": lambda: call("variant_get", F.col("a"), F.lit("$"), F.col("t")),
    "a variant's type that is none": lambda: F.variant_get("a", "$", "int) --"),
    "repeats inside each other": lambda: F.repeat(F.repeat(F.repeat("a", 1000), 1000), 1000),
    "rows of rows of rows": lambda: F.explode(
        F.transform(F.sequence(F.lit(1), F.lit(10_000)), lambda x: F.sequence(F.lit(1), F.lit(10_000)))
    ),
}


@pytest.mark.parametrize("what", WITHIN)
def test_what_the_plan_keeps_small_is_allowed(what: str) -> None:
    assert problems_of(WITHIN[what]()) == []


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("what", BEYOND)
def test_what_could_take_all_memory_is_refused(what: str) -> None:
    assert problems_of(BEYOND[what]())[:1] != []


def test_growth_is_counted_over_steps() -> None:
    frame = table()
    for _ in range(3):
        frame = frame.withColumn("a", F.repeat("a", 1000))

    with pytest.raises(PlanRefused) as refused:
        verify_plan(plan_of(frame), inputs=("input",))

    assert [refusal.path for refusal in refused.value.refusals] == ["root.with_columns"]


def test_small_masks_in_many_steps_do_not_count_as_growth() -> None:
    frame = table()
    for _ in range(20):
        frame = frame.withColumn("a", F.concat(F.repeat(F.lit("*"), 12), F.col("a")))

    assert verify_plan(plan_of(frame), inputs=("input",)) is None


DOUBLED: dict[str, Callable[[Any], Any]] = {
    "concat": lambda df: df.withColumn("a", F.concat("a", "a")),
    "concat of two": lambda df: df.withColumns({"a": F.concat("a", "b"), "b": F.concat("a", "b")}),
    "list": lambda df: df.withColumn("a", F.array("a", F.col("A"))),
    "struct": lambda df: df.select(F.struct("a", F.col("a").alias("b")).alias("a")),
    "struct of fields": lambda df: df.select(F.struct("a", "a.x").alias("a")),
    "star": lambda df: df.select("*", "*"),
    "struct of stars": lambda df: df.select(F.struct("*", "*").alias("a")),
    "field": lambda df: df.withColumn("a", F.col("a").withField("x", F.col("a"))),
    "rename": lambda df: df.withColumn("b", F.concat("a", "a")).withColumnRenamed("b", "a"),
    "new names": lambda df: df.select(F.concat("a", "a")).toDF("a"),
    "format": lambda df: df.withColumn("a", F.format_string("%s%s", "a", "a")),
    "replacement": lambda df: df.withColumn("a", F.replace("a", F.lit("x"), "a")),
    "each element": lambda df: df.withColumn("a", F.transform("a", lambda x: F.array(x, x))),
    "each of each": lambda df: df.withColumn("a", F.transform("a", lambda x: F.col("a"))),
    "join": lambda df: df.join(table(), "id").withColumn("a", F.concat("a", "a")),
    "group": lambda df: df.groupBy("id").agg(F.first(F.concat("a", "a")).alias("a")),
    "choice": lambda df: df.withColumn("a", F.when(F.col("n") > 1, F.concat("a", "a")).otherwise("x")),
}


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("what", DOUBLED)
def test_a_value_that_is_made_of_itself_again_and_again_is_refused(what: str) -> None:
    frame = table()
    for _ in range(22):
        frame = DOUBLED[what](frame)

    with pytest.raises(PlanRefused):
        verify_plan(plan_of(frame), inputs=("input",))


@pytest.mark.parametrize("what", [what for what in DOUBLED if what not in ("replacement", "each of each")])
def test_a_value_that_is_made_of_itself_a_few_times_is_allowed(what: str) -> None:
    frame = DOUBLED[what](DOUBLED[what](table()))

    assert verify_plan(plan_of(frame), inputs=("input",)) is None


@pytest.mark.parametrize(
    "step",
    [
        lambda df: df.withColumn("a", F.concat("a", F.lit(","), "b")),
        lambda df: df.withColumn("n", F.col("n") + F.col("n")),
        lambda df: df.withColumn("full", F.concat("first", "last")).withColumn("all", F.struct("full", "n")),
        lambda df: df.select("*", F.concat("a", "b").alias("c")),
        lambda df: df.withColumn("a", F.coalesce("a", "b", "c")),
        lambda df: df.withColumn("a", F.regexp_replace("a", "x", "y")),
        lambda df: df.withColumn("l", F.transform("l", lambda x: F.struct(x["a"], x["b"] + F.col("n")))),
    ],
)
def test_forty_steps_that_add_a_little_are_allowed(step: Callable[[Any], Any]) -> None:
    frame = table()
    for _ in range(40):
        frame = step(frame)

    assert verify_plan(plan_of(frame), inputs=("input",)) is None


FOLDS: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "a sum": (lambda state, x: state + x, True),
    "a text": (lambda state, x: F.concat(state, F.lit(","), x), True),
    "sums in a struct": (
        lambda state, x: F.struct((state["n"] + 1).alias("n"), F.greatest(state["x"], x).alias("x")),
        True,
    ),
    "twice itself": (lambda state, x: F.concat(state, state), False),
    "twice itself in a struct": (lambda state, x: F.struct(state.alias("a"), state.alias("b")), False),
    "a field twice": (lambda state, x: F.struct(F.concat(state["a"], state["a"]).alias("a")), False),
    "fields of each other": (
        lambda state, x: F.struct(F.concat(state["a"], state["b"]).alias("a"), state["a"].alias("b")),
        False,
    ),
}


@pytest.mark.parametrize("what", FOLDS)
def test_the_state_of_a_fold_may_grow_by_each_element_and_not_by_itself(what: str) -> None:
    merge, is_allowed = FOLDS[what]

    problems = problems_of(F.aggregate("l", F.col("zero"), merge, lambda state: F.struct(state, state)))

    assert (problems == []) == is_allowed


def test_a_refused_function_says_what_to_do_instead() -> None:
    with pytest.raises(PlanRefused) as refused:
        verify_plan(plan_of(table().select(F.current_timestamp())), inputs=("input",))

    assert str(refused.value) == (
        "the plan of the transform is refused: "
        "root.project.expressions[0].unresolved_function(current_timestamp): "
        "`current_timestamp` gives another value when a chunk is read again"
    )
    assert refused.value.hint == (
        "use the column `_ingested_at` that every row of the store has, or write the date as a literal"
    )


@pytest.mark.parametrize("name", sorted(REFUSED_FUNCTIONS))
def test_a_refused_function_is_refused_in_every_spelling(name: str) -> None:
    frame = table().select(call(name), call(name.upper()), F.call_function(name))

    with pytest.raises(PlanRefused) as refused:
        verify_plan(plan_of(frame), inputs=("input",))

    assert {refusal.problem for refusal in refused.value.refusals} == {
        f"`{name}` {REFUSED_FUNCTIONS[name].problem}"
    }
    assert len(refused.value.refusals) == 3
