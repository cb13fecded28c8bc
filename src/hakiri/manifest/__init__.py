"""The desired state: what pipelines there are, read from files, checked, changed and described.

`load_project` reads; `create_pipeline`, `edit_pipeline` and `convert_pipeline` write. Nothing here runs.
"""

from __future__ import annotations

from hakiri.manifest.changes import REMOVE, value_from_text
from hakiri.manifest.convert import Converted, convert_pipeline
from hakiri.manifest.edit import Edited, create_pipeline, edit_pipeline, parse_pipeline
from hakiri.manifest.errors import (
    AlreadyThatFormat,
    BadChange,
    DefinitionsDiffer,
    FileInTheWay,
    NoProject,
    NotInToml,
    PipelineExists,
    UnknownPipeline,
)
from hakiri.manifest.expectations import (
    Check,
    ExpectationSpec,
    OnFail,
    RangeSpec,
    expectation_names,
)
from hakiri.manifest.fields import Moment, PartitionBy
from hakiri.manifest.load import Project, load_project
from hakiri.manifest.pipeline import (
    BackfillSpec,
    DestinationSpec,
    PipelineSpec,
    ReferenceSpec,
    SourceSpec,
    TransformSpec,
    dump_pipeline,
)
from hakiri.manifest.problems import Code, DuplicatePipeline, ManifestInvalid, Problem, render_problems
from hakiri.manifest.read import Form
from hakiri.manifest.scalars import Bound, Lag, Scalar
from hakiri.manifest.schema import export_schemas, pipeline_schema, project_schema
from hakiri.manifest.sections import ProjectFile, why_no_project_name
from hakiri.manifest.tables import (
    BloomIndex,
    ColumnSpec,
    CompactionSpec,
    Contract,
    Deletes,
    FtsIndex,
    IndexSpec,
    OnBadRow,
    PkIndex,
    TableSpec,
    VectorIndex,
    columns_of,
    index_id,
)

__all__ = [
    "REMOVE",
    "AlreadyThatFormat",
    "BackfillSpec",
    "BadChange",
    "BloomIndex",
    "Bound",
    "Check",
    "Code",
    "ColumnSpec",
    "CompactionSpec",
    "Contract",
    "Converted",
    "DefinitionsDiffer",
    "Deletes",
    "DestinationSpec",
    "DuplicatePipeline",
    "Edited",
    "ExpectationSpec",
    "FileInTheWay",
    "Form",
    "FtsIndex",
    "IndexSpec",
    "Lag",
    "ManifestInvalid",
    "Moment",
    "NoProject",
    "NotInToml",
    "OnBadRow",
    "OnFail",
    "PartitionBy",
    "PipelineExists",
    "PipelineSpec",
    "PkIndex",
    "Problem",
    "Project",
    "ProjectFile",
    "RangeSpec",
    "ReferenceSpec",
    "Scalar",
    "SourceSpec",
    "TableSpec",
    "TransformSpec",
    "UnknownPipeline",
    "VectorIndex",
    "columns_of",
    "convert_pipeline",
    "create_pipeline",
    "dump_pipeline",
    "edit_pipeline",
    "expectation_names",
    "export_schemas",
    "index_id",
    "load_project",
    "parse_pipeline",
    "pipeline_schema",
    "project_schema",
    "render_problems",
    "value_from_text",
    "why_no_project_name",
]
