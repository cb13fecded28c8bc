"""Which pipelines an apply has to run, and what is told of those that it leaves alone.

Nothing of Spark or Arrow is loaded for that: mostly there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.core.clock import Clock
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId
from hakiri.pipelines.errors import WaitsForDecision
from hakiri.pipelines.needs import Need, need_of

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, Project
    from hakiri.pipelines.runtime.shop import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of one pipeline. There is no result if it was left alone, or could not be started."""

    pipeline: str
    need: Need
    result: RunResult | None = None
    error: HakiriError | None = None


def chosen_specs(project: Project, only: str | None) -> list[PipelineSpec]:
    """All pipelines, or the one that is asked for. Raises UnknownPipeline."""
    return list(project.pipelines) if only is None else [project.pipeline(only)]


def needs_now(
    project: Project, catalog: Catalog, *, only: str | None, env: Mapping[str, str], clock: Clock
) -> dict[str, Need]:
    """What is to be done about every pipeline, or one, by id.

    Sources of pipelines without a schedule that are up to date, or were only edited, are asked whether they
    have news: there is no other sign that something is to be pulled. One that is out of reach is run: that
    tells what is wrong, and nobody takes its pipeline for up to date.
    """
    now = clock.now()
    specs = chosen_specs(project, only)
    needs = {spec.id: need_of(catalog, spec, project.root, now) for spec in specs}
    quiet = [
        spec for spec in specs if needs[spec.id] in (Need.NOTHING, Need.CHANGED) and spec.schedule is None
    ]
    if quiet:
        from hakiri.pipelines.asking import news_of

        news = news_of(project, quiet, catalog, env, clock)
        needs |= {
            name: Need.NEWS
            for name, has_news in news.items()
            if has_news or (has_news is None and needs[name] is Need.NOTHING)
        }
    return needs


def left_alone(catalog: Catalog, spec: PipelineSpec, need: Need) -> Applied:
    """What is told of a pipeline that is not run."""
    state = catalog.pipelines.get(PipelineId(spec.id))
    if need is Need.WAITS and state is not None and state.failure is not None:
        error = WaitsForDecision(spec.id, state.failure.kind, state.failure.message)
        return Applied(pipeline=spec.id, need=need, error=error)
    return Applied(pipeline=spec.id, need=need)


def the_gone(project: Project, catalog: Catalog) -> list[PipelineId]:
    """Pipelines that were applied and have left the manifest since, as long as nobody has noted it."""
    known = {spec.id for spec in project.pipelines}
    return [
        applied.pipeline
        for applied in catalog.pipelines.all_applied()
        if applied.pipeline not in known and applied.retired_at is None
    ]


def retire_the_gone(project: Project, catalog: Catalog, now: datetime) -> None:
    """Note which pipelines left the manifest. Their tables and their history stay."""
    for pipeline in the_gone(project, catalog):
        catalog.pipelines.retire(pipeline, now)
