"""What a person sees while something works: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any

from hakiri.core.grammar import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hakiri.cli.console import Console
    from hakiri.engine import JobProgress, ServerRecord

SHOWN_AFTER_SECONDS = 1.0
LINE_EVERY_SECONDS = 10.0


class SparkDisplay:
    """Watches a Spark session for a person; says nothing with `--quiet`. Close it before printing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_live = may_move(console)
        self._bars: Any = None
        self._bar_of: dict[str, Any] = {}
        self._next_line: dict[str, float] = {}

    def starting(self) -> None:
        if self._is_live:
            self._open_bars()
            self._bar_of["start"] = self._bars.add_task("starting Spark", total=None, facts="")
        else:
            self._console.note("starting Spark …")

    def ready(self, record: ServerRecord | None, *, was_started: bool) -> None:
        self._remove("start")
        if record is None:
            self._console.detail("connected to a Spark that runs elsewhere")
        elif was_started:
            archive = "with" if record.archive_used else "without"
            self._console.detail(
                f"Spark is up after {record.start_seconds:.1f} s, {archive} the class archive"
            )
        else:
            self._console.detail(f"Spark was warm (server {record.key})")

    def progress(self, look: JobProgress) -> None:
        if self._is_live:
            self._move_bar(look)
        else:
            self._write_line(look)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
            self._bar_of.clear()

    def _move_bar(self, look: JobProgress) -> None:
        if look.is_done:
            self._remove(look.operation)
            return
        if look.elapsed_seconds < SHOWN_AFTER_SECONDS or not look.tasks_total:
            return
        self._open_bars()
        words = {"description": _stage_words(look), "facts": facts_of(look)}
        done = {"completed": look.tasks_done, "total": look.tasks_total}
        if look.operation in self._bar_of:
            self._bars.update(self._bar_of[look.operation], **words, **done)
        else:
            self._bar_of[look.operation] = self._bars.add_task(**words, **done)

    def _write_line(self, look: JobProgress) -> None:
        if look.is_done:
            self._next_line.pop(look.operation, None)
            return
        if look.elapsed_seconds >= self._next_line.setdefault(look.operation, LINE_EVERY_SECONDS):
            self._next_line[look.operation] = look.elapsed_seconds + LINE_EVERY_SECONDS
            self._console.note(f"{_stage_words(look)}: {facts_of(look)}")

    def _open_bars(self) -> None:
        if self._bars is None:
            self._bars = bars_on(self._console)
            self._bars.start()

    def _remove(self, name: str) -> None:
        if self._bars is not None and name in self._bar_of:
            self._bars.remove_task(self._bar_of.pop(name))
            if not self._bar_of:
                self.close()


@contextmanager
def steps_shown(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that says which step is being taken; print nothing else until the block ends.

    It speaks in one moving line on a terminal, in a line for each step elsewhere, not at all with `--quiet`.
    """
    if not may_move(console):
        yield lambda words: console.note(f"{words} …")
        return
    with console.rich_err().status("") as line:
        yield lambda words: line.update(f"{words} …")


@contextmanager
def said_while_it_takes(console: Console, words: str) -> Iterator[Callable[[str], None]]:
    """Say what is being done: at once in a moving line, elsewhere only when it takes longer than a second.

    The function that it gives changes the words.
    """
    said = [words]
    with steps_shown(console) as say:
        if console.err.isatty():
            say(words)
            yield say
            return
        late = Timer(SHOWN_AFTER_SECONDS, lambda: say(said[-1]))
        late.daemon = True
        late.start()
        try:
            yield said.append
        finally:
            late.cancel()


def bars_on(console: Console) -> Any:
    """Lines that move on the terminal, each with a bar and the facts of its task; gone when they stop."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),  # with all the facts beside it the line fits on 80 columns
        TextColumn("{task.fields[facts]}"),
        console=console.rich_err(),
        transient=True,
    )


def may_move(console: Console) -> bool:
    """Whether a person sees what is written over, and wants to."""
    is_screen = console.err.isatty() and console.env.get("TERM") != "dumb"
    return is_screen and not console.is_quiet


def facts_of(look: JobProgress) -> str:
    """Tasks, bytes, rate and the time that is left, as one line."""
    facts = [f"{look.tasks_done}/{look.tasks_total} tasks"]
    if look.bytes_read:
        facts.append(f"{format_size(look.bytes_read)} read")
        facts.append(f"{format_size(int(look.bytes_per_second))}/s")
    if look.eta_seconds is not None:
        facts.append(f"about {seconds_words(look.eta_seconds)} left")
    return ", ".join(facts)


def _stage_words(look: JobProgress) -> str:
    if not look.stages_total:
        return "before the first stage"
    return f"stage {min(look.stages_done + 1, look.stages_total)} of {look.stages_total}"


def seconds_words(seconds: float) -> str:
    """Some time in hours, minutes and seconds, of which at most two are told."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
