"""Connectors over HTTP in tests: a connector with a clock that only moves when it waits, and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hakiri.core.clock import FixedClock
from hakiri.core.errors import Place
from hakiri.core.secrets import Secret
from hakiri.sources.config import read_config
from hakiri.sources.contract import Batch, Budget, Connector, Context, Read
from hakiri.sources.rest import RestConnector

PLACE = Place("hakiri.toml", 16)
T0 = datetime(2026, 5, 11, 8, tzinfo=UTC)


@dataclass(slots=True)
class CountingBudget:
    """Counts the turns, and refuses two at once."""

    turns: int = 0
    is_taken: bool = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        assert not self.is_taken
        self.is_taken = True
        self.turns += 1
        try:
            yield
        finally:
            self.is_taken = False


@dataclass(slots=True)
class Surroundings:
    """What a connector gets from outside, and what it did with it."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    clock: FixedClock = field(default_factory=lambda: FixedClock(T0))
    budget: CountingBudget = field(default_factory=CountingBudget)
    waits: list[float] = field(default_factory=list)

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(timedelta(seconds=seconds))

    def context(self, budget: Budget | None = None) -> Context:
        return Context(
            root=Path(),
            secrets={name: Secret(value) for name, value in self.secrets.items()},
            budget=budget or self.budget,
            clock=self.clock,
            wait=self.wait,
        )


@contextmanager
def connected(
    config: Mapping[str, Any],
    surroundings: Surroundings | None = None,
    kind: type[Connector] = RestConnector,
) -> Iterator[Any]:
    """A connector with this config, as it is written in a manifest; closed at the end."""
    around = surroundings or Surroundings()
    read = read_config(kind.Config, config, connector="rest", place=PLACE, secrets=tuple(around.secrets))
    connector = kind(read, around.context())
    try:
        yield connector
    finally:
        connector.close()


def rows_of(batches: Iterable[Batch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.rows.to_pylist()]


def read_all(
    config: Mapping[str, Any], table: str, around: Surroundings | None = None, **read: Any
) -> list[Any]:
    """The rows of one whole read."""
    with connected(config, around) as connector:
        return rows_of(connector.open(Read(table=table, **read)))
