"""What the `hakiri source` commands report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorRow:
    """One connector in short; `problem` says why its file cannot be read."""

    name: str
    origin: Literal["built in", "package", "project"]
    where: str
    summary: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceListReport:
    """All connectors that a pipeline may name."""

    connectors: tuple[ConnectorRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigKeyRow:
    """One key of a config. `secrets` says whether `${NAME}` may or must stand in it.

    `default` is JSON, null where there is none; `when` says for which kind of a choice the key is there.
    """

    key: str
    type: str
    is_required: bool
    default: str | None
    secrets: Literal["no", "may", "must"]
    when: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDescribeReport:
    """One connector in full: `config_schema` is the JSON Schema of its config."""

    connector: str
    origin: Literal["built in", "package", "project"]
    where: str
    summary: str
    keys: tuple[ConfigKeyRow, ...]
    config_schema: Mapping[str, Any]
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column with its Arrow type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HintRow:
    """How the history of a table may be pulled; null for what the connector leaves open."""

    cursor_kind: str
    cursor_field: str | None
    window: str | None
    partition_keys: tuple[str, ...]
    rate_budget: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTableRow:
    """One table of a source; `is_pulled` if the pipeline names it, `is_open` if rows may bring more."""

    name: str
    is_pulled: bool
    is_open: bool
    columns: tuple[SourceColumn, ...]
    primary_key: tuple[str, ...]
    cursor_fields: tuple[str, ...]
    estimated_rows: int | None
    hint: HintRow
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTablesReport:
    """Every table of a pipeline's source."""

    pipeline: str
    connector: str
    tables: tuple[SourceTableRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSampleReport:
    """The first rows of a table as the source gives them."""

    pipeline: str
    table: str
    columns: tuple[SourceColumn, ...]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheckRow:
    """Whether one source can be reached; `code` and `hint` are those of the error, else empty."""

    pipeline: str
    connector: str
    status: Literal["ok", "failed"]
    found: str
    code: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheckReport:
    """Whether the sources of the pipelines can be reached."""

    is_healthy: bool
    checks: tuple[SourceCheckRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNewReport:
    """The files of a new connector, and a pipeline for the manifest that reads with it."""

    connector: str
    files: tuple[str, ...]
    manifest: str
    next: tuple[str, ...]
