"""`hakiri compile`: transforms into plans, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.console import GREEN, YELLOW
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hakiri.cli.app import App
    from hakiri.manifest import Project
    from hakiri.pipelines import ResultSchema
    from hakiri.transforms import Compiled, CompiledFile

cli = command_door()


@cli.command(
    "compile",
    epilog=examples(
        "hakiri compile",
        "hakiri compile transforms/orders.py",
        "hakiri compile --check",
        "hakiri compile --show",
    ),
)
def compile_transforms(
    ctx: typer.Context,
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILES]", help="Files in `transforms/`; all if left out."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a file is not up to date.")
    ] = False,
    show_plans: Annotated[
        bool,
        typer.Option("--show", help="Show the plans, and the columns before and after. Starts Spark."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Compile the transforms of the project into the plans that run.

    Writes `pipelines/<id>.transforms.json`, and starts no Spark. The files belong into git.
    """
    from hakiri.cli.project import project_of
    from hakiri.transforms import compile_project, orphans, write_compiled

    app = app_of(ctx)
    project = project_of(app)
    compiled = compile_project(project, files=files)
    outcomes = write_compiled(project.root, compiled, only_look=check)
    schemas = _result_schemas(app, project, compiled) if show_plans else []
    if as_json:
        from hakiri.cli.reports.compile import compile_report

        app.console.data(compile_report(outcomes, orphans(project), schemas))
    else:
        _tell(app, outcomes, orphans(project), is_check=check)
        for schema in schemas:
            _show(app, schema)
    return ExitCode.FAILED if check and any(outcome.is_changed for outcome in outcomes) else ExitCode.DONE


def _tell(app: App, outcomes: Sequence[CompiledFile], orphaned: Sequence[str], *, is_check: bool) -> None:
    console = app.console
    if not outcomes:
        console.note("there is nothing to compile: write a function with @hk.pipeline into `transforms/`")
    for outcome in outcomes:
        word = ("stale" if is_check else "compiled") if outcome.is_changed else "unchanged"
        style = YELLOW if outcome.is_changed and is_check else GREEN
        sources = ", ".join(outcome.sources)
        console.print(f"{console.highlighted(f'{word:<9}', style)} {outcome.path}  ({sources})")
    for orphan in orphaned:
        console.warn(
            f"no pipeline uses `{orphan}`", hint="delete it, or name it in a pipeline's `transforms`"
        )


def _show(app: App, schema: ResultSchema) -> None:
    console = app.console
    console.print(f"\n{schema.pipeline}, table {schema.table}")
    for line in schema.plan:
        console.print(f"  {line}")
    for title, columns in (("in", schema.columns_in), ("out", schema.columns_out)):
        console.print(f"  columns {title}")
        for name, kind in columns:
            console.print(f"    {name:<24} {kind}")


def _result_schemas(app: App, project: Project, compiled: Sequence[Compiled]) -> list[ResultSchema]:
    from hakiri.cli.project import settings_of
    from hakiri.cli.runtime import find_files_of
    from hakiri.cli.spark import spark_of
    from hakiri.pipelines import result_schemas

    settings = settings_of(app, project)
    with spark_of(app, settings, project=project.root) as spark:
        find_files = find_files_of(app, settings, project)
        return result_schemas(spark, project, compiled, env=app.env, clock=app.clock, find_files=find_files)
