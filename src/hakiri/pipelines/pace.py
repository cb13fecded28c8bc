"""How fast the chunks of a pipeline get done lately, and so when the rest will be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

RECENT_CHUNKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneChunk:
    """What one chunk brought, and when it was committed."""

    at: datetime
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The latest commits of a pipeline since `began_at`: the moment before the first of them.

    Commits are counted over the time that passed, so chunks in flight at once and waits for the source are
    in it without being asked for.
    """

    began_at: datetime
    done: tuple[DoneChunk, ...] = ()

    def after(self, chunk: DoneChunk) -> Pace:
        """The pace with one more commit; when there are many, the oldest one is only where time begins."""
        done = (*self.done, chunk)
        if len(done) <= RECENT_CHUNKS:
            return replace(self, done=done)
        return Pace(began_at=max(self.began_at, done[0].at), done=done[1:])

    @property
    def rows_per_second(self) -> float:
        return self._per_second(sum(chunk.rows for chunk in self.done))

    @property
    def bytes_per_second(self) -> float:
        return self._per_second(sum(chunk.bytes for chunk in self.done))

    def eta_seconds(self, remaining_chunks: int) -> float | None:
        """How long the remaining chunks take from the latest commit on; None before there is a pace."""
        if remaining_chunks <= 0:
            return 0.0
        chunks_per_second = self._per_second(len(self.done))
        return remaining_chunks / chunks_per_second if chunks_per_second else None

    def _per_second(self, amount: float) -> float:
        if not self.done:
            return 0.0
        # Commits of several threads may come in another order than their times.
        seconds = (max(chunk.at for chunk in self.done) - self.began_at).total_seconds()
        return amount / seconds if seconds > 0 else 0.0
