"""Random plans: nothing but a refusal ever comes out, and what is hostile is always refused."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import hostile_plans
from tests.support.honest_transforms import INPUTS, STEPS
from tests.support.plans import plan_of, proto, table

from hakiri.transforms.verify import PlanRefused, read_plan, verify_plan
from hakiri.transforms.verify.walk import is_allowed
from hakiri.transforms.walking import named_tables

seeds = st.integers(0, 2**64 - 1)
FEW, MANY = settings(max_examples=60, deadline=None), settings(max_examples=300, deadline=None)

WORDS = [
    "",
    "input",
    "a",
    "a.b",
    ".",
    "`",
    "``",
    "*",
    "upper",
    "java_method",
    "repeat",
    "sequence",
    "transform",
    "int",
    "$[9]",
    "\x00é",
]
HONEST = [plan_of(step(table())) for step in STEPS.values()]
HOSTILE_RELATIONS = [make() for path, make in hostile_plans.REFUSED_RELATIONS.items() if path != "root"]
HOSTILE_EXPRESSIONS = [
    plan.project.expressions[0]
    for make in hostile_plans.REFUSED_EXPRESSIONS.values()
    if (plan := make()).WhichOneof("rel_type") == "project"
]


def random_message(random: Random, message: Any, depth: int, *, allowed_only: bool) -> Any:
    """Fill a message by its descriptor: any field, any value, any depth."""
    kind = message.DESCRIPTOR.full_name.removeprefix("spark.connect.")
    fields = [
        field for field in message.DESCRIPTOR.fields if not allowed_only or is_allowed(kind, field.name)
    ]
    random.shuffle(fields)
    for field in fields[: random.choice([1, 2, 3, 8])]:
        if field.message_type is not None:
            if depth > 0 and not field.message_type.GetOptions().map_entry:
                fill_inner(random, message, field, depth, allowed_only=allowed_only)
        elif field.is_repeated:
            getattr(message, field.name).extend(
                random_scalar(random, field) for _ in range(random.randrange(3))
            )
        else:
            setattr(message, field.name, random_scalar(random, field))
    return message


def fill_inner(
    random: Random, message: Any, field: FieldDescriptor, depth: int, *, allowed_only: bool
) -> None:
    inner = getattr(message, field.name)
    for _ in range(random.randrange(1, 4) if field.is_repeated else 1):
        one = inner.add() if field.is_repeated else inner
        one.SetInParent()
        random_message(random, one, depth - 1, allowed_only=allowed_only)


def random_scalar(random: Random, field: FieldDescriptor) -> Any:
    if field.type == field.TYPE_STRING:
        return random.choice(WORDS)
    if field.type == field.TYPE_BYTES:
        return random.randbytes(random.randrange(9))
    if field.type == field.TYPE_BOOL:
        return random.random() < 0.5
    if field.type in (field.TYPE_DOUBLE, field.TYPE_FLOAT):
        return random.choice([0.0, -1.5, 1e30, float("inf"), float("nan")])
    is_unsigned = field.type in (field.TYPE_UINT32, field.TYPE_UINT64)
    return random.choice([0, 1, 2, 7, 2**31 - 1] if is_unsigned else [0, 1, 2, -1, 7, 2**31 - 1, -(2**31)])


def places_in(message: Any) -> list[Any]:
    """Every relation and every expression of a plan."""
    found, ahead = [], [message]
    while ahead:
        each = ahead.pop()
        if isinstance(each, proto.Relation | proto.Expression):
            found.append(each)
        for field, value in each.ListFields():
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                ahead.extend(value if field.is_repeated else [value])
    return found


def is_refused(plan: Any) -> bool:
    try:
        verify_plan(plan, inputs=INPUTS)
    except PlanRefused:
        return True
    return False


@pytest.mark.spec("HP-091")
@MANY
@given(seeds)
def test_no_random_plan_makes_the_verifier_fail(seed: int) -> None:
    random = Random(seed)

    plan = random_message(
        random, proto.Relation(), random.choice([2, 5, 9]), allowed_only=random.random() < 0.7
    )

    assert is_refused(plan) in (True, False)
    assert isinstance(named_tables(plan), list)


@pytest.mark.spec("HP-091")
@MANY
@given(seeds)
def test_a_hostile_node_anywhere_in_an_honest_plan_is_refused(seed: int) -> None:
    random = Random(seed)
    plan = proto.Relation()
    plan.CopyFrom(random.choice(HONEST))
    place = random.choice(places_in(plan))

    place.CopyFrom(
        random.choice(HOSTILE_RELATIONS if isinstance(place, proto.Relation) else HOSTILE_EXPRESSIONS)
    )

    assert is_refused(plan)


@MANY
@given(seeds)
def test_an_honest_plan_with_a_broken_part_is_refused_or_allowed_but_never_an_error(seed: int) -> None:
    random = Random(seed)
    plan = proto.Relation()
    plan.CopyFrom(random.choice(HONEST))

    random_message(random, random.choice(places_in(plan)), 3, allowed_only=True)

    assert is_refused(plan) in (True, False)


@MANY
@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_bytes_that_are_a_plan_by_chance_are_no_error(noise: bytes, at: int) -> None:
    honest = HONEST[at % len(HONEST)].SerializeToString()
    cut = at % (len(honest) + 1)
    try:
        plan = proto.Relation.FromString(honest[:cut] + noise + honest[cut:])
    except DecodeError:
        return

    assert is_refused(plan) in (True, False)


@FEW
@given(seeds)
def test_a_stored_plan_is_read_back_or_refused(seed: int) -> None:
    from google.protobuf import json_format

    plan = random_message(Random(seed), proto.Relation(), 5, allowed_only=True)
    stored = json_format.MessageToDict(plan, preserving_proto_field_name=True)

    try:
        again = read_plan(stored)
    except PlanRefused:
        return

    assert again.SerializeToString(deterministic=True) == plan.SerializeToString(deterministic=True)
    assert is_refused(again) == is_refused(plan)
