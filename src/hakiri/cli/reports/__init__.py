"""What each command reports, as types. A change here is a change of the contract in `docs/schemas`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hakiri.cli.reports.config import ConfigReport
from hakiri.cli.reports.failure import ErrorReport
from hakiri.cli.reports.pipelines import (
    PipelineConvertReport,
    PipelineCreateReport,
    PipelineDescribeReport,
    PipelineEditReport,
    PipelineListReport,
)
from hakiri.cli.reports.project import InitReport, SchemaExportReport

# By the words of the command, joined with `-`; the schema is `docs/schemas/<name>.json`.
REPORTS: Mapping[str, type] = MappingProxyType(
    {
        "config": ConfigReport,
        "config-get": ConfigReport,
        "error": ErrorReport,
        "init": InitReport,
        "pipeline-convert": PipelineConvertReport,
        "pipeline-create": PipelineCreateReport,
        "pipeline-describe": PipelineDescribeReport,
        "pipeline-edit": PipelineEditReport,
        "pipeline-list": PipelineListReport,
        "schema-export": SchemaExportReport,
    }
)

__all__ = [
    "REPORTS",
    "ConfigReport",
    "ErrorReport",
    "InitReport",
    "PipelineConvertReport",
    "PipelineCreateReport",
    "PipelineDescribeReport",
    "PipelineEditReport",
    "PipelineListReport",
    "SchemaExportReport",
]
