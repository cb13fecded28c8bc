"""Nothing of Spark's protocol is undecided: a new version fails here until somebody has thought about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.plans import proto

from hakiri.transforms.verify.function_rules import RULES
from hakiri.transforms.verify.functions import ALLOWED_FUNCTIONS
from hakiri.transforms.verify.nodes import ALLOWED, PACKAGE, REFUSED, REQUIRED
from hakiri.transforms.verify.refused_functions import CALLS_WITHOUT_PARENTHESES, REFUSED_FUNCTIONS
from hakiri.transforms.verify.walk import is_allowed, reason_against

from pyspark.sql import connect  # isort: skip - the client is loaded by tests.support.plans

CONNECT = Path(connect.__path__[0])
WRITERS = {
    "_invoke_function",
    "_invoke_function_over_columns",
    "_invoke_binary_math_function",
    "_invoke_higher_order_function",
    "UnresolvedFunction",
    "_bin_op",
    "_func_op",
    "_unary_op",
}


def reachable(root: Any) -> Iterator[Any]:
    """The descriptors of all messages that a plan can hold in fields that are allowed."""
    seen, ahead = set(), [root]
    while ahead:
        described = ahead.pop()
        if described.full_name in seen:
            continue
        seen.add(described.full_name)
        yield described
        kind = described.full_name.removeprefix(PACKAGE)
        ahead += [
            field.message_type
            for field in described.fields
            if field.message_type is not None and is_allowed(kind, field.name)
        ]


MESSAGES = {each.full_name.removeprefix(PACKAGE): each for each in reachable(proto.Relation.DESCRIPTOR)}


def names_written_by(path: Path) -> Iterator[str]:
    """The function names that a file of Spark's client puts on the wire."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "name")]
            if called in WRITERS:
                yield from (
                    each.value
                    for each in given
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
        # `fn = "kll_sketch_agg_bigint"` a line before the call
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if targets == ["fn"] and isinstance(node.value.value, str):
                yield node.value.value


WIRE_NAMES = sorted({name for path in CONNECT.rglob("*.py") for name in names_written_by(path)})


@pytest.mark.parametrize("kind", MESSAGES)
def test_every_field_of_every_message_is_decided(kind: str) -> None:
    undecided = [
        field.name
        for field in MESSAGES[kind].fields
        if not is_allowed(kind, field.name) and reason_against(kind, field.name) is None
    ]

    assert undecided == []


def test_nothing_is_both_allowed_and_refused() -> None:
    both = [
        (kind, field) for kind, fields in ALLOWED.items() for field in fields if reason_against(kind, field)
    ]

    assert both == []
    assert ALLOWED_FUNCTIONS & REFUSED_FUNCTIONS.keys() == set()


def test_the_tables_name_nothing_that_spark_does_not_have() -> None:
    assert ALLOWED.keys() == MESSAGES.keys()
    for table in (ALLOWED, REQUIRED, REFUSED):
        for kind, fields in table.items():
            described = MESSAGES.get(kind)
            known = {*described.fields_by_name, *described.oneofs_by_name} if described else set(fields)
            assert set(fields) <= known, kind


def test_every_relation_and_every_expression_is_decided_by_name() -> None:
    for message, oneof in ((proto.Relation, "rel_type"), (proto.Expression, "expr_type")):
        kind = message.DESCRIPTOR.full_name.removeprefix(PACKAGE)
        cases = {field.name for field in message.DESCRIPTOR.oneofs_by_name[oneof].fields}

        assert cases == (ALLOWED[kind] | REFUSED[kind].keys()) - {"common"}


def test_sparks_client_writes_some_five_hundred_functions() -> None:
    assert len(WIRE_NAMES) > 550
    assert {"isNull", "transform", "==", "kll_sketch_agg_bigint", "java_method"} <= set(WIRE_NAMES)


def test_every_function_that_sparks_client_writes_is_decided() -> None:
    decided = ALLOWED_FUNCTIONS | REFUSED_FUNCTIONS.keys()

    assert [name for name in WIRE_NAMES if name.lower() not in decided] == []


def test_names_are_written_in_lower_case_as_they_are_compared() -> None:
    names = ALLOWED_FUNCTIONS | REFUSED_FUNCTIONS.keys() | RULES.keys() | CALLS_WITHOUT_PARENTHESES

    assert {name for name in names if name != name.lower()} == set()


def test_every_rule_is_for_a_function_that_is_allowed() -> None:
    assert RULES.keys() <= ALLOWED_FUNCTIONS


def test_every_call_without_parentheses_has_a_reason() -> None:
    assert REFUSED_FUNCTIONS.keys() >= CALLS_WITHOUT_PARENTHESES
