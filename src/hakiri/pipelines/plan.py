"""What an apply would do, decided without touching anything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from hakiri.core.errors import HakiriError, Place
from hakiri.core.ids import PipelineId
from hakiri.manifest import PipelineSpec, Project, dump_pipeline
from hakiri.pipelines.needs import Need, need_of
from hakiri.sources.making import declared_connector
from hakiri.transforms import fresh_artifacts

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.pipelines.asking import Answer
    from hakiri.pipelines.chunks.knobs import Knobs
    from hakiri.pipelines.evolution import Change


class Action(StrEnum):
    """What would happen to a pipeline."""

    CREATE = "create"
    CONTINUE = "continue"
    UPDATE = "update"
    PULL = "pull"
    NOTHING = "nothing"
    WAIT = "wait"
    REMOVE = "remove"

    @property
    def is_change(self) -> bool:
        return self not in (Action.NOTHING, Action.WAIT)


_ACTIONS = {
    Need.NEW: Action.CREATE,
    Need.CHANGED: Action.UPDATE,
    Need.UNFINISHED: Action.CONTINUE,
    Need.DUE: Action.PULL,
    Need.WAITS: Action.WAIT,
    Need.NOTHING: Action.NOTHING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """One table of a pipeline: what it is in the store, and what would come.

    `rows` is an estimate, None if nobody knows. `changes` happen to the stored schema, `refused` would stop
    the run; both are None where only Spark can tell what a transform makes of the columns.
    """

    name: str
    store: str
    rows: int | None
    chunks: int | None
    changes: tuple[Change, ...] | None
    refused: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPipeline:
    """One pipeline, and what would happen to it. There is no spec for one that left the manifest."""

    id: str
    action: Action
    need: Need
    place: Place | None
    spec: PipelineSpec | None
    destination: str
    tables: tuple[PlannedTable, ...] = ()
    knobs: Knobs | None = None
    edits: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    chunks_left: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    project: str
    pipelines: tuple[PlannedPipeline, ...]

    @property
    def has_changes(self) -> bool:
        return any(planned.action.is_change for planned in self.pipelines)

    def counts(self) -> dict[str, int]:
        counted = Counter(planned.action for planned in self.pipelines)
        return {action.value: counted[action] for action in Action}


def checked_specs(project: Project, only: str | None) -> list[PipelineSpec]:
    """The pipelines to plan, each with a sound source and fresh transforms.

    Raises what is wrong with a source's declaration, and TransformStale or TransformMissing for a transform
    that is not what its author's file says.
    """
    specs = [project.pipeline(only)] if only is not None else list(project.pipelines)
    for spec in specs:
        declared_connector(
            spec.source.connector,
            spec.source.config,
            secrets=spec.secrets,
            code_root=project.root,
            place=project.place_of(spec.id),
        )
        fresh_artifacts(spec, project.root)
    return specs


def plan_project(
    project: Project,
    specs: Sequence[PipelineSpec],
    *,
    catalog: Catalog | None,
    answers: Mapping[str, Answer],
    default_destination: str,
    now: datetime,
    is_whole: bool = True,
) -> Plan:
    """The plan for these pipelines, from the catalog, none if nothing ever ran, and what sources answered.

    `is_whole`: these are all pipelines of the project, so that others which ran once are gone.
    """
    planned = [
        _planned(
            project,
            spec,
            catalog,
            answers.get(spec.id),
            now,
            destination=project.destination_of(spec, default_destination).connector,
        )
        for spec in specs
    ]
    if is_whole and catalog is not None:
        planned += _gone(project, catalog)
    return Plan(project=project.name, pipelines=tuple(planned))


def _planned(
    project: Project,
    spec: PipelineSpec,
    catalog: Catalog | None,
    answer: Answer | None,
    now: datetime,
    *,
    destination: str,
) -> PlannedPipeline:
    need = Need.NEW if catalog is None else need_of(catalog, spec, project.root, now)
    tables: tuple[PlannedTable, ...] = ()
    knobs: Knobs | None = None
    warnings: list[str] = []
    problem: str | None = None
    if isinstance(answer, HakiriError):
        problem = f"the source could not be asked: {answer}"
    elif answer is not None:
        from hakiri.pipelines.prospects import prospect_of

        tables, knobs, warnings = prospect_of(project, spec, catalog, looks=answer, need=need, now=now)
    if need is Need.WAITS and catalog is not None:
        state = catalog.pipelines.get(PipelineId(spec.id))
        if state is not None and state.failure is not None:
            problem = state.failure.message
    return PlannedPipeline(
        id=spec.id,
        action=_ACTIONS[need],
        need=need,
        place=project.place_of(spec.id),
        spec=spec,
        destination=destination,
        tables=tables,
        knobs=knobs,
        edits=tuple(_edits(spec, catalog)),
        warnings=tuple(warnings),
        chunks_left=_chunks_left(spec, catalog),
        problem=problem,
    )


def _chunks_left(spec: PipelineSpec, catalog: Catalog | None) -> int:
    if catalog is None:
        return 0
    tally = catalog.chunks.tally(PipelineId(spec.id))
    return tally.pending + tally.running + tally.failed


def _edits(spec: PipelineSpec, catalog: Catalog | None) -> Iterator[str]:
    """What was edited in the manifest since it was applied, key by key."""
    applied = None if catalog is None else catalog.pipelines.applied(PipelineId(spec.id))
    if applied is None:
        return
    before, after = json.loads(applied.spec_json), json.loads(json.dumps(dump_pipeline(spec)))
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield f"{key}: {_shown(before.get(key))} → {_shown(after.get(key))}"


def _shown(value: object) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _gone(project: Project, catalog: Catalog) -> list[PlannedPipeline]:
    known = {spec.id for spec in project.pipelines}
    return [
        PlannedPipeline(
            id=applied.pipeline,
            action=Action.REMOVE,
            need=Need.NOTHING,
            place=None,
            spec=None,
            destination="",
        )
        for applied in catalog.pipelines.all_applied()
        if applied.pipeline not in known and applied.retired_at is None
    ]
