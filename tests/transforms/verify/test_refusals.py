"""Each kind of thing that a plan may not hold is refused, with the path to it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.hostile_plans import INPUTS, REFUSED_EXPRESSIONS, REFUSED_RELATIONS, relation, text
from tests.support.plans import plan_of, proto, read_of, table

from hakiri.core.errors import ExitCode
from hakiri.transforms.verify import PlanRefused, Refusal, limits, verify_plan

from pyspark.sql import functions as F  # isort: skip - the client is loaded by tests.support.plans


def refusals_of(plan: proto.Relation) -> tuple[Refusal, ...]:
    with pytest.raises(PlanRefused) as refused:
        verify_plan(plan, inputs=INPUTS)
    return refused.value.refusals


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("path", REFUSED_RELATIONS)
def test_a_relation_outside_the_allow_list_is_refused_with_its_path(path: str) -> None:
    refusals = refusals_of(REFUSED_RELATIONS[path]())

    assert [refusal.path for refusal in refusals] == [path]
    assert all(refusal.problem and refusal.hint for refusal in refusals)


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("path", REFUSED_EXPRESSIONS)
def test_an_expression_outside_the_allow_list_is_refused_with_its_path(path: str) -> None:
    refusals = refusals_of(REFUSED_EXPRESSIONS[path]())

    assert [refusal.path for refusal in refusals] == [f"root.project.expressions[0].{path}"]
    assert all(refusal.problem and refusal.hint for refusal in refusals)


PLACES: dict[str, Callable[[Any], Any]] = {
    "filter.condition.unresolved_function(>).arguments[0]": lambda hostile: table().where(hostile > 1),
    "project.expressions[1].unresolved_function(array).arguments[0]": lambda hostile: table().select(
        "a", F.array(hostile)
    ),
    "limit.input.sort.order[0].child": lambda hostile: table().orderBy(hostile).limit(1),
    "aggregate.aggregate_expressions[0].unresolved_function(sum).arguments[0]": lambda hostile: (
        table().groupBy("a").agg(F.sum(hostile))
    ),
    "with_columns.aliases[0].expr": lambda hostile: table().withColumn("x", hostile),
    "project.expressions[0].unresolved_function(filter).arguments[1].lambda_function.function": (
        lambda hostile: table().select(F.filter("a", lambda _: hostile))
    ),
    "with_relations.references[0].filter.condition": lambda hostile: table().where(
        table("countries").where(hostile).exists()
    ),
    "join.right.filter.condition": lambda hostile: table().join(table("countries").where(hostile), "a"),
}


@pytest.mark.parametrize("path", PLACES)
def test_a_call_of_java_is_found_wherever_it_stands(path: str) -> None:
    hostile = F.call_function("java_method", F.lit("java.lang.Runtime"), F.lit("getRuntime"))

    refusals = refusals_of(plan_of(PLACES[path](hostile)))

    assert [refusal.path for refusal in refusals] == [f"root.{path}.call_function(java_method)"]


@pytest.mark.parametrize("name", ["current_date", "CURRENT_TIMESTAMP", "`current_user`", "localtimestamp"])
def test_a_name_that_spark_would_take_for_a_call_is_refused(name: str) -> None:
    [refusal] = refusals_of(plan_of(table().select(F.col(name))))

    assert refusal.path == "root.project.expressions[0].unresolved_attribute"
    assert "if it is a column, write `df[" in refusal.hint


def test_fields_that_only_bytes_can_hold_are_refused() -> None:
    plan = read_of()
    plan.common.MergeFromString(b"\xfa\x01\x03abc")

    assert [refusal.path for refusal in refusals_of(plan)] == ["root.common"]


def test_a_subquery_that_holds_itself_is_refused() -> None:
    itself = proto.Expression(subquery_expression=proto.SubqueryExpression(plan_id=1, subquery_type=2))
    inner = relation(common={"plan_id": 1}, filter=proto.Filter(input=read_of(), condition=itself))
    plan = relation(with_relations=proto.WithRelations(root=read_of(), references=[inner]))

    assert [refusal.path for refusal in refusals_of(plan)] == [
        "root.with_relations.references[0].filter.condition.subquery_expression.plan_id"
    ]


def test_two_subqueries_of_one_id_must_say_the_same() -> None:
    other = plan_of(table().limit(1))
    other.common.plan_id = 1
    one = read_of()
    one.common.plan_id = 1
    plan = relation(with_relations=proto.WithRelations(root=read_of(), references=[one, other]))

    assert [refusal.path for refusal in refusals_of(plan)] == ["root.with_relations.references[1]"]


def test_a_plan_that_is_too_deep_is_refused() -> None:
    frame = table()
    for _ in range(limits.DEEPEST_PLAN // 2):
        frame = frame.limit(1)

    [refusal] = refusals_of(plan_of(frame))

    assert refusal.problem == "the plan is more than 200 levels deep"


def test_a_plan_of_too_many_nodes_is_refused() -> None:
    many = [proto.Expression(literal={"boolean": True})] * (limits.MOST_NODES // 2 + 1)

    refusals = refusals_of(relation(project=proto.Project(input=read_of(), expressions=many)))

    assert [refusal.problem for refusal in refusals] == ["the plan has more than 100000 nodes"]


def test_a_plan_of_too_many_bytes_is_refused() -> None:
    many = [text("x" * 90_000)] * 100

    refusals = refusals_of(relation(project=proto.Project(input=read_of(), expressions=many)))

    assert [refusal.problem for refusal in refusals] == ["the plan is larger than 8388608 bytes"]


def test_an_unknown_function_is_refused_with_the_one_that_was_meant() -> None:
    [refusal] = refusals_of(plan_of(table().select(F.call_function("uper", "a"))))

    assert refusal == Refusal(
        "root.project.expressions[0].call_function(uper)",
        "the function `uper` is not known",
        "did you mean `upper`?",
    )


def test_an_unknown_table_is_refused_with_the_one_that_was_meant() -> None:
    [refusal] = refusals_of(read_of("country"))

    assert refusal.problem == "table `country` is not among the declared inputs"
    assert refusal.hint == "did you mean `countries`?"


def test_all_refusals_are_carried_and_the_first_five_are_told() -> None:
    plan = plan_of(table().select(*[F.rand(n) for n in range(7)]))

    with pytest.raises(PlanRefused) as refused:
        verify_plan(plan, inputs=INPUTS)

    assert len(refused.value.refusals) == 7
    assert str(refused.value) == (
        "the plan of the transform is refused: "
        + "; ".join(
            f"root.project.expressions[{n}].unresolved_function(rand): "
            "`rand` gives another value when a chunk is read again"
            for n in range(5)
        )
        + "; and 2 more"
    )
    assert refused.value.hint == (
        "derive the value from columns of the row, as in `F.sha2('id', 256)` or `F.xxhash64('id')`"
    )
    assert refused.value.code == "transforms.refused"
    assert refused.value.exit_code is ExitCode.USAGE


def test_a_refusal_survives_the_way_from_another_process() -> None:
    with pytest.raises(PlanRefused) as refused:
        verify_plan(relation(), inputs=INPUTS)

    again = pickle.loads(pickle.dumps(refused.value))

    assert again.refusals == refused.value.refusals
    assert str(again) == str(refused.value)


def test_a_name_from_a_plan_is_shown_short_and_without_what_a_terminal_obeys() -> None:
    [refusal] = refusals_of(plan_of(table().select(F.call_function("\x1b[2Jx" + "y" * 500))))

    assert refusal.path == f"root.project.expressions[0].call_function(?[2Jx{'y' * 35}…)"
