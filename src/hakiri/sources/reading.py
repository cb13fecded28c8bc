"""A pipeline's source, open for reading: in this process, and in Spark tasks that come back to its desk."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.clock import Clock
from hakiri.core.errors import Place
from hakiri.core.grammar import Rate
from hakiri.core.secrets import take_secrets
from hakiri.sources.bridge.task import SourceTask
from hakiri.sources.budget import NoBudget, SharedBudget
from hakiri.sources.contract import Connector, Context, Table
from hakiri.sources.desk import Desk
from hakiri.sources.making import make_connector

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSource:
    """A connector to ask in this process, and the same source for tasks, under one budget."""

    connector: Connector
    task: SourceTask
    budget: SharedBudget | None

    def table(self, name: str) -> Table:
        """The table as the source has it now; raises PermanentFailure if it has none of this name."""
        (found,) = self.connector.discover([name])
        return found


@contextmanager
def open_source(
    spec: PipelineSpec,
    *,
    root: Path,
    place: Place,
    env: Mapping[str, str],
    clock: Clock,
    advertised: str | None = None,
) -> Iterator[OpenSource]:
    """The source of a pipeline, until the block ends. Raises MissingSecret and what its config has wrong.

    `advertised` is the host at which tasks on other machines reach this process; None where they run on this
    one. The budget is the pipeline's own, else what the connector hints for the first of its tables.
    """
    secrets = take_secrets(spec.secrets, env, wanted_by=f"pipeline `{spec.id}`")

    def connector(budget: SharedBudget | None) -> Connector:
        context = Context(
            root=root,
            secrets=secrets,
            budget=budget or NoBudget(),
            clock=clock,
            wait=threading.Event().wait,
        )
        return make_connector(
            spec.source.connector,
            spec.source.config,
            secrets=spec.secrets,
            code_root=root,
            place=place,
            context=context,
        )

    with ExitStack() as stack:
        rate = spec.backfill.rate_budget or _hinted_rate(connector(None), [t.name for t in spec.tables])
        budget = SharedBudget(rate, clock) if rate is not None else None
        budgets = {spec.id: budget} if budget is not None else {}
        desk = stack.enter_context(Desk(budgets=budgets, secrets=secrets, advertised=advertised))
        opened = connector(budget)
        stack.callback(opened.close)
        yield OpenSource(
            connector=opened,
            budget=budget,
            task=SourceTask(
                pipeline=spec.id,
                connector=spec.source.connector,
                config=spec.source.config,
                secrets=spec.secrets,
                root=str(root),
                place=place,
                desk=desk.address,
                has_budget=budget is not None,
            ),
        )


def _hinted_rate(connector: Connector, tables: Sequence[str]) -> Rate | None:
    try:
        return connector.backfill_hint(tables[0]).rate_budget
    finally:
        connector.close()
