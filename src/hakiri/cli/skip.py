"""`hakiri skip`: leave out what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.cli.operating import AsWhom, PipelineArgument, desk_of, piece_rows, show_pieces
from hakiri.cli.retry import decide, decision_report

if TYPE_CHECKING:
    from hakiri.catalog.contract.chunks import Chunk
    from hakiri.cli.console import Console
    from hakiri.manifest import PipelineSpec

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
    desk = desk_of(app)
    spec = desk.project.pipeline(pipeline_id)
    decided, by = decide(desk, spec, Decision.SKIP, who)
    if as_json:
        app.console.data(decision_report(spec, Decision.SKIP, by, decided))
    elif decided.chunks:
        show_pieces(app.console, piece_rows(decided.chunks))
    else:
        app.console.print(f"{spec.id}: no chunk had failed, so nothing is left out")
    _tell_losses(app.console, spec, decided.chunks)
    app.console.note(f"run `hakiri apply {spec.id}`")


def _tell_losses(console: Console, spec: PipelineSpec, chunks: Sequence[Chunk]) -> None:
    """Tell what becomes of the rows, and for those that are missing the commands that pull them."""
    from hakiri.cli.board.words import counted
    from hakiri.pipelines.chunks.pieces import Piece
    from hakiri.pipelines.operations.missing import Loss, loss_of

    losses = [(chunk, loss_of(Piece.parse(chunk.predicate))) for chunk in chunks]
    for loss in Loss:
        lost = [chunk for chunk, what in losses if what is loss]
        if not lost:
            continue
        told = f"{counted(len(lost), 'chunk')} left out: {loss.value}"
        if loss is Loss.MISSING:
            console.warn(told, hint="\n      ".join(_commands(spec, lost)))
        else:
            console.note(told)


def _commands(spec: PipelineSpec, chunks: Sequence[Chunk]) -> list[str]:
    """What pulls the chunks later."""
    from hakiri.pipelines.chunks.pieces import Piece
    from hakiri.pipelines.operations.missing import range_of

    commands = []
    for chunk in chunks:
        ends = range_of(Piece.parse(chunk.predicate))
        table = f" --table {chunk.table}" if len(spec.tables) > 1 else ""
        if ends is not None:
            since, until = ends
            commands.append(
                f"hakiri backfill rewind {spec.id}{table} --from {since} --to {until} --reason TEXT"
            )
    return commands
