"""`hakiri backfill`: the plan of a pipeline, and pulling a part of it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door
from hakiri.cli.operating import (
    COMFORT,
    AsWhom,
    PipelineArgument,
    brief_count,
    desk_of,
    piece_rows,
    piece_words,
    predicate_of,
    show_pieces,
)
from hakiri.cli.runs import CHUNK_STYLES
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
    from hakiri.cli.console import Console
    from hakiri.cli.reports.operations import PlannedChunkRow

cli = group_door(
    "Show the plan of a pipeline, and pull a part of it again.\n\n"
    "A pipeline pulls its history in chunks, each of which is committed on its own.",
    epilog=examples(
        "hakiri backfill chunks orders",
        "hakiri backfill rewind orders --from 2024-01-01 --to 2024-06-30 --reason 'RT-481'",
    ),
)


@cli.command(
    "rewind",
    epilog=examples(
        "hakiri backfill rewind orders --from 2024-01-01 --to 2024-06-30 --reason 'RT-481'",
        "hakiri backfill rewind orders --from 1000 --to 1999 --table orders --reason 'bad import'",
    ),
)
def rewind(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineArgument,
    since: Annotated[
        str, typer.Option("--from", metavar="VALUE", help="The first value: a day, a moment or a number.")
    ],
    until: Annotated[
        str,
        typer.Option(
            "--to", metavar="VALUE", help="The last one; a moment is the first that is not pulled again."
        ),
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept with the data.")],
    table: Annotated[str | None, typer.Option("--table", help="One table; all if left out.")] = None,
    who: AsWhom = None,
    as_json: AsJson = False,
) -> None:
    """Pull a range of a pipeline again, with a reason.

    Chunks that overlap the range are pending again; the old ones are kept for audit, and their rows are seen
    until the new ones are there. Nothing runs before `hakiri apply`.
    """
    from hakiri.cli.board.words import counted, predicate_words
    from hakiri.cli.reports import RewindReport
    from hakiri.pipelines.chunks.ranges import ValueRange
    from hakiri.pipelines.operations.errors import NothingRead

    app = app_of(ctx)
    desk = desk_of(app)
    spec = desk.project.pipeline(pipeline_id)
    span = ValueRange.parse(since, until)
    if not reason.strip():
        raise UsageError("a rewind needs a reason", hint="say with `--reason` why it is done")
    with desk.changing() as catalog:
        if catalog is None:
            raise NothingRead(spec.id)
        operator = desk.operator(catalog, who)
        pulled = operator.rewind(spec, span, reason=reason, table=table)
    rows = piece_rows(pulled.chunks)
    if as_json:
        app.console.data(
            RewindReport(
                pipeline_id=spec.id,
                by=operator.by,
                reason=reason,
                since=since,
                until=until,
                chunks=rows,
                kept=pulled.kept,
                begins={str(name): begins for name, begins in pulled.begins.items()},
            )
        )
        return
    show_pieces(app.console, rows)
    for name, begins in pulled.begins.items():
        app.console.warn(
            f"the history of table `{name}` begins at {predicate_words(str(begins))}: nothing before that "
            "was ever pulled, and it is not pulled now",
            hint="for what lies before, set an earlier `start_from` in the manifest and run `hakiri apply "
            f"{spec.id}`",
        )
    app.console.note(f"{counted(len(rows), 'chunk')} will be pulled again; run `hakiri apply {spec.id}`")


@cli.command(
    "chunks",
    epilog=examples(
        "hakiri backfill chunks orders",
        "hakiri backfill chunks orders --status failed",
        "hakiri backfill chunks orders --json",
    ),
)
def chunks(
    ctx: typer.Context,
    *,
    pipeline_id: PipelineArgument,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only chunks in this state.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the plan of a pipeline: every chunk, what it reads, and what became of it."""
    from hakiri.cli.reports import ChunksReport
    from hakiri.core.ids import PipelineId
    from hakiri.pipelines.operations.streams import all_chunks

    app = app_of(ctx)
    desk = desk_of(app)
    wanted = _status(status)
    with desk.looking() as catalog:
        found = [] if catalog is None else list(all_chunks(catalog, PipelineId(pipeline_id), status=wanted))
    if not found:
        desk.project.pipeline(pipeline_id)  # says so if there is none; one that is gone keeps its chunks
    rows = tuple(_row(chunk) for chunk in found)
    if as_json:
        app.console.data(ChunksReport(pipeline_id=pipeline_id, chunks=rows))
    elif not rows:
        app.console.print(f"{pipeline_id} has no {status + ' ' if status else ''}chunks")
    else:
        _show(app.console, rows)


def _status(text: str | None) -> ChunkStatus | None:
    from hakiri.catalog.contract.chunks import ChunkStatus

    if text is None:
        return None
    if text not in set(ChunkStatus):
        raise UsageError(f"chunks are never `{text}`", hint=f"choose one of: {', '.join(ChunkStatus)}")
    return ChunkStatus(text)


def _row(chunk: Chunk) -> PlannedChunkRow:
    from hakiri.cli.reports.operations import PlannedChunkRow

    return PlannedChunkRow(
        chunk=chunk.chunk,
        table=chunk.table,
        reads=piece_words(chunk),
        predicate=predicate_of(chunk),
        status=chunk.status.value,
        attempts=chunk.attempts,
        run=chunk.run,
        rows=chunk.rows,
        bytes=chunk.bytes,
        error_kind=chunk.error_kind,
        error_message=chunk.error_message,
        superseded_by=chunk.superseded_by,
        reason=chunk.reason,
    )


def _show(console: Console, rows: Sequence[PlannedChunkRow]) -> None:
    from hakiri.cli.columns import Column, print_columns
    from hakiri.core.grammar import format_size

    def cells(fact: Callable[[PlannedChunkRow], str]) -> list[str]:
        return [fact(row) for row in rows]

    print_columns(
        console,
        [
            Column(title="chunk", cells=cells(lambda row: str(row.chunk)), is_number=True),
            Column(title="table", cells=cells(lambda row: row.table), worth=60),
            Column(title="reads", cells=cells(lambda row: row.reads), comfort=COMFORT),
            Column(title="status", cells=cells(_status_cell), styles=CHUNK_STYLES),
            Column(title="tries", cells=cells(lambda row: str(row.attempts)), is_number=True, worth=70),
            Column(
                title="rows",
                cells=cells(lambda row: "" if row.rows is None else brief_count(row.rows)),
                is_number=True,
                worth=90,
            ),
            Column(
                title="bytes",
                cells=cells(lambda row: "" if row.bytes is None else format_size(row.bytes)),
                is_number=True,
                worth=80,
            ),
            Column(title="because", cells=cells(_why), worth=85, comfort=20),
        ],
    )


def _status_cell(row: PlannedChunkRow) -> str:
    return f"{row.status} by {row.superseded_by}" if row.superseded_by is not None else row.status


def _why(row: PlannedChunkRow) -> str:
    return row.reason or row.error_kind or ""
