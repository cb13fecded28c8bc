"""`hakiri singer`: run a Singer tap by hand, without a project."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import Place, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hakiri.cli.app import App
    from hakiri.cli.reports.singer import SingerReport, SingerStreamRow
    from hakiri.sources.contract import Table
    from hakiri.sources.singer.trying import Attempt, Taken

USUAL_ROWS, MOST_ROWS = 10, 10_000

cli = command_door()


@cli.command(
    "singer",
    epilog=examples(
        "hakiri singer tap-github --config github.json --discover",
        "hakiri singer tap-github --config github.json --select issues",
        "hakiri singer tap-github --config github.json --out rows --state-out state.json",
        "hakiri singer tap-github --config github.json --select issues --init",
    ),
)
def singer(
    ctx: typer.Context,
    *,
    tap: Annotated[str, typer.Argument(metavar="TAP", help="The tap: its name in PATH, or its path.")],
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE", help="The tap's own config, as JSON.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", metavar="STREAM", help="A stream; may be repeated.")
    ] = None,
    discover: Annotated[bool, typer.Option("--discover", help="Only show which streams there are.")] = False,
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=1, max=MOST_ROWS, help=f"How many rows to show; {USUAL_ROWS} by default."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write all rows as Parquet, a file for each stream."),
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="FILE", help="Go on from the state in this file.")
    ] = None,
    state_out: Annotated[
        str | None,
        typer.Option("--state-out", metavar="FILE", help="Write the last state there, not to stdout."),
    ] = None,
    init: Annotated[bool, typer.Option("--init", help="Only print a pipeline for the manifest.")] = False,
    properties: Annotated[
        bool, typer.Option("--properties", help="It is an old tap, which takes its catalog so.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a Singer tap by hand, without a project.

    Shows the first rows of a stream, and writes nothing. In the config, `${NAME}` stands for a variable of
    the environment. With `--verbose` the tap's log is shown.
    """
    from hakiri.cli.reports import SingerReport
    from hakiri.sources.singer.trying import pipeline_block, try_tap

    app = app_of(ctx)
    _refuse_together({"--discover": discover, "--init": init, "--out": out, "--rows": rows})
    _refuse_together({"--discover": discover, "--init": init, "--state": state})
    if state_out is not None and out is None:
        raise UsageError("`--state-out` is for rows that are kept", hint="write `--out DIR` as well")
    given = _json_in(app, config) if config is not None else {}
    if not isinstance(given, dict):
        raise UsageError(f"`{config}` holds no JSON object", hint="give the tap's config to `--config`")
    before = _json_in(app, state) if state is not None else None
    with (
        _said(app, f"running {Path(tap).name}"),
        try_tap(
            _found(app, tap),
            given,
            root=app.cwd,
            env=app.env,
            clock=app.clock,
            is_old=properties,
            on_log=app.console.detail,
        ) as attempt,
    ):
        tables = attempt.connector.discover(select)
        taken: list[Taken] = []
        if out is not None:
            taken = _written(app, attempt, tables, before, app.cwd / out)
        elif not discover and not init:
            taken = _some_rows(attempt, _chosen(tables, select), before, rows or USUAL_ROWS)
        report = SingerReport(
            tap=Path(tap).name,
            streams=tuple(_row(app, table) for table in tables)
            if discover or init
            else tuple(_row(app, each.table, each) for each in taken),
            state=taken[-1].state if taken else None,
            manifest=pipeline_block(attempt.config, [table.name for table in tables]),
            notes=attempt.connector.notes,
        )
    if state_out is not None:
        _write_whole(app.cwd / state_out, f"{json.dumps(report.state)}\n")
    if as_json:
        app.console.data(report)
        return
    if init:
        _show_pipeline(app, report)
    elif discover:
        _show_streams(app, report)
    elif out is not None:
        _show_files(app, report, is_state_kept=state_out is not None)
    else:
        _show_rows(app, taken)
    for note in report.notes:
        app.console.note(f"note: {note}")


def _refuse_together(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value]
    if len(given) > 1:
        raise UsageError(f"`{given[0]}` and `{given[1]}` exclude each other", hint="keep one of them")


def _json_in(app: App, name: str) -> Any:
    path = app.cwd / name
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"`{name}` cannot be read: {(error.strerror or '').lower()}") from None
    except ValueError as error:
        # Not the text itself: there may be secrets in it.
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise UsageError(f"`{name}` is no JSON", places=[Place(name, line)]) from None


def _found(app: App, tap: str) -> str:
    """The tap as a manifest in this folder would have it: by its name only if that is enough there too."""
    found = None if os.sep in tap else shutil.which(tap, path=app.env.get("PATH"))
    if found is None or Path(found).parent == Path(sys.executable).parent:
        return tap
    path = Path(found).absolute()
    return str(path.relative_to(app.cwd) if path.is_relative_to(app.cwd) else path)


def _chosen(tables: Sequence[Table], select: Sequence[str] | None) -> Sequence[Table]:
    if select is None and len(tables) != 1:
        shown = ", ".join(table.name for table in tables)
        raise UsageError(
            f"the tap has {len(tables)} streams, and none was chosen",
            hint=f"write `--select` with one of: {shown}" if shown else "check the tap's config",
        )
    return tables


def _some_rows(attempt: Attempt, tables: Sequence[Table], state: Any, count: int) -> list[Taken]:
    from hakiri.sources.singer.trying import take_rows

    return [take_rows(attempt.connector, table, state, rows=count) for table in tables]


def _written(app: App, attempt: Attempt, tables: Sequence[Table], state: Any, folder: Path) -> list[Taken]:
    """Every stream in its file. A run goes on with the state of the one before; the last has all of it."""
    from hakiri.sources.singer.trying import file_of, write_rows

    files = [file_of(folder, table.name) for table in tables]
    present = [file for file in files if file.exists()]
    if present:
        raise UsageError(
            "files of these streams are there already",
            places=[Place(_relative(app, file)) for file in present],
            hint="choose another folder, or move them away",
        )
    folder.mkdir(parents=True, exist_ok=True)
    taken: list[Taken] = []
    for table, file in zip(tables, files, strict=True):
        taken.append(write_rows(attempt.connector, table, state, file))
        state = taken[-1].state
    return taken


def _row(app: App, table: Table, taken: Taken | None = None) -> SingerStreamRow:
    from hakiri.cli.reports.singer import SingerStreamRow
    from hakiri.cli.reports.sources import SourceColumn
    from hakiri.cli.values import json_value
    from hakiri.sources.singer.trying import columns_of

    columns = columns_of(table)
    names = [name for name, _ in columns]
    rows = taken.rows if taken is not None else ()
    file = taken.file if taken is not None else None
    return SingerStreamRow(
        name=table.name,
        primary_key=table.primary_key,
        cursor_fields=table.cursor_fields,
        columns=tuple(SourceColumn(name=name, type=kind) for name, kind in columns),
        rows=tuple(dict(zip(names, map(json_value, row), strict=True)) for row in rows),
        rows_read=taken.rows_read if taken is not None else 0,
        file=_relative(app, file) if file is not None else None,
    )


def _show_streams(app: App, report: SingerReport) -> None:
    app.console.table(
        ("stream", "key", "cursor", "columns"),
        [
            (
                stream.name,
                ", ".join(stream.primary_key),
                ", ".join(stream.cursor_fields),
                ", ".join(f"{column.name} ({column.type})" for column in stream.columns)
                if app.is_verbose
                else str(len(stream.columns)),
            )
            for stream in report.streams
        ],
    )


def _show_rows(app: App, taken: Sequence[Taken]) -> None:
    from hakiri.cli.values import shown_cell
    from hakiri.sources.singer.trying import columns_of

    for each in taken:
        columns = columns_of(each.table)
        titles = [f"{name} ({kind})" if app.is_verbose else name for name, kind in columns]
        app.console.table(titles, [[shown_cell(value) for value in row] for row in each.rows])
        app.console.note(f"\n{_counted(each.rows_read)} of stream `{each.table.name}`; nothing was written")


def _show_files(app: App, report: SingerReport, *, is_state_kept: bool) -> None:
    for stream in report.streams:
        app.console.note(f"{_counted(stream.rows_read)} of stream `{stream.name}` in {stream.file}")
    if report.state is not None and not is_state_kept:
        app.console.print(json.dumps(report.state))


def _show_pipeline(app: App, report: SingerReport) -> None:
    from hakiri.sources.config import Template

    app.console.print(report.manifest)
    names = Template(report.manifest).names
    exports = f", and export {' '.join(f'{name}=…' for name in names)}" if names else ""
    app.console.note(f"\nadd this to hakiri.toml{exports}")


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _relative(app: App, path: Path) -> str:
    return str(path.relative_to(app.cwd) if path.is_relative_to(app.cwd) else path)


def _write_whole(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, "utf-8")
    part.replace(path)


@contextmanager
def _said(app: App, words: str) -> Iterator[None]:
    """Say what is being done where it can be wiped away again."""
    from hakiri.cli.progress import steps_shown

    if not app.console.err.isatty() or app.is_verbose:
        yield
        return
    with steps_shown(app.console) as say:
        say(words)
        yield
