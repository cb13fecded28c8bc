"""The kinds of text a manifest is made of, each with its check, its words and its part of the JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, NamedTuple, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from hakiri.core.grammar import BadText, Duration, Rate, Schedule, Size, parse_moment, parse_schedule
from hakiri.manifest.layout import KeyPath
from hakiri.manifest.problems import Code

LONGEST_NAME = 63  # of a DNS label, a Kubernetes object and a Postgres identifier


DURATION_PATTERN = r"(?:[0-9]+(?:w|d|h|m|s|ms|us))+|P[0-9YMWDTHS.,]+"
MOMENT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].+)?$"
_UNITS = ("year", "month", "day", "hour")
_COLUMN = r"[A-Za-z_][A-Za-z0-9_]*"
_PARTITION = re.compile(rf"\s*(?:(?P<unit>{'|'.join(_UNITS)})\(\s*)?(?P<column>{_COLUMN})\s*(?(unit)\)\s*)")
_PARTITION_START = re.compile(
    rf"\s*(?P<unit>(?:{'|'.join(_UNITS)})\(\s*)?(?P<column>{_COLUMN})?\s*(?P<end>(?(unit)(?:\)\s*)?))"
)


class Strict(BaseModel):
    """Refuses what it does not know, converts nothing, and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, serialize_by_alias=True)


class Found(NamedTuple):
    """One thing wrong, told by the value that noticed it; `path` is relative to that value."""

    code: Code
    message: str
    hint: str = ""
    path: KeyPath = ()


def refuse(*found: Found) -> NoReturn:
    """Tell pydantic about problems of ours; `explain` takes them out again, each with its own path."""
    raise PydanticCustomError("hakiri", "{text}", {"text": found[0].message, "found": found})


@dataclass(frozen=True, slots=True)
class Grammar:
    """A text that is parsed on the way in, and is its own text again on the way out."""

    parse: Callable[[str], Any]
    pattern: str
    examples: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            self._read,
            core_schema.str_schema(strict=True),
            serialization=core_schema.plain_serializer_function_ser_schema(_text_of),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "pattern": self.pattern, "examples": list(self.examples)}

    def _read(self, text: str) -> Any:
        try:
            return self.parse(text)
        except BadText as error:
            refuse(Found(Code.BAD_TEXT, str(error), error.hint))


@dataclass(frozen=True, slots=True)
class Name:
    """A text that must match a pattern. `secret` keeps a wrong value out of the message."""

    what: str
    pattern: str
    rule: str
    example: str
    proposal: Callable[[str], str] | None = None
    is_secret: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._read, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "examples": [self.example]}

    def _read(self, text: str) -> str:
        if re.fullmatch(self.pattern, text):
            return text
        shown = "this" if self.is_secret else f"`{_shortened(text)}`" if text else "an empty text"
        proposal = self.proposal(text) if self.proposal else ""
        if not re.fullmatch(self.pattern, proposal):
            proposal = self.example
        refuse(
            Found(Code.BAD_NAME, f"{shown} is not {self.what}: {self.rule}", f"write it like `{proposal}`"),
        )


@dataclass(frozen=True, slots=True)
class OrShort:
    """Also takes a plain text and turns it into the whole value, so that both spellings are equal."""

    lengthen: Callable[[str], Any]
    short: Any = str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # A choice by looking at the input, and not by trying, so that only one branch reports errors.
        short = core_schema.no_info_after_validator_function(
            self.lengthen, handler.generate_schema(self.short)
        )
        return core_schema.tagged_union_schema(
            {"<short>": short, "<long>": handler(source)}, discriminator=_is_short
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A date or a date with a time, as written; a date alone is its midnight in UTC."""

    text: str = field(compare=False)
    at: datetime

    @classmethod
    def parse(cls, text: str) -> Moment:
        return cls(text=text, at=parse_moment(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBy:
    """One partition a value of `column`, or one a `unit` of time of it."""

    text: str = field(compare=False)
    unit: str | None
    column: str

    @classmethod
    def parse(cls, text: str) -> PartitionBy:
        match = _PARTITION.fullmatch(text)
        if match:
            return cls(text=text, unit=match["unit"], column=match["column"])
        position, found, expected = _refused_partition(text)
        raise BadText(
            "partition", text, position=position, found=found, expected=expected, hint=_PARTITION_HINT
        )


def _refused_partition(text: str) -> tuple[int, str, str]:
    """Where a partition goes wrong, what stands there, and what should."""
    function = re.match(r"\s*(\w+)\s*\(", text)
    if function and function[1] not in _UNITS:
        return function.start(1), function[1], "one of year, month, day, hour"
    good = _PARTITION_START.match(text)
    position = good.end() if good else 0
    if good and good["column"]:
        expected = "the end" if good["end"] or not function else "a `)`"
    else:
        expected = "a column name"
    return position, text[position : position + 1], expected


def _is_short(value: Any) -> str:
    return "<short>" if isinstance(value, str) else "<long>"


def _text_of(value: Any) -> str:
    return str(value.text)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "…"


def _slug(text: str) -> str:
    """A pipeline id that comes close to this text, perhaps an empty one."""
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-_")[:LONGEST_NAME]


def _alone(name: str) -> tuple[str, ...]:
    return (name,)


def as_identifier(text: str) -> str:
    """A table name that comes close to this text: `public.Orders` is `public_orders`."""
    word = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_")[:LONGEST_NAME]
    return f"t_{word}" if word[:1].isdigit() else word


def distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, none of them twice."""
    again = [(number, name) for number, name in enumerate(names) if name in names[:number]]
    if again:
        refuse(*(Found(Code.DUPLICATE, f"`{name}` is listed twice", "keep one", (n,)) for n, name in again))
    return names


_PARTITION_HINT = "write a column like `tenant_id`, or a part of a time like `month(updated_at)`"

DurationText = Annotated[
    Duration,
    Grammar(Duration.parse, rf"^(?:{DURATION_PATTERN})$", ("15m", "6h", "30d")),
]
RateText = Annotated[Rate, Grammar(Rate.parse, r"^[0-9]+/[0-9A-Za-z.,]+$", ("60/min", "10/s", "5000/h"))]
SizeText = Annotated[Size, Grammar(Size.parse, r"^[0-9]+(?:\.[0-9]+)? *[A-Za-z]+$", ("512MB", "4GiB", "2g"))]
ScheduleText = Annotated[
    Schedule,
    Grammar(
        parse_schedule,
        rf"^\s*(?:every\s+(?:{DURATION_PATTERN})|\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s*$",
        ("every 15m", "every 6h", "0 */2 * * *"),
    ),
]
MomentText = Annotated[
    Moment,
    Grammar(Moment.parse, MOMENT_PATTERN, ("2010-01-01", "2010-01-01T06:30:00Z")),
]
PartitionText = Annotated[
    PartitionBy,
    Grammar(
        PartitionBy.parse,
        rf"^\s*(?:(?:{'|'.join(_UNITS)})\(\s*{_COLUMN}\s*\)|{_COLUMN})\s*$",
        ("month(updated_at)", "tenant_id"),
    ),
]

PipelineId = Annotated[
    str,
    Name(
        what="a pipeline id",
        pattern=rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_NAME - 1}}}",
        rule=f"only a-z, 0-9, `-` and `_`, a letter or digit first, at most {LONGEST_NAME} characters",
        example="github-issues",
        proposal=_slug,
    ),
]
ProjectName = Annotated[
    str,
    Name(
        what="a project name",
        pattern=rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST_NAME - 1}}}",
        rule=f"only letters, digits, `-` and `_`, a letter or digit first, at most {LONGEST_NAME} characters",
        example="my-warehouse",
        proposal=_slug,
    ),
]
NodeName = Annotated[
    str,
    Name(
        what="the name of a machine",
        pattern=rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}",
        rule=f"only letters, digits, `.`, `-` and `_`, a letter or digit first, at most {LONGEST_NAME}",
        example="worker-1",
        proposal=_slug,
    ),
]
ConnectorName = Annotated[
    str,
    Name(
        what="a connector name",
        pattern=rf"[a-z][a-z0-9_-]{{0,{LONGEST_NAME - 1}}}",
        rule="only a-z, 0-9, `-` and `_`, a letter first",
        example="github",
        proposal=_slug,
    ),
]
SourceTable = Annotated[
    str,
    Name(
        what="a table name",
        pattern=r"[^\s/\\\x00-\x1f\x7f](?:[^/\\\x00-\x1f\x7f]{0,126}[^\s/\\\x00-\x1f\x7f])?",
        rule="no slash, no control character, no blank at either end, at most 128 characters",
        example="issues",
        proposal=as_identifier,
    ),
]
StoreTable = Annotated[
    str,
    Name(
        what="a table name of the store",
        pattern=rf"[A-Za-z_][A-Za-z0-9_]{{0,{LONGEST_NAME - 1}}}",
        rule=f"only letters, digits and `_`, a letter first, at most {LONGEST_NAME} characters",
        example="github_issues",
        proposal=as_identifier,
    ),
]
ReferenceName = Annotated[
    str,
    Name(
        what="the name of a reference table",
        pattern=rf"(?!input$)[a-z_][a-z0-9_]{{0,{LONGEST_NAME - 1}}}",
        rule=f"only a-z, 0-9 and `_`, a letter first, at most {LONGEST_NAME} characters, and not `input`",
        example="countries",
        proposal=as_identifier,
    ),
]
ColumnName = Annotated[
    str,
    Name(
        what="a column name",
        pattern=r"[^\x00-\x1f\x7f]{1,255}",
        rule="at least one character, no control character, at most 255",
        example="updated_at",
    ),
]
IndexId = Annotated[
    str,
    Name(
        what="an index id",
        pattern=rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{2 * LONGEST_NAME}}}",
        rule="only letters, digits, `.`, `-` and `_`, a letter or digit first",
        example="vec-body",
        proposal=_slug,
    ),
]
AccessPattern = Annotated[
    str,
    Name(
        what="an access pattern",
        pattern=r"recent_[1-9][0-9]{0,4}[dwmy]|by_[A-Za-z_][A-Za-z0-9_]*",
        rule="`recent_` with a number and d, w, m or y, or `by_` with a column",
        example="recent_90d",
    ),
]
SecretName = Annotated[
    str,
    Name(
        what="the name of an environment variable",
        pattern=r"[A-Z][A-Z0-9_]{0,126}",
        rule="only A-Z, 0-9 and `_`, a letter first; the secret itself stays out of the file",
        example="GITHUB_TOKEN",
        is_secret=True,
    ),
]
VariableName = Annotated[
    str,
    Name(
        what="the name of an environment variable",
        pattern=r"[A-Za-z_][A-Za-z0-9_]{0,126}",
        rule="only letters, digits and `_`, not a digit first",
        example="AWS_PROFILE",
    ),
]
KeySource = Annotated[
    str,
    Name(
        what="a source of a key",
        pattern=r"(?:env|password):[A-Z][A-Z0-9_]{0,126}|kms:\S+",
        rule="`env:` or `password:` with the name of an environment variable, or `kms:` with a key",
        example="env:HAKIRI_KEY",
        is_secret=True,
    ),
]
ArtifactPath = Annotated[
    str,
    Name(
        what="the path of a compiled transform",
        pattern=r"(?!/)(?!.*(?:^|/)\.\.(?:/|$))[^\\\x00-\x1f\x7f:]+\.json",
        rule="relative to the project, with `/` and without `..`, ending in `.json`",
        example="pipelines/github-issues.transforms.json",
    ),
]

ColumnNames = Annotated[
    tuple[ColumnName, ...], Field(min_length=1), AfterValidator(distinct), OrShort(_alone, ColumnName)
]
