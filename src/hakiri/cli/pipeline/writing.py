"""`hakiri pipeline create | edit | convert`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hakiri.cli.app import App, app_of
from hakiri.cli.frame import AsJson
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Form = Literal["json", "toml"]
STDIN = "-"


def create(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The id; may be left out when `--from` brings it.")
    ] = None,
    connector: Annotated[
        str | None, typer.Option("--connector", metavar="NAME", help="The connector that reads.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", metavar="KEY=VALUE", help="What the connector needs; JSON or text; may be repeated."
        ),
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="A table to pull; may be repeated.")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option("--schedule", metavar="TEXT", help="`every 15m`, or five cron fields.")
    ] = None,
    incremental: Annotated[
        str | None, typer.Option("--incremental", metavar="COLUMN", help="The cursor column.")
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME",
            help="A variable of the environment that the connector may read; may be repeated.",
        ),
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="A file of its own in JSON, or a block of hakiri.toml.")
    ] = "json",
    source_file: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="A whole pipeline as JSON; `-` reads stdin."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a new pipeline, once it is checked.

    It goes to `pipelines/<id>.json`, or with `--format toml` to the end of `hakiri.toml`.
    """
    from hakiri.cli.reports import PipelineCreateReport
    from hakiri.manifest import create_pipeline, dump_pipeline, parse_pipeline

    app = app_of(ctx)
    given = {
        "--connector": connector,
        "--config": config,
        "--table": table,
        "--schedule": schedule,
        "--incremental": incremental,
        "--secret": secret,
    }
    if source_file is not None:
        _refuse_beside_from([name for name, value in given.items() if value])
        origin, data = _whole_pipeline(app, source_file, pipeline_id)
    else:
        _require({"ID": pipeline_id, "--connector": connector, "--table": table})
        origin = "command line"
        data = {
            "id": pipeline_id,
            "source": {"connector": connector, "config": _config(config or ())},
            "secrets": secret,
            "tables": table,
            "schedule": schedule,
            "incremental": incremental,
        }
    spec = parse_pipeline({key: value for key, value in data.items() if value is not None}, origin=origin)
    path = create_pipeline(app.project_dir, spec, form)
    report = PipelineCreateReport(
        id=spec.id, format=form, file=_relative(app, path), spec=dump_pipeline(spec)
    )
    if as_json:
        app.console.data(report)
    else:
        app.console.note(f"created pipeline `{report.id}` in {report.file}")


def edit(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the pipeline.")],
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="PATH=VALUE", help="Set a field; JSON or text; may be repeated."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", metavar="PATH", help="Take a field out; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change fields of a pipeline, and show the difference.

    The file keeps its format, its comments and the order of its fields. PATH is dotted: `backfill.window`,
    `tables.orders.primary_key`.
    """
    from hakiri.cli.reports import PipelineEditReport
    from hakiri.manifest import REMOVE, dump_pipeline, edit_pipeline, value_from_text

    app = app_of(ctx)
    changes: dict[str, Any] = {
        path: value_from_text(value) for path, value in _pairs("--field", "PATH=VALUE", field or ())
    }
    changes |= dict.fromkeys(unset or (), REMOVE)
    if not changes:
        raise UsageError("there is nothing to change", hint="give `--field PATH=VALUE` or `--unset PATH`")
    edited = edit_pipeline(app.project_dir, pipeline_id, changes)
    file = _relative(app, edited.path)
    report = PipelineEditReport(
        id=edited.spec.id,
        file=file,
        is_changed=edited.is_changed,
        diff=_diff(file, edited.before, edited.after),
        spec=dump_pipeline(edited.spec),
    )
    if as_json:
        app.console.data(report)
    elif report.is_changed:
        app.console.diff(report.diff)
    else:
        app.console.note(f"pipeline `{report.id}` says that already")


def convert(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the pipeline.")],
    to: Annotated[Form, typer.Option("--to", help="The format to write it in.")],
    as_json: AsJson = False,
) -> None:
    """Write a pipeline in the other format.

    The old definition is removed, and equal definitions become one. Nothing is lost but the comments of TOML,
    which JSON cannot hold.
    """
    from hakiri.cli.reports import PipelineConvertReport
    from hakiri.cli.reports.failure import file_place
    from hakiri.manifest import convert_pipeline

    app = app_of(ctx)
    converted = convert_pipeline(app.project_dir, pipeline_id, to)
    report = PipelineConvertReport(
        id=pipeline_id,
        format=to,
        before=tuple(file_place(place) for place in converted.was),
        file=_relative(app, converted.path),
        lost_comments=converted.lost_comments,
    )
    for comment in report.lost_comments:
        app.console.warn(f"JSON cannot hold the comment `{comment}`")
    if as_json:
        app.console.data(report)
    else:
        places = ", ".join(str(place) for place in report.before)
        app.console.note(f"moved pipeline `{report.id}` from {places} to {report.file}")


def _require(options: Mapping[str, object]) -> None:
    missing = [name for name, value in options.items() if not value]
    if missing:
        raise UsageError(
            f"a new pipeline needs {', '.join(f'`{name}`' for name in missing)}",
            hint="add what is missing, or give a whole pipeline with `--from`",
        )


def _refuse_beside_from(options: Sequence[str]) -> None:
    if options:
        listed = ", ".join(f"`{name}`" for name in options)
        raise UsageError(
            f"`--from` brings the whole pipeline, so it cannot stand beside {listed}",
            hint="leave out one or the other",
        )


def _whole_pipeline(app: App, source_file: str, pipeline_id: str | None) -> tuple[str, dict[str, Any]]:
    """Where a pipeline in JSON was read from, and what it says; the id is filled in if it is left out."""
    from hakiri.manifest.problems import invalid
    from hakiri.manifest.read import read_text

    if source_file == STDIN:
        app.console.detail("reading the pipeline from stdin")
        origin, text = "stdin", app.stdin.read()
    else:
        origin, text = source_file, (app.cwd / source_file).read_text(encoding="utf-8")
    reading = read_text(origin, "json", text)
    if reading.document is None or reading.problems:
        raise invalid(reading.problems)
    data = reading.document.data
    if pipeline_id is not None and data.setdefault("id", pipeline_id) != pipeline_id:
        raise UsageError(
            f"the pipeline in {origin} has the id `{data['id']}`, not `{pipeline_id}`",
            hint="leave out one of them",
        )
    return origin, data


def _config(texts: Sequence[str]) -> dict[str, Any]:
    from hakiri.manifest import value_from_text

    return {key: value_from_text(value) for key, value in _pairs("--config", "KEY=VALUE", texts)}


def _pairs(option: str, form: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in texts]
    for text, (key, equals, _) in zip(texts, pairs, strict=True):
        if not (key and equals):
            raise UsageError(f"`{option} {text}` has no value", hint=f"write `{option} {form}`")
    return [(key, value) for key, _, value in pairs]


def _relative(app: App, path: Path) -> str:
    return path.relative_to(app.project_dir).as_posix()


def _diff(file: str, before: str, after: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), fromfile=file, tofile=file, n=1, lineterm=""
    )
    return "\n".join(lines)
