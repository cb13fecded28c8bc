"""`hakiri skip`: leave out what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.cli.operating import AsWhom, PipelineArgument, show_pieces
from hakiri.cli.retry import decide

if TYPE_CHECKING:
    from hakiri.catalog.contract.chunks import Chunk
    from hakiri.cli.console import Console

cli = command_door()


@cli.command("skip", epilog=examples("hakiri skip orders", "hakiri skip orders --as agent:night-watch"))
def skip(
    ctx: typer.Context, *, pipeline_id: PipelineArgument, who: AsWhom = None, as_json: AsJson = False
) -> None:
    """Leave out what failed of a pipeline, and have it go on with the rest.

    Says which chunks are left out, and how to pull them later. Nothing runs before `hakiri apply`.
    """
    from hakiri.catalog.contract.pipelines import Decision

    app = app_of(ctx)
    report, decided = decide(app, pipeline_id, Decision.SKIP, who)
    if as_json:
        app.console.data(report)
    elif report.chunks:
        show_pieces(app.console, report.chunks)
    else:
        app.console.print(f"{pipeline_id}: no chunk had failed, so nothing is left out")
    _warn(app.console, pipeline_id, decided.chunks)
    app.console.note(f"run `hakiri apply {pipeline_id}`")


def _warn(console: Console, pipeline_id: str, chunks: Sequence[Chunk]) -> None:
    """Tell what becomes of the rows, and for those that are missing the commands that pull them."""
    from hakiri.cli.board.words import counted
    from hakiri.pipelines.chunks.pieces import Piece
    from hakiri.pipelines.operations.missing import Loss, loss_of, range_of

    pieces = [(chunk, Piece.parse(chunk.predicate)) for chunk in chunks]
    for loss in Loss:
        lost = [(chunk, piece) for chunk, piece in pieces if loss_of(piece) is loss]
        if not lost:
            continue
        told = f"{counted(len(lost), 'chunk')} left out: {loss.value}"
        if loss is not Loss.MISSING:
            console.note(told)
            continue
        commands = []
        for chunk, piece in lost:
            ends = range_of(piece)
            if ends is not None:
                commands.append(
                    f"hakiri backfill rewind {pipeline_id} --table {chunk.table} "
                    f"--from {ends[0]} --to {ends[1]} --reason '…'"
                )
        console.warn(told, hint="\n      ".join(commands))
