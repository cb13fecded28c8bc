"""How far a check is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hakiri.cli.board.words import remaining_words
from hakiri.cli.progress import LINE_EVERY_SECONDS, SHOWN_AFTER_SECONDS, bars_on, may_move
from hakiri.core.grammar import format_size

if TYPE_CHECKING:
    from hakiri.cli.console import Console
    from hakiri.core.clock import Clock


class CheckDisplay:
    """Hears of the bytes that were read, from any thread. Silent in the first second, and with `--quiet`."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console, self._clock = console, clock
        self._is_live = may_move(console)
        self._bars: Any = None
        self._bar: Any = None
        self._words = ""
        self._done = self._total = 0
        self._began = clock.monotonic()
        self._next_line = LINE_EVERY_SECONDS
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def step(self, words: str) -> None:
        with self._lock:
            self._words = words
            if self._bars is not None:
                self._bars.update(self._bar, description=words)

    def begin(self, total_bytes: int) -> None:
        self.step("files")
        with self._lock:
            self._total = total_bytes
            self._began = self._clock.monotonic()

    def advance(self, done_bytes: int) -> None:
        with self._lock:
            self._done += done_bytes
            elapsed = self._clock.monotonic() - self._began
            if self._is_live and elapsed >= SHOWN_AFTER_SECONDS:
                self._move(elapsed)
            elif not self._is_live and elapsed >= self._next_line:
                self._next_line = elapsed + LINE_EVERY_SECONDS
                self._console.note(f"{self._words}: {facts_of(self._done, self._total, elapsed)}")

    def _move(self, elapsed: float) -> None:
        facts = facts_of(self._done, self._total, elapsed)
        if self._bars is None:
            self._bars = bars_on(self._console)
            self._bar = self._bars.add_task(self._words, total=self._total, facts=facts)
            self._bars.start()
        self._bars.update(self._bar, completed=self._done, facts=facts)


def facts_of(done: int, total: int, elapsed_seconds: float) -> str:
    """Bytes, rate and the time that is left, as one line."""

    facts = [f"{format_size(done)} of {format_size(total)}"]
    if elapsed_seconds > 0 and done:
        rate = done / elapsed_seconds
        facts.append(f"{format_size(int(rate))}/s")
        facts.append(f"about {remaining_words((total - done) / rate)} left")
    return ", ".join(facts)
