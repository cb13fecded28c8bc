"""A pipeline's source, open for reading: in this process, and in Spark tasks that come back to its desk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.core.clock import Clock
from hakiri.core.errors import Place
from hakiri.sources.bridge.task import SourceTask
from hakiri.sources.budget import LateBudget, SharedBudget, Widen
from hakiri.sources.contract import Connector, Table
from hakiri.sources.desk import Desk
from hakiri.sources.errors import ReadFailed
from hakiri.sources.opening import RootedProject, open_connector

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSource:
    """A connector to ask in this process, and the same source for tasks, under one budget."""

    connector: Connector
    task: SourceTask
    budget: SharedBudget | None
    desk: Desk

    def table(self, name: str, place: Place) -> Table:
        """The table as the source has it now. What goes wrong names the place where it is declared."""
        try:
            (found,) = self.connector.discover([name])
        except ReadFailed as error:
            error.places = error.places or (place,)
            raise
        return found


@contextmanager
def open_source(
    spec: PipelineSpec,
    *,
    project: RootedProject,
    env: Mapping[str, str],
    clock: Clock,
    advertised: str | None = None,
    widen: Widen | None = None,
) -> Iterator[OpenSource]:
    """The source of a pipeline, until the block ends; see `open_connector` for what it raises.

    `advertised` is the host at which tasks on other machines reach this process; None where they run on this
    one. `widen` tells what of the budget other processes share.
    """
    with open_connector(spec, project, env, clock, widen=widen) as connector:
        budget = connector.context.budget
        shared = budget.shared if isinstance(budget, LateBudget) else None
        budgets = {spec.id: shared} if shared is not None else {}
        with Desk(budgets=budgets, secrets=connector.context.secrets, advertised=advertised) as desk:
            task = SourceTask(
                pipeline=spec.id,
                connector=spec.source.connector,
                config=spec.source.config,
                secrets=spec.secrets,
                root=str(project.root),
                place=project.place_of(spec.id),
                desk=desk.address,
                has_budget=shared is not None,
            )
            yield OpenSource(connector=connector, task=task, budget=shared, desk=desk)
