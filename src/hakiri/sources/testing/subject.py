"""What a connector's author gives to the suite, and the surroundings that it gives to the connector."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pytest

from hakiri.core.clock import FixedClock
from hakiri.core.errors import Place
from hakiri.core.secrets import Secret
from hakiri.sources.config import read_config
from hakiri.sources.contract import Connector, Context
from hakiri.sources.errors import ReadFailed
from hakiri.sources.registry import connector_class

T0 = datetime(2026, 5, 11, 8, 0, tzinfo=UTC)
# A connector that has waited so often for a source that never comes back would wait for ever.
MOST_WAITS = 1_000

Breakage = Callable[[], AbstractContextManager[object]]
_Given = TypeVar("_Given")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A source that is really there, and how a connector to it is made.

    - `make`: the connector anew, with this context and always the same config; see `maker`.
    - `rows`: the tables to try, and how many rows each has. At least one has to come in several batches.
    - `root`: the project's folder, for connectors that read files.
    - `secrets`: the values by name, as the environment would hold them. None may ever be seen.
    - `incremental`: by table, the column that a manifest would name as its cursor.
    - `grow`: adds rows to the table and tells how many.
    - `breakages`: by error, a block while which the source fails in the way that must raise this error.
    - `calls`: how many calls the source has seen so far, if it counts them.
    - `most_rows`, `most_bytes`: what no batch may exceed.

    What is left out is not tested, and pytest says so.
    """

    make: Callable[[Context], Connector]
    rows: Mapping[str, int]
    root: Path = Path()
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    incremental: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    grow: Callable[[str], int] | None = None
    breakages: Mapping[type[ReadFailed], Breakage] = field(default_factory=lambda: MappingProxyType({}))
    calls: Callable[[], int] | None = None
    most_rows: int = 65_536
    most_bytes: int = 64 * 1024**2

    def hidden(self) -> list[Secret]:
        """The values that nobody may see."""
        return [Secret(value) for value in self.secrets.values()]


class CountingBudget:
    """Lets every call through, and notes how the turns were taken."""

    def __init__(self) -> None:
        self.turns = 0
        self.nested = 0
        self._holders: Counter[int] = Counter()
        self._changing = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._changing:
            self.turns += 1
            self.nested += self._holders[me] > 0
            self._holders[me] += 1
        try:
            yield
        finally:
            with self._changing:
                self._holders[me] -= 1

    def held_here(self) -> int:
        """How many turns this thread holds just now."""
        return self._holders[threading.get_ident()]

    def held(self) -> int:
        """How many turns anybody holds just now."""
        return self._holders.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A connector that was just made, and what it was given."""

    connector: Connector
    budget: CountingBudget


@contextmanager
def visit(source: Subject) -> Iterator[Visit]:
    """A connector of its own, closed when the block ends. Time passes for it only when it waits."""
    made = arrive(source)
    try:
        yield made
    finally:
        made.connector.close()


def arrive(source: Subject) -> Visit:
    """A connector of its own, which the caller closes."""
    clock, budget = FixedClock(T0), CountingBudget()
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > MOST_WAITS:
            pytest.fail(f"the connector has waited {MOST_WAITS} times and still does not give up")
        clock.advance(timedelta(seconds=seconds))

    context = Context(
        root=source.root,
        secrets={name: Secret(value) for name, value in source.secrets.items()},
        budget=budget,
        clock=clock,
        wait=wait,
    )
    return Visit(connector=source.make(context), budget=budget)


def maker(
    connector: type[Connector], config: Mapping[str, Any], *, secrets: tuple[str, ...] = ()
) -> Callable[[Context], Connector]:
    """How a connector with this config is made; the config is checked as that of a pipeline would be."""
    checked = read_config(
        connector.Config, config, connector=connector.__name__, place=Place("the test"), secrets=secrets
    )
    return lambda context: connector(checked, context)


def project_connector(name: str, root: Path) -> type[Connector]:
    """The connector in `connectors/<name>.py` of the project in `root`."""
    return connector_class(name, root, Place(f"connectors/{name}.py"))


def needed(given: _Given | None, what: str) -> _Given:
    """What the subject gives, or a test that is left out because it gives none."""
    if not given:
        pytest.skip(f"the subject gives no {what}")
    return given
