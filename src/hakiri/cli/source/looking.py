"""`hakiri source tables | sample | check`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import App, app_of
from hakiri.cli.console import GREEN, RED
from hakiri.cli.frame import AsJson
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from hakiri.cli.console import Console
    from hakiri.cli.reports.sources import SourceCheckRow, SourceTableRow
    from hakiri.manifest import PipelineSpec, Project
    from hakiri.sources.contract import Connector
    from hakiri.sources.looking import Checked, SeenTable

PipelineArgument = Annotated[str, typer.Argument(metavar="PIPELINE", help="The id of the pipeline.")]
MOST_ROWS = 10_000


def tables(ctx: typer.Context, *, pipeline_id: PipelineArgument, as_json: AsJson = False) -> None:
    """Show the tables of a pipeline's source: columns, keys, and how each is read.

    Those that the pipeline pulls come first.
    """
    from hakiri.cli.project import project_of
    from hakiri.cli.reports import SourceTablesReport
    from hakiri.sources.looking import look_at_tables

    app = app_of(ctx)
    project = project_of(app)
    spec = project.pipeline(pipeline_id)
    with _connected(app, project, spec, "asking the source for its tables") as connector:
        seen = look_at_tables(connector, spec)
    report = SourceTablesReport(
        pipeline=spec.id, connector=spec.source.connector, tables=tuple(_table_row(each) for each in seen)
    )
    if as_json:
        app.console.data(report)
    elif not seen:
        app.console.note(f"the source of pipeline `{spec.id}` has no tables")
    else:
        app.console.print("\n\n".join(_table_text(row) for row in report.tables))


def sample(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineArgument,
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A table of the source; the first by default.")
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, max=MOST_ROWS, help="How many rows to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the first rows of a table as the source gives them, without Spark.

    Nothing is written, and no transform is run.
    """
    from hakiri.cli.project import project_of
    from hakiri.cli.reports import SourceSampleReport
    from hakiri.cli.reports.sources import SourceColumn
    from hakiri.cli.values import json_value, shown_cell
    from hakiri.sources.looking import take_sample

    app = app_of(ctx)
    project = project_of(app)
    spec = project.pipeline(pipeline_id)
    with _connected(app, project, spec, "reading some rows") as connector:
        taken = take_sample(connector, spec, table, rows=rows)
    names = [name for name, _ in taken.columns]
    if as_json:
        app.console.data(
            SourceSampleReport(
                pipeline=spec.id,
                table=taken.table,
                columns=tuple(SourceColumn(name=name, type=kind) for name, kind in taken.columns),
                rows=tuple(
                    dict(zip(names, (json_value(value) for value in row), strict=True)) for row in taken.rows
                ),
            )
        )
        return
    titles = [f"{name} ({kind})" for name, kind in taken.columns] if app.is_verbose else names
    app.console.table(titles, [[shown_cell(value) for value in row] for row in taken.rows])
    count = "1 row" if len(taken.rows) == 1 else f"{len(taken.rows)} rows"
    app.console.note(f"\n{count} of table `{taken.table}` of pipeline `{spec.id}`; nothing was written")


def check(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[
        str | None, typer.Argument(metavar="PIPELINE", help="The id of the pipeline; all by default.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Try the way to the source and the credentials, of one pipeline or of all.

    Exits with 1 when a source cannot be reached.
    """
    from hakiri.cli.progress import said_while_it_takes
    from hakiri.cli.project import project_of
    from hakiri.cli.reports import SourceCheckReport
    from hakiri.sources.looking import check_pipelines

    app = app_of(ctx)
    project = project_of(app)
    specs = [project.pipeline(pipeline_id)] if pipeline_id is not None else list(project.pipelines)
    whole = "1 source" if len(specs) == 1 else f"{len(specs)} sources"
    with said_while_it_takes(app.console, f"checking {whole}") as say:
        checked = check_pipelines(
            specs,
            project,
            app.env,
            app.clock,
            on_answer=lambda count: say(f"checked {count} of {whole}"),
        )
    rows = tuple(_check_row(each) for each in checked)
    is_healthy = all(row.status == "ok" for row in rows)
    if as_json:
        app.console.data(SourceCheckReport(is_healthy=is_healthy, checks=rows))
    else:
        width = max((len(row.pipeline) for row in rows), default=0)
        for row in rows:
            _show_check(app.console, row, width)
    return ExitCode.DONE if is_healthy else ExitCode.FAILED


@contextmanager
def _connected(app: App, project: Project, spec: PipelineSpec, words: str) -> Iterator[Connector]:
    """The pipeline's connector, while a person sees what is being done. Print nothing in the block."""
    from hakiri.cli.progress import said_while_it_takes
    from hakiri.sources.opening import open_connector

    with (
        said_while_it_takes(app.console, words),
        open_connector(spec, project, app.env, app.clock) as connector,
    ):
        yield connector


def _table_row(seen: SeenTable) -> SourceTableRow:
    from hakiri.cli.reports.sources import HintRow, SourceColumn, SourceTableRow

    table, hint = seen.table, seen.hint
    return SourceTableRow(
        name=table.name,
        is_pulled=seen.is_pulled,
        is_open=table.is_open,
        columns=tuple(SourceColumn(name=name, type=kind) for name, kind in seen.columns),
        primary_key=table.primary_key,
        cursor_fields=table.cursor_fields,
        estimated_rows=table.estimated_rows,
        hint=HintRow(
            cursor_kind=hint.cursor_kind.value,
            cursor_field=hint.cursor_field,
            window=str(hint.natural_window) if hint.natural_window is not None else None,
            partition_keys=hint.partition_keys,
            rate_budget=str(hint.rate_budget) if hint.rate_budget is not None else None,
        ),
        description=table.description,
    )


def _table_text(row: SourceTableRow) -> str:
    hint = row.hint
    cursor = hint.cursor_field or ", ".join(row.cursor_fields)
    facts = {
        "about": row.description,
        "key": ", ".join(row.primary_key),
        "cursor": f"{cursor} ({hint.cursor_kind})" if cursor else hint.cursor_kind,
        "window": hint.window or "",
        "partitions": f"by {', '.join(hint.partition_keys)}" if hint.partition_keys else "",
        "budget": hint.rate_budget or "",
    }
    about = [f"about {row.estimated_rows:,} rows"] if row.estimated_rows is not None else []
    about += ["pulled"] if row.is_pulled else []
    width = max(len(column.name) for column in row.columns)
    return "\n".join(
        [
            f"{row.name}  ({', '.join(about)})" if about else row.name,
            *(f"    {name:<10}  {value}" for name, value in facts.items() if value),
            *(f"      {column.name:<{width}}  {column.type}" for column in row.columns),
        ]
    )


def _check_row(checked: Checked) -> SourceCheckRow:
    from hakiri.cli.reports.sources import SourceCheckRow

    error = checked.error
    return SourceCheckRow(
        pipeline=checked.pipeline,
        connector=checked.connector,
        status="ok" if error is None else "failed",
        found=checked.found,
        code="" if error is None else error.code,
        hint="" if error is None else error.hint,
    )


def _show_check(console: Console, row: SourceCheckRow, width: int) -> None:
    style = GREEN if row.status == "ok" else RED
    mark = console.highlighted(f"[{row.status}]".ljust(8), style)
    console.print(f"{mark} {row.pipeline:<{width}}  {row.connector}: {row.found}")
    if row.hint:
        console.print(f"{'':<8} {'':<{width}}  hint: {row.hint}")
