"""What an apply would do, decided without touching anything."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from hakiri.core.errors import Place
from hakiri.manifest import PipelineSpec, Project
from hakiri.sources.making import declared_connector
from hakiri.transforms import fresh_artifacts


class Action(StrEnum):
    CREATE = "create"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPipeline:
    """One pipeline of the manifest, and what would happen to it."""

    action: Action
    spec: PipelineSpec
    destination: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    project: str
    pipelines: tuple[PlannedPipeline, ...]

    @property
    def has_changes(self) -> bool:
        return bool(self.pipelines)

    def counts(self) -> dict[str, int]:
        counted = Counter(planned.action for planned in self.pipelines)
        return {action.value: counted[action] for action in Action}


def plan_project(project: Project, *, only: str | None = None, default_destination: str) -> Plan:
    """The plan for every pipeline, or for one. No pipeline has ever run here, so each is to be created.

    Raises what is wrong with a source's declaration, and TransformStale or TransformMissing for a transform
    that is not what its author's file says.
    """
    specs = [project.pipeline(only)] if only is not None else project.pipelines
    for spec in specs:
        declared_connector(
            spec.source.connector,
            spec.source.config,
            secrets=spec.secrets,
            code_root=project.root,
            place=project.place_of(spec.id),
        )
        fresh_artifacts(spec, project.root)
    return Plan(
        project=project.name,
        pipelines=tuple(
            PlannedPipeline(
                action=Action.CREATE,
                spec=spec,
                destination=project.destination_of(spec, default_destination).connector,
                place=project.place_of(spec.id),
            )
            for spec in specs
        ),
    )
