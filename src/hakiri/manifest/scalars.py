"""Values of a manifest that may be of more than one plain kind, such as a number or a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from hakiri.core.grammar import BadText, Duration
from hakiri.manifest.fields import DURATION_PATTERN, MOMENT_PATTERN, Found, Moment, refuse
from hakiri.manifest.problems import Code

Scalar: TypeAlias = str | int | float | bool
Bound: TypeAlias = int | float | Moment
Lag: TypeAlias = Duration | int
_Parsed = TypeVar("_Parsed")

_LAG_HINT = 'write a length of time like `"2h"`, or a whole number like `1000` for a cursor of ids'
_VALUE_HINT = "list plain values; a NULL is always fine, except for `not_null`"
_BOUND_HINT = 'write a number like `0`, or a date like `"2020-01-01"`'


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value whose kind decides how it is read. One function looks, so that only one kind reports errors."""

    read: Callable[[Any], Any]
    schema: Callable[[], dict[str, Any]]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(_written)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return self.schema()


def _written(value: Any) -> Any:
    return value.text if isinstance(value, Duration | Moment) else value


def _read_scalar(value: Any) -> Scalar:
    if not isinstance(value, str | int | float):
        _refuse_kind("a value of `in` must be a text, a number, true or false", value, _VALUE_HINT)
    return value


def _read_true(value: Any) -> bool:
    if value is not True:
        hint = "write `true`, or take the check out"
        refuse(Found(Code.WRONG_VALUE, "a check is `true` or left out", hint))
    return True


def _read_bound(value: Any) -> Bound:
    if isinstance(value, str):
        return _parsed(Moment.parse, value, _BOUND_HINT)
    if not isinstance(value, int | float) or isinstance(value, bool):
        _refuse_kind("the end of a range must be a number or a text", value, _BOUND_HINT)
    return value


def _read_lag(value: Any) -> Lag:
    if isinstance(value, str):
        return _parsed(Duration.parse, value, _LAG_HINT)
    if not isinstance(value, int) or isinstance(value, bool):
        _refuse_kind("`lag` must be a length of time or a whole number", value, _LAG_HINT)
    if value < 1:
        refuse(Found(Code.OUT_OF_RANGE, f"`lag` must be at least 1, not {value}", "take `lag` out for none"))
    return value


def _parsed(parse: Callable[[str], _Parsed], text: str, hint: str) -> _Parsed:
    try:
        return parse(text)
    except BadText as error:
        refuse(Found(Code.BAD_TEXT, str(error), hint))


def _refuse_kind(rule: str, value: Any, hint: str) -> NoReturn:
    refuse(Found(Code.WRONG_TYPE, f"{rule}, not {_kind_of(value)}", hint))


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "a number with a fraction"
    return "null" if value is None else "a list" if isinstance(value, list) else "a table"


def _scalar_schema() -> dict[str, Any]:
    return {"type": ["string", "number", "boolean"]}


def _true_schema() -> dict[str, Any]:
    return {"const": True}


def _bound_schema() -> dict[str, Any]:
    date = {"type": "string", "pattern": MOMENT_PATTERN, "examples": ["2020-01-01"]}
    return {"anyOf": [{"type": "number"}, date], "examples": [0, "2020-01-01"]}


def _lag_schema() -> dict[str, Any]:
    duration = {"type": "string", "pattern": rf"^(?:{DURATION_PATTERN})$", "examples": ["2h"]}
    return {"anyOf": [duration, {"type": "integer", "minimum": 1}], "examples": ["2h", 1000]}


ScalarValue = Annotated[Scalar, OneOf(_read_scalar, _scalar_schema)]
OnlyTrue = Annotated[bool, OneOf(_read_true, _true_schema)]
BoundValue = Annotated[Bound, OneOf(_read_bound, _bound_schema)]
LagValue = Annotated[Lag, OneOf(_read_lag, _lag_schema)]
