"""`hakiri init`: a project that runs as it is."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST_NAME = 63

cli = command_door()


@cli.command(
    "init",
    epilog=examples("hakiri init", "hakiri init shop", "hakiri init shop --name web-shop --force --json"),
)
def init(
    ctx: typer.Context,
    *,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of the new project.")] = ".",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The project's name, by default the folder's.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the files of a project that are there already.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a project that runs as it is.

    Writes a manifest with one pipeline over sample data, a transform, an example query, and the settings that
    show your editor the schemas. Everything works offline.
    """
    from hakiri.cli.reports.project import InitReport
    from hakiri.cli.scaffold import NEXT_COMMANDS, project_files
    from hakiri.cli.scaffold.writing import place_files
    from hakiri.manifest.schema import SCHEMA_FOLDER, schema_files

    app = app_of(ctx)
    target = (app.cwd / folder).resolve()
    project = _checked_name(name) if name is not None else _name_from(target)
    texts = {**project_files(project), **schema_files()}
    overwritten = place_files(target, texts, may_overwrite=force, generated=SCHEMA_FOLDER)
    steps = NEXT_COMMANDS if target == app.cwd else (f"cd {shlex.quote(folder)}", *NEXT_COMMANDS)
    report = InitReport(
        project=project,
        folder=str(target),
        files=tuple(sorted(texts)),
        overwritten=tuple(overwritten),
        next=steps,
    )
    if as_json:
        app.console.data(report)
        return
    app.console.note(f"made project `{project}` in {target} ({len(report.files)} files)")
    app.console.note("next:\n" + "\n".join(f"  {step}" for step in steps))


def _checked_name(name: str) -> str:
    from hakiri.manifest import why_no_project_name

    if why := why_no_project_name(name):
        raise UsageError(why, hint="choose another `--name`")
    return name


def _name_from(folder: Path) -> str:
    name = re.sub(r"[^a-z0-9_]+", "-", folder.name.lower()).strip("-_")[:_LONGEST_NAME]
    if not name:
        raise UsageError(f"the folder `{folder}` gives no name for a project", hint="name it with `--name`")
    return name
