"""`hakiri cursor`: how far each table was read, and how to move that by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door
from hakiri.cli.operating import (
    COMFORT,
    AsWhom,
    PipelineArgument,
    desk_of,
    is_meant,
    moment_words,
    piece_rows,
    show_pieces,
)
from hakiri.core.errors import UsageError
from hakiri.core.grammar.text import shortened

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.catalog.contract.audit import AuditEntry
    from hakiri.cli.console import Console
    from hakiri.cli.reports import AuditReport, CursorChangeReport
    from hakiri.cli.reports.operations import AuditRow, CursorRow
    from hakiri.manifest import PipelineSpec
    from hakiri.pipelines.operations.changing import MovedCursor

StreamArgument = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="The table, or one of its streams as `cursor get` names them."),
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the audit log.")]

cli = group_door(
    "Show how far each table was read, and move that by hand.\n\n"
    "A table that is read in partitions has a cursor for each, under the name of its stream: "
    "`issues#repo=a/b`. Every change is in the audit log.",
    epilog=examples(
        "hakiri cursor get orders",
        """hakiri cursor set orders orders '{"updated_at": "2026-05-11T08:00:00Z"}'""",
        "hakiri cursor reset orders orders",
        "hakiri cursor log orders",
    ),
)


@cli.command("get", epilog=examples("hakiri cursor get orders", "hakiri cursor get orders orders --json"))
def get(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineArgument,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="One table or stream; all if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show from where the next run of a pipeline goes on."""
    from hakiri.cli.reports import CursorGetReport

    app = app_of(ctx)
    desk = desk_of(app)
    spec = desk.project.pipeline(pipeline_id)
    with desk.looking() as catalog:
        rows = _cursor_rows(catalog, spec, table)
    if as_json:
        app.console.data(CursorGetReport(pipeline_id=spec.id, cursors=rows))
    else:
        _show_cursors(app.console, rows)


@cli.command(
    "set",
    epilog=examples(
        """hakiri cursor set orders orders '{"updated_at": "2026-05-11T08:00:00Z"}'""",
        """hakiri cursor set orders orders '{"id": 12834782}' --reason 'RT-481'""",
    ),
)
def set_(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineArgument,
    stream: StreamArgument,
    value: Annotated[str, typer.Argument(metavar="JSON", help="The cursor, as `cursor get` shows it.")],
    reason: Reason = None,
    who: AsWhom = None,
    as_json: AsJson = False,
) -> None:
    """Have the next run of a table go on from another place.

    Refused for a table without a primary key, where rows that are read again would be there twice.
    """
    app = app_of(ctx)
    desk = desk_of(app)
    spec = desk.project.pipeline(pipeline_id)
    cursor = _parsed(value)
    with desk.changing() as catalog:
        if catalog is None:
            raise _never_read(spec, stream)
        operator = desk.operator(catalog, who)
        moved = operator.set_cursor(spec, stream, cursor, reason)
    if as_json:
        app.console.data(_change_report(spec, operator.by, reason, [moved]))
        return
    _show_moved(app.console, [moved])
    app.console.note(f"the next run goes on from there; run `hakiri run {spec.id}` for one now")


@cli.command(
    "reset",
    epilog=examples("hakiri cursor reset orders orders", "hakiri cursor reset orders orders --yes"),
)
def reset(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineArgument,
    stream: StreamArgument,
    reason: Reason = None,
    who: AsWhom = None,
    is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask whether this is meant.")] = False,
    as_json: AsJson = False,
) -> None:
    """Have all that was read of a table be pulled again from the start.

    What is there stays visible until the new rows take its place. Nothing runs before `hakiri apply`.
    """
    from hakiri.cli.board.words import counted

    app = app_of(ctx)
    desk = desk_of(app)
    spec = desk.project.pipeline(pipeline_id)
    with desk.changing() as catalog:
        if catalog is None:
            raise _never_read(spec, stream)
        operator = desk.operator(catalog, who)
        question = f"pull all of `{stream}` of pipeline `{spec.id}` again?"
        if not is_sure and not is_meant(app, question, what="this pulls everything again"):
            app.console.note("nothing was changed")
            return
        moved = operator.reset_cursor(spec, stream, reason)
    if as_json:
        app.console.data(_change_report(spec, operator.by, reason, moved))
        return
    _show_moved(app.console, moved)
    chunks = sum(len(each.pulled.chunks) for each in moved)
    app.console.note(f"{counted(chunks, 'chunk')} will be pulled again; run `hakiri apply {spec.id}`")


@cli.command("log", epilog=examples("hakiri cursor log orders", "hakiri cursor log orders --json"))
def log(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineArgument,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many entries.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what people and agents changed about a pipeline, the newest first: the audit log."""
    from hakiri.core.ids import PipelineId

    app = app_of(ctx)
    desk = desk_of(app)
    with desk.looking() as catalog:
        entries = () if catalog is None else catalog.audit.page(pipeline=PipelineId(pipeline_id), limit=limit)
    if not entries:
        desk.project.pipeline(pipeline_id)  # says so if there is none; one that is gone keeps its log
    report = _audit_report(pipeline_id, entries)
    if as_json:
        app.console.data(report)
    elif not report.entries:
        app.console.print(f"nobody changed anything about {pipeline_id} yet")
    else:
        _show_log(app.console, report.entries)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"the cursor is not JSON: {error.msg.lower()} at position {error.pos + 1} of `{shortened(text)}`",
            hint="""write it like '{"id": 12834782}', in single quotes""",
        ) from error


def _never_read(spec: PipelineSpec, stream: str) -> Exception:
    from hakiri.pipelines.operations.errors import NeverRead, NoSuchStream
    from hakiri.pipelines.operations.streams import store_tables

    tables = store_tables(spec, stream)
    return (
        NeverRead(spec.id, tables[0]) if tables else NoSuchStream(spec.id, stream, store_tables(spec, None))
    )


def _cursor_rows(catalog: Catalog | None, spec: PipelineSpec, name: str | None) -> tuple[CursorRow, ...]:
    """Every stream of the pipeline, tables that were never read included, or those that are named."""
    from hakiri.cli.reports.operations import CursorRow
    from hakiri.core.ids import PipelineId
    from hakiri.pipelines.chunks.pieces import stream_of
    from hakiri.pipelines.operations.errors import NoSuchStream
    from hakiri.pipelines.operations.streams import read_whole_at, store_tables, streams_of

    pipeline = PipelineId(spec.id)
    known = () if catalog is None else streams_of(catalog, pipeline)
    read = {stream_of(stream)[0] for stream in known}
    streams = sorted({*known, *(table for table in store_tables(spec, None) if table not in read)})
    tables = store_tables(spec, name)
    wanted = [each for each in streams if name in (None, each) or stream_of(each)[0] in tables]
    if not wanted:
        raise NoSuchStream(spec.id, name or "", streams)
    kept = {} if catalog is None else {cursor.table: cursor for cursor in catalog.cursors.all(pipeline)}
    whole = {} if catalog is None else read_whole_at(catalog, pipeline)
    rows = []
    for stream in wanted:
        (table, partition), cursor = stream_of(stream), kept.get(stream)
        rows.append(
            CursorRow(
                stream=stream,
                table=table,
                partition=partition,
                cursor=None if cursor is None else json.loads(cursor.value),
                updated_at=None if cursor is None else cursor.updated_at,
                run=None if cursor is None else cursor.run,
                read_whole_at=whole.get(stream),
            )
        )
    return tuple(rows)


def _show_cursors(console: Console, rows: Sequence[CursorRow]) -> None:
    from hakiri.cli.columns import Column, print_columns

    print_columns(
        console,
        [
            Column(title="stream", cells=[row.stream for row in rows], comfort=COMFORT),
            Column(
                title="cursor",
                cells=[_place_words(row) for row in rows],
            ),
            Column(
                title="since",
                cells=["" if row.updated_at is None else moment_words(row.updated_at) for row in rows],
                worth=50,
            ),
        ],
    )


def _place_words(row: CursorRow) -> str:
    """From where the next run reads the stream."""
    if row.cursor is not None:
        return _cursor_words(row.cursor)
    if row.read_whole_at is None:
        return "none yet"
    return f"none: it is read as a whole each time, last at {moment_words(row.read_whole_at)}"


def _cursor_words(value: object) -> str:
    return "from the start" if value is None else json.dumps(value, ensure_ascii=False)


def _change_report(
    spec: PipelineSpec, by: str, reason: str | None, moved: Sequence[MovedCursor]
) -> CursorChangeReport:
    from hakiri.cli.reports import CursorChangeReport
    from hakiri.cli.reports.operations import CursorMove

    return CursorChangeReport(
        pipeline_id=spec.id,
        by=by,
        reason=reason,
        cursors=tuple(
            CursorMove(
                stream=each.stream,
                before=_loaded(each.before),
                after=_loaded(each.after),
                chunks=piece_rows(each.pulled.chunks),
                kept=each.pulled.kept,
            )
            for each in moved
        ),
    )


def _show_moved(console: Console, moved: Sequence[MovedCursor]) -> None:
    for each in moved:
        console.print(f"{each.stream}: {_text(each.before)} -> {_text(each.after)}")
    rows = piece_rows([chunk for each in moved for chunk in each.pulled.chunks])
    if rows:
        show_pieces(console, rows)


def _audit_report(pipeline: str, entries: Sequence[AuditEntry]) -> AuditReport:
    from hakiri.cli.reports import AuditReport
    from hakiri.cli.reports.operations import AuditRow

    return AuditReport(
        pipeline_id=pipeline,
        entries=tuple(
            AuditRow(
                number=entry.number,
                at=entry.at,
                by=entry.by,
                action=entry.action,
                table=entry.table,
                before=_loaded(entry.before),
                after=_loaded(entry.after),
                reason=entry.reason,
            )
            for entry in entries
        ),
    )


def _show_log(console: Console, entries: Sequence[AuditRow]) -> None:
    from hakiri.cli.columns import width_of
    from hakiri.cli.operating import wrapped

    for entry in entries:
        where = f" {entry.table}" if entry.table else ""
        console.print(f"{moment_words(entry.at)}  {entry.by}  {entry.action}{where}")
        for told in filter(None, [_change_words(entry), entry.reason]):
            for line in wrapped(told, width_of(console), first="  ", rest="  "):
                console.print(line)


def _change_words(entry: AuditRow) -> str:
    """What an entry changed, in the words of its action; those that others explain say nothing here."""
    from hakiri.cli.board.words import counted

    match entry.action, entry.after:
        case "cursor", after:
            return f"{_cursor_words(entry.before)} -> {_cursor_words(after)}"
        case "rewind", list():
            return f"chunks {_listed(entry.before)} -> {_listed(entry.after)}"
        case "rewind", {"pieces": list(pieces)}:
            return f"{counted(len(pieces), 'chunk')} more"
        case "rewind", {"chunks": list(chunks)}:
            return f"chunks {_listed(chunks)} that were skipped"
        case _, {"chunks": int(count)}:
            return counted(count, "chunk")
        case _:
            return ""


def _listed(chunks: Sequence[int]) -> str:
    return ", ".join(map(str, chunks))


def _text(value: str | None) -> str:
    return _cursor_words(_loaded(value))


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
