"""What each command reports, as types. A change here is a change of the contract in `docs/schemas`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hakiri.cli.reports.catalog import CatalogCheckReport, CatalogMigrateReport, CatalogStatusReport
from hakiri.cli.reports.compile import CompileReport
from hakiri.cli.reports.config import ConfigReport
from hakiri.cli.reports.context import (
    CompactReport,
    ContextCheckReport,
    GcReport,
    RebuildReport,
    RegenViewReport,
    RestoreReport,
)
from hakiri.cli.reports.engine import DoctorReport, EngineStatusReport
from hakiri.cli.reports.evolution import (
    SchemaAcceptReport,
    SchemaLogReport,
    SchemaMigrateReport,
    SchemaReconcileReport,
)
from hakiri.cli.reports.failure import ErrorReport
from hakiri.cli.reports.operations import (
    AuditReport,
    ChunksReport,
    CursorChangeReport,
    CursorGetReport,
    DecisionReport,
    RewindReport,
)
from hakiri.cli.reports.pipelines import (
    PipelineConvertReport,
    PipelineCreateReport,
    PipelineDescribeReport,
    PipelineEditReport,
    PipelineListReport,
)
from hakiri.cli.reports.plan import PlanReport, PreviewReport
from hakiri.cli.reports.project import InitReport, SchemaExportReport
from hakiri.cli.reports.query import QueryReport
from hakiri.cli.reports.runs import ApplyReport, RunReport, RunsReport, StatusReport
from hakiri.cli.reports.singer import SingerReport
from hakiri.cli.reports.sources import (
    SourceCheckReport,
    SourceDescribeReport,
    SourceListReport,
    SourceNewReport,
    SourceSampleReport,
    SourceTablesReport,
)

# By the words of the command, joined with `-`; the schema is `docs/schemas/<name>.json`.
REPORTS: Mapping[str, type] = MappingProxyType(
    {
        "apply": ApplyReport,
        "backfill-chunks": ChunksReport,
        "backfill-rewind": RewindReport,
        "catalog-check": CatalogCheckReport,
        "catalog-migrate": CatalogMigrateReport,
        "catalog-status": CatalogStatusReport,
        "compile": CompileReport,
        "config": ConfigReport,
        "config-get": ConfigReport,
        "context-check": ContextCheckReport,
        "context-compact": CompactReport,
        "context-gc": GcReport,
        "context-rebuild-catalog": RebuildReport,
        "context-restore": RestoreReport,
        "cursor-get": CursorGetReport,
        "cursor-log": AuditReport,
        "cursor-reset": CursorChangeReport,
        "cursor-set": CursorChangeReport,
        "doctor": DoctorReport,
        "engine-start": EngineStatusReport,
        "engine-status": EngineStatusReport,
        "engine-stop": EngineStatusReport,
        "error": ErrorReport,
        "init": InitReport,
        "pipeline-convert": PipelineConvertReport,
        "pipeline-create": PipelineCreateReport,
        "pipeline-describe": PipelineDescribeReport,
        "pipeline-edit": PipelineEditReport,
        "pipeline-list": PipelineListReport,
        "plan": PlanReport,
        "preview": PreviewReport,
        "query": QueryReport,
        "retry": DecisionReport,
        "run": ApplyReport,
        "runs-list": RunsReport,
        "runs-show": RunReport,
        "schema-accept": SchemaAcceptReport,
        "schema-export": SchemaExportReport,
        "schema-log": SchemaLogReport,
        "schema-migrate": SchemaMigrateReport,
        "schema-reconcile": SchemaReconcileReport,
        "schema-regen-view": RegenViewReport,
        "singer": SingerReport,
        "skip": DecisionReport,
        "source-check": SourceCheckReport,
        "source-describe": SourceDescribeReport,
        "source-list": SourceListReport,
        "source-new": SourceNewReport,
        "source-sample": SourceSampleReport,
        "source-tables": SourceTablesReport,
        "status": StatusReport,
    }
)

__all__ = [
    "REPORTS",
    "ApplyReport",
    "AuditReport",
    "CatalogCheckReport",
    "CatalogMigrateReport",
    "CatalogStatusReport",
    "ChunksReport",
    "CompactReport",
    "CompileReport",
    "ConfigReport",
    "ContextCheckReport",
    "CursorChangeReport",
    "CursorGetReport",
    "DecisionReport",
    "DoctorReport",
    "EngineStatusReport",
    "ErrorReport",
    "GcReport",
    "InitReport",
    "PipelineConvertReport",
    "PipelineCreateReport",
    "PipelineDescribeReport",
    "PipelineEditReport",
    "PipelineListReport",
    "PlanReport",
    "PreviewReport",
    "RebuildReport",
    "RegenViewReport",
    "RestoreReport",
    "RewindReport",
    "RunReport",
    "RunsReport",
    "SchemaAcceptReport",
    "SchemaExportReport",
    "SchemaLogReport",
    "SchemaMigrateReport",
    "SchemaReconcileReport",
    "SingerReport",
    "SourceCheckReport",
    "SourceDescribeReport",
    "SourceListReport",
    "SourceNewReport",
    "SourceSampleReport",
    "SourceTablesReport",
    "StatusReport",
]
