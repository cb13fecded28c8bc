"""The board itself: takes events from any thread and shows them to a person."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hakiri.catalog.contract.pipelines import Phase
from hakiri.cli.board.frame import frame
from hakiri.cli.board.lines import ended_lines, progress_line, schema_lines, started_line, stopped_line
from hakiri.cli.board.parts import QUIET, Line, Part, text_of
from hakiri.cli.board.state import BoardState
from hakiri.cli.board.words import counted, elapsed_words, signs_for
from hakiri.pipelines.events import ChunkGivenBack, Event, Published, RunEnded, RunStarted, SchemaChanged

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.text import Text

    from hakiri.cli.console import Console
    from hakiri.core.clock import Clock
    from hakiri.core.ids import PipelineId
    from hakiri.engine import JobProgress, ServerRecord

LINE_EVERY_SECONDS = 10.0
FRAMES_PER_SECOND = 4
WIDEST_PADDED_NAME = 28


class Board:
    """One display for everything that runs; also the watcher of the Spark session it runs on.

    On a terminal it is a few lines that are written over; what ended moves up and stays. Elsewhere, in CI and
    on a dumb terminal it is a line for what began and ended, and one for how far it is every ten seconds.
    With `--quiet` it is silent. Print nothing else to stderr until it is closed, except through `say`.
    A board that `is_log` is up for days: what it says for good has the time before it.
    """

    def __init__(
        self,
        console: Console,
        clock: Clock,
        *,
        pipelines: Sequence[PipelineId] = (),
        is_log: bool = False,
    ) -> None:
        self._console = console
        self._clock = clock
        self._is_log = is_log
        self._pipelines_total = len(pipelines)
        self._longest_name = max(map(len, pipelines), default=0)
        self._rich = console.rich_err()
        self._signs = signs_for(getattr(console.err, "encoding", None))
        self._lock = threading.Lock()
        self._state = BoardState(began=clock.monotonic())
        self._spark_since: float | None = None
        self._is_live = _may_move(console)
        self._live: Live | None = None
        self._has_said = False
        self._next_line = clock.monotonic() + LINE_EVERY_SECONDS

    def __call__(self, event: Event) -> None:
        """Take in an event of a run."""
        now = self._clock.monotonic()
        with self._lock:
            if self._is_log and isinstance(event, RunStarted) and not self._state.running:
                self._state = BoardState(began=now)  # what is summed up begins anew after every pause
            view = self._state.running.get(event.pipeline) if isinstance(event, RunEnded) else None
            self._state.apply(event, now)
            lines: list[Line] = []
            match event:
                case RunStarted() if not self._is_live and not self._is_mere_tick(event):
                    lines = [started_line(event)]
                case RunEnded():
                    lines = ended_lines(
                        event, view, name_cells=self._name_cells(), width=self._width(), signs=self._signs
                    )
                case SchemaChanged():
                    lines = schema_lines(event, self._signs)
                case _ if not self._is_live and now >= self._next_line and self._state.running:
                    self._state.settle(now)
                    lines = [progress_line(self._state, now)]
            if lines and not self._is_live:
                self._next_line = now + LINE_EVERY_SECONDS
        # Outside the lock: the thread that draws holds rich's lock while it waits for ours.
        self._write(lines)
        self._tell_detail(event)
        if self._is_live and not isinstance(event, RunEnded):
            self._open()

    def say(self, text: str) -> None:
        """Tell a person something above the board; silent with `--quiet`."""
        self._write([(Part(line),) for line in text.splitlines()])

    def starting(self) -> None:
        """Spark is being started."""
        if self._is_live:
            with self._lock:
                self._spark_since = self._clock.monotonic()
            self._open()
        else:
            self.say(f"starting Spark {self._signs.dots}")

    def ready(self, record: ServerRecord | None, *, was_started: bool) -> None:
        """Spark is up."""
        with self._lock:
            self._spark_since = None
        if self._console.is_verbose and record is not None and was_started:
            self.say(f"Spark is up after {record.start_seconds:.1f} s")

    def progress(self, look: JobProgress) -> None:
        """Jobs of Spark are not shown: the chunks they work for are."""

    def close(self) -> None:
        """Take the board away. What still runs is said to be stopped."""
        with self._lock:
            stopped = [
                stopped_line(view, name_cells=self._name_cells(), signs=self._signs)
                for view in self._state.running.values()
            ]
            self._state.running.clear()
            self._spark_since = None
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._is_live = False
        self._write(stopped)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(width=options.max_width - 1, height=console.size.height):
            yield _rich_text(line, is_moving=True)

    def lines(self, *, width: int, height: int) -> list[Line]:
        """The board as it stands, for a screen of this size."""
        now = self._clock.monotonic()
        with self._lock:
            spark: list[Line] = []
            if self._spark_since is not None:
                words = f"starting Spark {self._signs.dots} {elapsed_words(now - self._spark_since)}"
                spark = [(Part(words, QUIET),)]
            # A blank line keeps what moves apart from what has been said above it.
            above: list[Line] = [(Part(""),)] if self._has_said else []
            below = spark + frame(
                self._state,
                now,
                width=width,
                height=height - len(spark) - len(above),
                pipelines_total=self._pipelines_total,
                signs=self._signs,
            )
            return above + below if below else []

    def _is_mere_tick(self, event: RunStarted) -> bool:
        """Whether it is one of the many runs of a log that begin and end within seconds."""
        return self._is_log and event.phase is Phase.STREAMING

    def _width(self) -> int | None:
        """The width of the screen; none in a file or a pipe."""
        return self._rich.width - 1 if self._console.err.isatty() else None

    def _name_cells(self) -> int:
        """Names of pipelines that ended stand in a column, where there is room for one."""
        room = WIDEST_PADDED_NAME if (width := self._width()) is None else width // 3
        return min(self._longest_name, room, WIDEST_PADDED_NAME)

    def _open(self) -> None:
        with self._lock:
            if self._live is not None:
                return
            from rich.live import Live

            self._live = live = Live(
                self,
                console=self._rich,
                refresh_per_second=FRAMES_PER_SECOND,
                transient=True,
            )
        live.start()

    def _write(self, lines: Iterable[Line]) -> None:
        if self._console.is_quiet:
            return
        live = self._live
        when = (Part(f"{self._clock.now():%Y-%m-%d %H:%M:%S}Z  ", QUIET),) if self._is_log else ()
        for line in ((*when, *said) for said in lines):
            self._has_said = True
            if live is not None:
                live.console.print(_rich_text(line, is_moving=False))
            elif self._console.err_has_colors:
                self._rich.print(_rich_text(line, is_moving=False))
            else:
                self._console.note(text_of(line))

    def _tell_detail(self, event: Event) -> None:
        if not self._console.is_verbose:
            return
        match event:
            case ChunkGivenBack():
                after = f"again in {elapsed_words(event.in_seconds)}" if event.will_retry else "given up"
                self.say(f"{event.pipeline}: chunk {event.chunk} {after}: {event.message}")
            case Published():
                self.say(f"views written for {counted(len(event.tables), 'table')}")


def _may_move(console: Console) -> bool:
    """Whether a person sees what is written over, and wants to."""
    is_screen = console.err.isatty() and console.env.get("TERM") != "dumb"
    return is_screen and not console.is_quiet and not console.env.get("CI")


def _rich_text(line: Line, *, is_moving: bool) -> Text:
    """What moves is never wrapped: it would be higher than it knows."""
    from rich.text import Text

    return Text.assemble(*line, no_wrap=is_moving, overflow="crop" if is_moving else "fold")
