"""How far a compaction is: one moving line on a terminal, and nothing elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hakiri.cli.progress import SHOWN_AFTER_SECONDS, bars_on, may_move, seconds_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hakiri.cli.console import Console
    from hakiri.compaction.stages import Stage
    from hakiri.compaction.tasks import Task
    from hakiri.core.clock import Clock
    from hakiri.engine import JobProgress, ServerRecord


class CompactionDisplay:
    """Watches the Spark session of a compaction, and hears of its tasks. Close it before printing."""

    def __init__(self, console: Console, clock: Clock, *, is_shown: bool) -> None:
        self._console = console
        self._clock = clock
        self._is_shown = is_shown and may_move(console)
        self._table = ""
        self._began: float | None = None
        self._stage: Stage | None = None
        self._done = self._total = 0
        self._bars: Any = None
        self._bar: Any = None

    def begin(self, table: str) -> None:
        """The tasks that come are those of this table."""
        self._table, self._began, self._stage = table, None, None

    def tasks(self, tasks: Sequence[Task], done: int) -> None:
        """So many of these tasks are done, and the others begin."""
        from hakiri.compaction.stages import stage_of

        self._stage, self._done, self._total = stage_of(tasks[0]), done, len(tasks)
        if self._began is None or (self._stage.start == 0 and not done):
            self._began = self._clock.monotonic()
        self._show(done)

    def starting(self) -> None:
        self._draw("starting Spark", None)

    def ready(self, record: ServerRecord | None, *, was_started: bool) -> None:
        del was_started
        self._console.detail(f"Spark is ready ({'elsewhere' if record is None else record.key})")

    def progress(self, look: JobProgress) -> None:
        if not look.is_done:
            self._show(self._done + look.tasks_done)

    def close(self) -> None:
        """Take the line away."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = self._bar = None

    def _show(self, done: int) -> None:
        if self._stage is None or self._began is None:
            return
        elapsed = self._clock.monotonic() - self._began
        if elapsed < SHOWN_AFTER_SECONDS:
            return
        fraction = self._stage.fraction(done, self._total)
        left = elapsed * (1 - fraction) / fraction if fraction else None
        facts = f"{done}/{self._total} tasks"
        if left is not None:
            facts += f", about {seconds_words(left)} left"
        self._draw(f"{self._table}: {self._stage.words}", fraction, facts)

    def _draw(self, words: str, fraction: float | None, facts: str = "") -> None:
        if not self._is_shown:
            return
        if self._bars is None:
            self._bars = bars_on(self._console)
            self._bars.start()
            self._bar = self._bars.add_task(words, total=None, facts=facts)
        total = None if fraction is None else 1.0
        self._bars.update(
            self._bar, description=words, facts=facts, completed=fraction or 0.0, total=total, refresh=True
        )
