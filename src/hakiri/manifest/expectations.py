"""What a table's rows are expected to be, and what happens to those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from hakiri.manifest.fields import ColumnName, Found, Moment, Name, Strict, refuse
from hakiri.manifest.problems import Code
from hakiri.manifest.scalars import BoundValue, OnlyTrue, Scalar, ScalarValue

OnFail: TypeAlias = Literal["fail", "warn", "quarantine"]
Check: TypeAlias = Literal["not_null", "unique", "in", "range", "predicate"]

CHECKS: tuple[Check, ...] = ("not_null", "unique", "in", "range", "predicate")
LONGEST_PREDICATE = 4_000
MOST_VALUES = 1_000

_ExpectationName = Annotated[
    str,
    Name(
        what="the name of an expectation",
        pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,126}",
        rule="only letters, digits, `.`, `-` and `_`, a letter or digit first",
        example="price-is-sound",
    ),
]


def _alike(values: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The values, none of them twice and all of one kind, as one column holds them."""
    kinds = sorted({_kind(value) for value in values})
    if len(kinds) > 1:
        words = f"{', '.join(kinds[:-1])} and {kinds[-1]}"
        refuse(
            Found(Code.CONFLICT, f"`in` mixes {words}", "list values of one kind, as the column holds them")
        )
    again = [(number, value) for number, value in enumerate(values) if value in values[:number]]
    if again:
        refuse(*(Found(Code.DUPLICATE, f"`{value}` is listed twice", "keep one", (n,)) for n, value in again))
    return values


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "flags"
    return "texts" if isinstance(value, str) else "numbers"


_Values = Annotated[
    tuple[ScalarValue, ...], Field(min_length=1, max_length=MOST_VALUES), AfterValidator(_alike)
]


class RangeSpec(Strict):
    """From `min` to `max`, both ends included. Either may be left out."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    min: BoundValue | None = Field(None, description="The lowest value that is fine: a number, or a date.")
    max: BoundValue | None = Field(None, description="The highest value that is fine: a number, or a date.")

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.min is None and self.max is None:
            refuse(Found(Code.EMPTY, "a range has `min`, `max` or both", "write it like `{ min = 0 }`"))
        if self.min is None or self.max is None:
            return self
        if isinstance(self.min, Moment) != isinstance(self.max, Moment):
            refuse(
                Found(
                    Code.CONFLICT,
                    "`min` and `max` are a number and a date",
                    "write two of one kind",
                    ("max",),
                )
            )
        if _order(self.min) > _order(self.max):
            refuse(
                Found(Code.CONFLICT, "`min` is above `max`, so that no value is fine", "swap them", ("min",))
            )
        return self


def _order(bound: float | Moment) -> float:
    return bound.at.timestamp() if isinstance(bound, Moment) else bound


def _one_check(schema: dict[str, Any]) -> None:
    """Tell editors too that an expectation has one check, and a column unless that is a predicate."""
    of_columns = [{"required": ["column", check]} for check in CHECKS if check != "predicate"]
    of_rows = {"required": ["predicate"], "not": {"required": ["column"]}}
    for check in ("not_null", "unique"):
        del schema["properties"][check]["default"]  # an editor must not offer to write `false`
    schema["allOf"] = [{"oneOf": [*of_columns, of_rows]}]


class ExpectationSpec(Strict):
    """One thing that is expected of every row. A NULL is fine for every check but `not_null`."""

    model_config = ConfigDict(json_schema_extra=_one_check)

    name: _ExpectationName | None = Field(
        None, description="What counts and messages call it. Default: column and check, as `email_not_null`."
    )
    column: ColumnName | None = Field(
        None, description="The column that is looked at, as the store has it.", examples=["email"]
    )
    not_null: OnlyTrue = Field(default=False, description="The column has a value.", examples=[True])
    unique: OnlyTrue = Field(
        default=False,
        description="No two rows of one chunk have the same value. Rows of earlier chunks are not looked at.",
        examples=[True],
    )
    in_: _Values | None = Field(
        None, alias="in", description="The value is one of these.", examples=[["open", "closed"]]
    )
    range: RangeSpec | None = Field(
        None, description="The value is from `min` to `max`.", examples=[{"min": 0, "max": 1000}]
    )
    predicate: str | None = Field(
        None,
        min_length=1,
        max_length=LONGEST_PREDICATE,
        description="A condition in Spark SQL over the table's columns; a row is wrong where it is false.",
        examples=["price >= 0 and (discount is null or discount < price)"],
    )
    on_fail: OnFail = Field(
        "fail",
        description="What a wrong row does: stop the chunk (`fail`), be counted (`warn`), or go to the "
        "quarantine table instead (`quarantine`).",
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        checks = self._checks
        if not checks:
            known = ", ".join(f"`{check}`" for check in CHECKS)
            refuse(Found(Code.MISSING_KEY, "this expectation checks nothing", f"give it one of {known}"))
        if len(checks) > 1:
            words = " and ".join(f"`{check}`" for check in checks)
            refuse(
                Found(
                    Code.CONFLICT,
                    f"this expectation has {words}, and each has one check",
                    "write one expectation for each check",
                    (checks[1],),
                )
            )
        if self.predicate is None and self.column is None:
            refuse(
                Found(Code.MISSING_KEY, f"`{checks[0]}` needs a `column`", 'write it like `column = "email"`')
            )
        if self.predicate is not None and self.column is not None:
            refuse(
                Found(
                    Code.CONFLICT,
                    "a `predicate` names its columns itself, and has no `column`",
                    "take `column` out",
                    ("column",),
                )
            )
        return self

    @property
    def _checks(self) -> list[Check]:
        said = (
            self.not_null,
            self.unique,
            self.in_ is not None,
            self.range is not None,
            self.predicate is not None,
        )
        return [check for check, is_said in zip(CHECKS, said, strict=True) if is_said]

    @property
    def check(self) -> Check:
        """Which of the checks it is."""
        return self._checks[0]

    def expects_the_same(self, other: ExpectationSpec) -> bool:
        """Whether both look at the same thing, whatever they are called and do."""
        return self.model_copy(update=_NO_MATTER) == other.model_copy(update=_NO_MATTER)


_NO_MATTER = {"name": None, "on_fail": "fail"}


def expectation_names(expectations: Sequence[ExpectationSpec]) -> tuple[str, ...]:
    """What each is called: its own name, else column and check, with a number where that is taken."""
    taken = {each.name for each in expectations if each.name is not None}
    names = []
    for each in expectations:
        name = each.name
        if name is None:
            derived = f"{each.column}_{each.check}" if each.column is not None else each.check
            name, number = derived, 2
            while name in taken:
                name, number = f"{derived}_{number}", number + 1
            taken.add(name)
        names.append(name)
    return tuple(names)


def troubles_among(expectations: Sequence[ExpectationSpec]) -> list[Found]:
    """What is wrong with the expectations of one table together; paths begin at the table."""
    found = []
    for number, each in enumerate(expectations):
        before = expectations[:number]
        if each.name is not None and any(each.name == other.name for other in before):
            message, hint = f"two expectations are called `{each.name}`", "give one of them another `name`"
            found.append(Found(Code.DUPLICATE, message, hint, ("expect", number, "name")))
        elif any(each.expects_the_same(other) for other in before):
            message, hint = "the same is expected above", "keep one of them"
            found.append(Found(Code.DUPLICATE, message, hint, ("expect", number)))
    return found
