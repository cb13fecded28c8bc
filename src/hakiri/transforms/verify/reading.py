"""From JSON to a plan, strictly. Nothing in the JSON can make this do more than refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hakiri.engine.connect import load_client
from hakiri.transforms.verify.errors import PlanRefused, Refusal
from hakiri.transforms.verify.limits import DEEPEST_PLAN, LARGEST_PLAN_BYTES, MOST_NODES

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation

_HINT = "run `hakiri compile` again"
_PLAIN = (str, int, float, bool, type(None))
# A level of the plan is at most an object in a list in JSON, and a literal or two more are harmless.
_DEEPEST_JSON = 2 * DEEPEST_PLAN
_MOST_JSON_VALUES = 20 * MOST_NODES
_LONGEST_SAID = 300
_TOO_DEEP = "the plan is nested too deeply"
# As the library tells it: «Failed to parse input field: … at "Relation.project.expressions[0]".»
_PATH = re.compile(r' at "?Relation([\w.\[\]]*)"?\.?$')
_WAY_THERE = re.compile(r"^(Failed to parse \w+ field: )+")


def read_plan(data: Mapping[str, Any]) -> Relation:
    """The plan that this JSON says, exactly as Spark's protocol writes it; it is not verified yet.

    Raises PlanRefused for everything else.
    """
    problem = _shape_problem(data)
    if problem is not None:
        raise PlanRefused([Refusal("root", problem, _HINT)])
    load_client()
    from google.protobuf import json_format
    from pyspark.sql.connect.proto import Relation

    relation = Relation()
    try:
        json_format.ParseDict(dict(data), relation, max_recursion_depth=DEEPEST_PLAN)
        # The library reads more than it writes: base64 with other letters, an empty list for an object.
        is_as_written = any(
            json_format.MessageToDict(relation, preserving_proto_field_name=snake) == data
            for snake in (True, False)
        )
    except RecursionError as error:
        raise PlanRefused([Refusal("root", _TOO_DEEP, _HINT)]) from error
    # The library raises errors of many kinds for what does not fit; none of them leaves this function.
    except Exception as error:
        raise PlanRefused([_refusal(str(error))]) from error
    if not is_as_written:
        raise PlanRefused([Refusal("root", "it is not written as Spark writes a plan", _HINT)])
    return relation


def _shape_problem(data: Any) -> str | None:
    """What is wrong with the JSON before anybody asks what it means; None if nothing."""
    if not isinstance(data, Mapping):
        return "the plan is not a JSON object"
    values, letters = 0, 0
    ahead: list[tuple[Any, int]] = [(data, 1)]
    while ahead:
        value, depth = ahead.pop()
        values += 1
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) for key in value):
                return "the plan is not JSON"
            letters += sum(len(key) for key in value)
            inner = list(value.values())
        elif isinstance(value, list | tuple):
            inner = list(value)
        elif isinstance(value, _PLAIN):
            letters += len(value) if isinstance(value, str) else 0
            inner = []
        else:
            return "the plan is not JSON"
        if depth > _DEEPEST_JSON:
            return _TOO_DEEP
        # Base64 and the names of fields make JSON larger than the plan that it says.
        if values + len(ahead) + len(inner) > _MOST_JSON_VALUES or letters > 4 * LARGEST_PLAN_BYTES:
            return "the plan is too large"
        ahead.extend((each, depth + 1) for each in inner)
    return None


def _refusal(said: str) -> Refusal:
    """What the library says in one line, with the path apart where it tells one."""
    first = said.partition("\n")[0]
    if "too deep" in first:
        return Refusal("root", _TOO_DEEP, _HINT)
    found = _PATH.search(first)
    path = f"root{found[1]}" if found else "root"
    problem = _WAY_THERE.sub("", first[: found.start()] if found else first)
    shown = "".join(letter if letter.isprintable() else "?" for letter in problem).rstrip(". ")
    return Refusal(path[:_LONGEST_SAID], f"it is not a plan of Spark: {shown[:_LONGEST_SAID]}", _HINT)
