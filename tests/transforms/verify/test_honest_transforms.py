"""What authors write every day is allowed."""

from __future__ import annotations

import pytest
from google.protobuf import json_format
from tests.support.honest_transforms import INPUTS, STEPS
from tests.support.plans import plan_of, table

from hakiri.transforms.verify import plan_tables, read_plan, verify_plan

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


def test_the_tables_of_a_plan_are_named_once_and_in_order() -> None:
    plan = plan_of(table("b").join(table("a"), "id").union(table("b")).where(table("c").exists()))

    assert plan_tables(plan) == ("a", "b", "c")
