"""`hakiri pipeline list | describe`."""

from __future__ import annotations

from typing import Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson

PipelineArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the pipeline.")]


def list_pipelines(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """List all pipelines of the project and where each is written."""
    from hakiri.cli.project import project_of
    from hakiri.cli.reports import PipelineListReport
    from hakiri.cli.reports.failure import file_place
    from hakiri.cli.reports.pipelines import PipelineRow

    app = app_of(ctx)
    project = project_of(app)
    rows = tuple(
        PipelineRow(
            id=spec.id,
            connector=spec.source.connector,
            tables=tuple(table.name for table in spec.tables),
            schedule=spec.schedule.text if spec.schedule is not None else None,
            incremental=spec.incremental,
            place=file_place(project.place_of(spec.id)),
        )
        for spec in project.pipelines
    )
    if as_json:
        app.console.data(PipelineListReport(project=project.name, pipelines=rows))
    elif not rows:
        app.console.note("the project has no pipelines yet\nhint: run `hakiri pipeline create --help`")
    else:
        app.console.table(
            ("pipeline", "connector", "tables", "schedule", "written in"),
            [
                (row.id, row.connector, ", ".join(row.tables), row.schedule or "when asked", str(row.place))
                for row in rows
            ],
        )


def describe(ctx: typer.Context, *, pipeline_id: PipelineArgument, as_json: AsJson = False) -> None:
    """Show one pipeline in full, and where it is written."""
    from hakiri.cli.project import project_of
    from hakiri.cli.reports import PipelineDescribeReport
    from hakiri.cli.reports.failure import file_place
    from hakiri.manifest import dump_pipeline

    app = app_of(ctx)
    project = project_of(app)
    report = PipelineDescribeReport(
        id=pipeline_id,
        place=file_place(project.place_of(pipeline_id)),
        spec=dump_pipeline(project.pipeline(pipeline_id)),
    )
    if as_json:
        app.console.data(report)
        return
    fields = [(key, _text(value)) for key, value in report.spec.items()]
    app.console.table(("field", "value"), [*fields, ("written in", str(report.place))])


def _text(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
