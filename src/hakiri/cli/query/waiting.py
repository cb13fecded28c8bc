"""Waiting for DuckDB: Ctrl-C is heard at once, and whoever waits long sees how far it is."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hakiri.cli.console import Console
    from hakiri.core.clock import Clock
    from hakiri.store.query.session import Session

_Result = TypeVar("_Result")
SHOWN_AFTER_SECONDS = 1.0
TICK_SECONDS = 0.1
_ALL = 1000


class Watch:
    """Has work done in another thread, and keeps this one free to hear Ctrl-C and to move a bar."""

    def __init__(self, console: Console, clock: Clock, session: Session) -> None:
        self._console = console
        self._clock = clock
        self._session = session
        self._bar: Any = None

    def wait_for(self, work: Callable[[], _Result]) -> _Result:
        """What the work gives or raises. Ctrl-C has DuckDB stop it, and is raised when it has stopped."""
        outcome: list[_Result] = []
        failures: list[BaseException] = []
        is_over = Event()

        def do() -> None:
            try:
                outcome.append(work())
            except BaseException as error:  # raised below, in the thread that waits
                failures.append(error)
            finally:
                is_over.set()

        worker = self._session.beside(do)
        begun = self._clock.monotonic()
        try:
            worker.start()
            while not is_over.wait(TICK_SECONDS):
                self._move(self._clock.monotonic() - begun)
        except BaseException:
            worker.call_off()  # a second Ctrl-C ends the waiting
            raise
        finally:
            self._close()
        if failures:
            raise failures[0]
        return outcome[0]

    def _move(self, seconds: float) -> None:
        if seconds < SHOWN_AFTER_SECONDS or not _may_move(self._console):
            return
        done = self._session.progress()
        if self._bar is None:
            self._open()
        self._bar.update(
            self._bar.task_ids[0],
            total=None if done is None else _ALL,
            completed=0 if done is None else round(done * _ALL),
            facts=facts_of(done, seconds),
        )

    def _open(self) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}"),
            console=self._console.rich_err(),
            transient=True,
        )
        self._bar.add_task("", total=None, facts="")
        self._bar.start()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def facts_of(done: float | None, seconds: float) -> str:
    """`42%, 3 s, 5 s left`; what nobody can tell is left out."""
    from hakiri.cli.board.words import elapsed_words, left_words, sentence

    if not done:
        return elapsed_words(seconds)
    left = seconds * (1 - done) / done
    return sentence([f"{done:.0%}", elapsed_words(seconds), left_words(left)])


def _may_move(console: Console) -> bool:
    is_screen = console.err.isatty() and console.env.get("TERM") != "dumb"
    return is_screen and not console.is_quiet
