"""`hakiri serve`: the daemon that runs pipelines as their schedules come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import command_door, examples
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from datetime import datetime

    from hakiri.cli.app import App
    from hakiri.cli.board import Board
    from hakiri.compaction.compacting import Compacted
    from hakiri.core.errors import HakiriError
    from hakiri.core.ids import TableName
    from hakiri.manifest import Project
    from hakiri.pipelines.choosing import Applied

cli = command_door()


@cli.command("serve", epilog=examples("hakiri serve", "hakiri serve --verbose"))
def serve(ctx: typer.Context) -> int:
    """Keep the pipelines running, each on its schedule.

    Until Ctrl-C or SIGTERM, everything is kept as the manifest says. It is read again when it changes, and
    what `hakiri retry`, `hakiri backfill rewind` and others ask for in the meantime is taken up within
    seconds. Several may serve at once, also on machines that share a catalog. A failed pipeline waits for a
    decision, and the others go on. Meanwhile tables are compacted when they are due, with at most half of
    Spark's cores, and files whose time has come are deleted.
    """
    from hakiri.cli.board.words import counted
    from hakiri.cli.runtime import open_ground, open_place
    from hakiri.pipelines.runtime.apply import open_shop
    from hakiri.serve.daemon import Daemon
    from hakiri.serve.upkeep import Manner

    app = app_of(ctx)
    with (
        open_place(app, only=None) as place,
        open_ground(app, place, is_log=True) as (ground, board),
        open_shop(ground, place.specs) as shop,
    ):
        now = app.clock.now()
        daemon = Daemon(
            shop,
            load=lambda: _runnable(app, place.settings.context.default_destination),
            teller=_Told(app, board),
            news_every=place.settings.runtime.news_every.after(now) - now,
            manner=Manner(by_copy=not place.settings.context.rename),
        )
        board.say(f"serving {counted(len(place.specs), 'pipeline')} of `{place.project.name}`")
        try:
            daemon.work()
        except KeyboardInterrupt:
            # Whoever ends a daemon ends it like this, so that it is no failure.
            board.say("stopped: what was committed stays, and the other chunks were given back")
    return ExitCode.DONE


def _runnable(app: App, destination: str) -> Project:
    """The manifest as it is now. Raises what keeps its pipelines from being run."""
    from hakiri.cli.project import project_of
    from hakiri.pipelines.soundness import require_runnable

    project = project_of(app)
    require_runnable(project, list(project.pipelines), destination)
    return project


class _Told:
    """Says on the board what the daemon tells."""

    def __init__(self, app: App, board: Board) -> None:
        self._app = app
        self._board = board

    def ended(self, applied: Applied) -> None:
        from hakiri.cli.apply import ASIDE_HINT, aside_text, failure_text

        if applied.error is not None:
            self._board.say(failure_text(applied.pipeline, applied.error))
        if applied.result is not None and applied.result.quarantined:
            self._board.say(f"warning: {aside_text(applied.pipeline, applied.result.quarantined)}")
            self._board.say(f"  hint: {ASIDE_HINT}")

    def crashed(self, pipeline: str, error: BaseException) -> None:
        from hakiri.cli.apply import failure_text
        from hakiri.cli.failures import as_hakiri_error

        if self._app.console.is_verbose:
            import traceback

            self._board.say("".join(traceback.format_exception(error)).rstrip())
        self._board.say(failure_text(pipeline, as_hakiri_error(error)))

    def compacting(self, table: TableName, why: str) -> None:
        self._board.say(f"{table}: compacting, {why}")

    def compacted(self, table: TableName, done: Compacted, seconds: float) -> None:
        from hakiri.cli.context.compact import line_of, report_of

        self._board.say(line_of(report_of(table, done, seconds)))

    def not_compacted(self, table: TableName, error: Exception) -> None:
        from hakiri.cli.failures import as_hakiri_error, human_text

        told = as_hakiri_error(error)
        text = human_text(told)
        is_named = f"`{table}`" in str(told)
        self._board.say(text if is_named else text.replace(": ", f": table `{table}`: ", 1))

    def collected(self, files: int, size: int) -> None:
        from hakiri.cli.board.words import counted
        from hakiri.core.grammar import format_size

        self._board.say(f"garbage: {counted(files, 'file')} deleted, {format_size(size)}")

    def troubled(self, error: HakiriError) -> None:
        from hakiri.cli.failures import human_text

        self._board.say(human_text(error))
        self._board.say("what was known before stays in force until that is mended")

    def reloaded(self, pipelines: int) -> None:
        from hakiri.cli.board.words import counted

        self._board.say(f"the manifest has changed: {counted(pipelines, 'pipeline')}")

    def idle(self, following: str | None, at: datetime | None) -> None:
        if following is None or at is None:
            self._board.say("idle: nothing is scheduled")
        else:
            self._board.say(f"idle: `{following}` is next, at {at:%Y-%m-%d %H:%M:%S}Z")
