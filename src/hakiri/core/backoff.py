"""How long to wait before the next try: longer each time, never in step with others, and not for ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hakiri.core.ids import ENTROPY_BYTES, fresh_entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Waits that double from `first_seconds` up to `longest_seconds`, `budget_seconds` in all."""

    first_seconds: float
    longest_seconds: float
    budget_seconds: float

    def waits(self) -> Iterator[float]:
        """The seconds to wait before each further try; it ends when the budget is used up.

        Each is drawn between none and the full step («full jitter»), so that those who collided once do not
        collide again.
        """
        step, waited = self.first_seconds, 0.0
        while waited < self.budget_seconds:
            wait = step * (int.from_bytes(fresh_entropy()) / 256**ENTROPY_BYTES)
            yield wait
            # A step counts for half at least: short draws must not make the tries endless.
            waited += max(wait, step / 2)
            step = min(step * 2, self.longest_seconds)
