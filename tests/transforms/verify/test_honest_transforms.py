"""What authors write every day is allowed."""

from __future__ import annotations

import pytest
from google.protobuf import json_format
from tests.support.honest_transforms import INPUTS, STEPS
from tests.support.plans import plan_of, table

from hakiri.transforms.verify import PlanRefused, read_plan, verify_plan
from hakiri.transforms.walking import named_tables

from pyspark.sql import functions as F  # isort: skip - the client is loaded by tests.support.plans


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("what", STEPS)
def test_an_honest_transform_is_allowed_also_when_it_was_stored(what: str) -> None:
    plan = plan_of(STEPS[what](table()))

    stored = read_plan(json_format.MessageToDict(plan))

    assert stored == plan
    assert verify_plan(stored, inputs=INPUTS) is None


def test_forty_steps_in_a_row_are_allowed() -> None:
    frame = table()
    for number in range(40):
        frame = frame.withColumn(f"c{number}", F.col("a") + number).where(F.col("a") > number)

    assert verify_plan(plan_of(frame), inputs=("input",)) is None


def test_every_table_of_a_plan_is_found_also_in_joins_and_subqueries() -> None:
    plan = plan_of(table("b").join(table("a"), "id").union(table("b")).where(table("c").exists()))

    names = [leaf.read.named_table.unparsed_identifier for leaf in named_tables(plan)]

    assert sorted(names) == ["a", "b", "b", "c"]
    assert verify_plan(plan, inputs=set(names)) is None
    for name in names:
        with pytest.raises(PlanRefused, match=f"`{name}`"):
            verify_plan(plan, inputs=set(names) - {name})
