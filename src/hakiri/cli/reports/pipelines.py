"""What the `hakiri pipeline` commands report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hakiri.cli.reports.failure import FilePlace

Form = Literal["toml", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineRow:
    """One pipeline in short."""

    id: str
    connector: str
    tables: tuple[str, ...]
    schedule: str | None
    incremental: str | None
    place: FilePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineListReport:
    """All pipelines of the project, in the order of their ids."""

    project: str
    pipelines: tuple[PipelineRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineDescribeReport:
    """One pipeline in full: `spec` is valid against the schema of `pipelines/*.json`."""

    id: str
    place: FilePlace
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCreateReport:
    """The pipeline that was written, and the file it was written to."""

    id: str
    format: Form
    file: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEditReport:
    """The pipeline after an edit; `diff` is the change of the file's text in the unified format."""

    id: str
    file: str
    is_changed: bool
    diff: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConvertReport:
    """Where a pipeline was written before, the file it is in now, and the comments that were lost."""

    id: str
    format: Form
    before: tuple[FilePlace, ...]
    file: str
    lost_comments: tuple[str, ...]
