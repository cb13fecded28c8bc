"""From JSON to a plan: whatever the JSON holds, there is a plan or a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from tests.support.plans import plan_of, proto, read_of, table

from hakiri.transforms.verify import PlanRefused, Refusal, read_plan
from hakiri.transforms.verify.limits import LARGEST_PLAN_BYTES

READ = {"read": {"namedTable": {"unparsedIdentifier": "input"}}}
KEYS = sorted(
    {field.camelcase_name for field in proto.Relation.DESCRIPTOR.fields} | {"input", "expressions", "limit"}
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)


def refusal_of(data: Any) -> Refusal:
    with pytest.raises(PlanRefused) as refused:
        read_plan(data)
    [refusal] = refused.value.refusals
    return refusal


def nested(levels: int) -> dict[str, Any]:
    plan: dict[str, Any] = READ
    for _ in range(levels):
        plan = {"limit": {"limit": 1, "input": plan}}
    return plan


def test_a_plan_comes_back_as_it_was() -> None:
    plan = plan_of(table().where("a" and table()["a"] > 1).limit(3))

    assert read_plan(json.loads(json_format.MessageToJson(plan))) == plan


def test_an_unknown_field_is_refused_with_its_path() -> None:
    refusal = refusal_of({"project": {"input": READ, "expressions": [{"literal": {"colour": 1}}]}})

    assert refusal.path == "root.project.expressions[0].literal"
    assert 'has no field named "colour"' in refusal.problem
    assert refusal.hint == "run `hakiri compile` again"


@pytest.mark.parametrize(
    "data",
    [
        {"project": {"input": READ, "expressions": [{"literal": {"binary": "$$$"}}]}},
        {"project": {"input": READ, "expressions": [{"literal": {"integer": "x"}}]}},
        {"project": {"input": READ, "expressions": [{"literal": {"integer": 2**40}}]}},
        {"project": {"input": READ, "expressions": [{"literal": {"string": "\ud800"}}]}},
        {"join": {"joinType": "JOIN_TYPE_SIDEWAYS"}},
        {"read": {}, "limit": {}},
        {"limit": []},
        {"limit": {"limit": 1.5}},
        {"extension": {"@type": "type.googleapis.com/nosuch.Message"}},
        {"extension": {"@type": 7}},
        {7: {}},
        {"limit": {1, 2}},
        {"limit": object()},
    ],
)
def test_what_does_not_fit_is_refused(data: Any) -> None:
    assert refusal_of(data).problem


@pytest.mark.parametrize("data", [None, [], "x", 7, b"x"])
def test_what_is_no_object_is_refused(data: Any) -> None:
    assert refusal_of(data).problem == "the plan is not a JSON object"


@pytest.mark.parametrize("levels", [150, 1_000, 100_000])
def test_what_is_nested_too_deeply_is_refused(levels: int) -> None:
    assert "deep" in refusal_of(nested(levels)).problem


def test_a_plan_as_deep_as_allowed_is_read() -> None:
    assert read_plan(nested(95)) is not None


def test_a_list_inside_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    assert refusal_of({"project": endless}).problem == "the plan is nested too deeply"


def test_what_is_too_large_is_refused() -> None:
    assert (
        refusal_of({"sql": {"query": "x" * (4 * LARGEST_PLAN_BYTES + 1)}}).problem == "the plan is too large"
    )
    assert refusal_of({"project": {"expressions": [{}] * 2_000_001}}).problem == "the plan is too large"


def test_an_unknown_number_of_an_enum_is_left_to_the_verifier() -> None:
    plan = read_plan({"join": {"left": READ, "right": READ, "joinType": 77}})

    assert plan.join.join_type == 77
    assert plan.join.left == read_plan(READ)
    assert read_of().read == read_plan(READ).read


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(), json_values, max_size=3))
def test_no_json_does_more_than_be_refused(data: dict[str, Any]) -> None:
    try:
        plan = read_plan(data)
    except PlanRefused:
        return

    assert isinstance(plan, proto.Relation)
