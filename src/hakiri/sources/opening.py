"""A pipeline's connector, open in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hakiri.core.clock import Clock
from hakiri.core.errors import Place
from hakiri.core.secrets import take_secrets
from hakiri.engine import arrow_without_pandas
from hakiri.sources.budget import LateBudget, SharedBudget, Widen
from hakiri.sources.contract import Connector, Context
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.failures import failures_told
from hakiri.sources.making import declared_connector

if TYPE_CHECKING:
    from hakiri.core.grammar import Rate
    from hakiri.manifest import PipelineSpec


class RootedProject(Protocol):
    """What is needed of a project: its folder, and where it declares each pipeline."""

    @property
    def root(self) -> Path: ...

    def place_of(self, pipeline_id: str) -> Place: ...


@contextmanager
def open_connector(
    spec: PipelineSpec,
    project: RootedProject,
    env: Mapping[str, str],
    clock: Clock,
    *,
    wait: Callable[[float], object] | None = None,
    widen: Widen | None = None,
) -> Iterator[Connector]:
    """The connector of a pipeline until the block ends, with the secrets that the pipeline names alone.

    Raises UnknownConnector, BrokenConnector, BadSourceConfig and MissingSecret before the source is called.
    What the block raises leaves as `failures_told` says, with every secret masked. The budget is the
    pipeline's, else the one of the hint; `widen` tells what of it other processes share.
    """
    arrow_without_pandas()
    name, place = spec.source.connector, project.place_of(spec.id)
    kind, config = declared_connector(
        name, spec.source.config, secrets=spec.secrets, code_root=project.root, place=place
    )
    secrets = take_secrets(spec.secrets, env, wanted_by=f"pipeline `{spec.id}`")
    budget = LateBudget()
    context = Context(
        root=project.root,
        secrets=secrets,
        budget=budget,
        clock=clock,
        wait=wait if wait is not None else threading.Event().wait,
    )
    with (
        failures_told(kind, name, project.root, place, secrets.values()),
        closing(budget),
        closing(kind(config, context)) as connector,
    ):
        rate = spec.backfill.rate_budget or _hinted_rate(connector, spec)
        wider = widen(rate) if widen is not None else None
        if rate is not None:
            budget.shared = SharedBudget(rate, clock, wider)
        yield connector


def _hinted_rate(connector: Connector, spec: PipelineSpec) -> Rate | None:
    """The slowest of what the connector hints for the pipeline's tables."""
    rates = [rate for table in spec.tables if (rate := _rate_of(connector, table.name)) is not None]
    return min(rates, key=lambda rate: rate.per_second, default=None)


def _rate_of(connector: Connector, table: str) -> Rate | None:
    try:
        return connector.backfill_hint(table).rate_budget
    except PermanentFailure:
        # The manifest may have the name that the store gives to the table; whoever reads it will tell.
        return None
