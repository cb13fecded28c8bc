"""What the expressions and types of a plan must keep to, beyond which fields they may have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hakiri.core.nearest import nearest
from hakiri.transforms.verify.function_rules import rule_problem
from hakiri.transforms.verify.functions import ALLOWED_FUNCTIONS
from hakiri.transforms.verify.reasons import SQL_TEXT
from hakiri.transforms.verify.refused_functions import CALLS_WITHOUT_PARENTHESES, REFUSED_FUNCTIONS
from hakiri.transforms.verify.relations import Check, enum_name
from hakiri.transforms.verify.scope import Scope, Trouble, plain
from hakiri.transforms.verify.type_text import is_type

_DECIMAL = re.compile(r"[+-]?\d{1,76}(\.\d{0,76})?(E[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_COLLATION = re.compile(r"[A-Za-z0-9_]{0,64}", re.ASCII)
_NAME_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")
_SUBQUERIES = frozenset({"SUBQUERY_TYPE_SCALAR", "SUBQUERY_TYPE_EXISTS", "SUBQUERY_TYPE_IN"})
_FILE_METADATA = "_metadata"


def _function(message: Any, scope: Scope) -> Iterator[Trouble]:
    name = message.function_name.lower() if message.function_name.isascii() else ""
    reason = REFUSED_FUNCTIONS.get(name)
    if reason is not None:
        yield Trouble("", f"`{name}` {reason.problem}", reason.hint)
    elif name not in ALLOWED_FUNCTIONS:
        meant = nearest(message.function_name, ALLOWED_FUNCTIONS) if scope.may_guess else None
        yield Trouble(
            "",
            f"the function `{plain(message.function_name)}` is not known",
            f"did you mean `{meant}`?" if meant else "use the functions of pyspark.sql.functions",
        )
    elif (problem := rule_problem(name, message.arguments)) is not None:
        yield Trouble("", f"`{name}` {problem.problem}", problem.hint)


def _attribute(message: Any, scope: Scope) -> Iterator[Trouble]:
    name = message.unparsed_identifier
    parts = [(quoted or bare).lower() for quoted, bare in _NAME_PART.findall(name)]
    if _FILE_METADATA in parts[:2]:
        yield Trouble(
            "", "the column `_metadata` tells about files that are read", "use the columns of the rows"
        )
    # A column of a given frame, as in df["x"], can be nothing else.
    elif len(parts) == 1 and parts[0] in CALLS_WITHOUT_PARENTHESES and not message.HasField("plan_id"):
        reason = REFUSED_FUNCTIONS[parts[0]]
        yield Trouble(
            "",
            f"`{parts[0]}` {reason.problem}",
            f'if it is a column, write `df["{parts[0]}"]`; if not, {reason.hint}',
        )


def _cast(message: Any, scope: Scope) -> Iterator[Trouble]:
    if message.WhichOneof("cast_to_type") == "type_str" and not is_type(message.type_str):
        yield _not_a_type("type_str", message.type_str)


def _unparsed_type(message: Any, scope: Scope) -> Iterator[Trouble]:
    if not is_type(message.data_type_string):
        yield _not_a_type("data_type_string", message.data_type_string)


def _not_a_type(field: str, text: str) -> Trouble:
    return Trouble(
        field, f"`{plain(text)}` is not a type", "write a type such as `decimal(10, 2)` or `array<string>`"
    )


def _decimal(message: Any, scope: Scope) -> Iterator[Trouble]:
    if not _DECIMAL.fullmatch(message.value):
        yield Trouble("value", f"`{plain(message.value)}` is not a decimal", "write a number")


def _string_type(message: Any, scope: Scope) -> Iterator[Trouble]:
    if not _COLLATION.fullmatch(message.collation):
        yield Trouble(
            "collation", f"`{plain(message.collation)}` is not a collation", "use one such as `UTF8_LCASE`"
        )


def _subquery(message: Any, scope: Scope) -> Iterator[Trouble]:
    if enum_name(message, "subquery_type") not in _SUBQUERIES:
        yield Trouble("subquery_type", "a subquery is scalar, exists or in", "use a join")
    # Up to the nearest reference only: what a subquery reads is within itself, so none can come round again.
    node, parent = scope.node, scope.node.parent
    while parent is not None and not node.label.startswith("references["):
        if parent.kind == "WithRelations" and _refers_to(parent.message, message.plan_id):
            return
        node, parent = parent, parent.parent
    yield Trouble("plan_id", f"there is no subquery {message.plan_id} around the expression", SQL_TEXT.hint)


def _refers_to(message: Any, plan_id: int) -> bool:
    return any(
        reference.common.HasField("plan_id") and reference.common.plan_id == plan_id
        for reference in message.references
    )


EXPRESSION_CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "Expression.UnresolvedFunction": _function,
        "CallFunction": _function,
        "Expression.UnresolvedAttribute": _attribute,
        "Expression.Cast": _cast,
        "DataType.Unparsed": _unparsed_type,
        "DataType.String": _string_type,
        "Expression.Literal.Decimal": _decimal,
        "SubqueryExpression": _subquery,
    }
)
