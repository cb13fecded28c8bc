"""`hakiri preview`: the first rows of a pipeline, through Spark, with nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples

if TYPE_CHECKING:
    from hakiri.cli.reports import PreviewReport
    from hakiri.pipelines import Preview

cli = command_door()
MOST_ROWS = 10_000


@cli.command(
    "preview",
    epilog=examples(
        "hakiri preview orders",
        "hakiri preview orders --rows 50",
        "hakiri preview shop --table customers",
        "hakiri preview orders --json",
    ),
)
def preview(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[str, typer.Argument(metavar="ID", help="The pipeline to look at.")],
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="One of its tables; the first if left out.")
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, max=MOST_ROWS, help="How many rows to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline's source and transforms on Spark and show the first rows.

    Nothing is written.
    """
    from hakiri.cli.project import project_of, settings_of
    from hakiri.cli.runtime import find_files_of
    from hakiri.cli.spark import engine_of, spark_of
    from hakiri.cli.values import shown_cell
    from hakiri.engine import address_for_tasks
    from hakiri.pipelines import preview_rows, ready_to_preview

    app = app_of(ctx)
    project = project_of(app)
    settings = settings_of(app, project)
    advertised = address_for_tasks(engine_of(app, settings).config)
    with (
        ready_to_preview(
            project, pipeline_id, table=table, env=app.env, clock=app.clock, advertised=advertised
        ) as prospect,
        spark_of(app, settings, project=project.root) as spark,
    ):
        find_files = find_files_of(app, settings, project)
        seen = preview_rows(spark, prospect, rows=rows, find_files=find_files)
    if as_json:
        app.console.data(_report(pipeline_id, seen))
        return
    names = (
        [f"{name} ({kind})" for name, kind in seen.columns]
        if app.is_verbose
        else [n for n, _ in seen.columns]
    )
    app.console.table(names, [[shown_cell(value) for value in row] for row in seen.rows])
    through = f" through {', '.join(seen.steps)}" if seen.steps else ""
    count = "1 row" if len(seen.rows) == 1 else f"{len(seen.rows)} rows"
    app.console.note(f"\n{count} of pipeline `{pipeline_id}`{through}; nothing was written")


def _report(pipeline_id: str, seen: Preview) -> PreviewReport:
    from hakiri.cli.reports import PreviewReport
    from hakiri.cli.reports.plan import PreviewColumn
    from hakiri.cli.values import json_value

    names = [name for name, _ in seen.columns]
    return PreviewReport(
        pipeline=pipeline_id,
        table=seen.table,
        columns=tuple(PreviewColumn(name=name, type=kind) for name, kind in seen.columns),
        rows=tuple(dict(zip(names, (json_value(value) for value in row), strict=True)) for row in seen.rows),
        steps=seen.steps,
    )
