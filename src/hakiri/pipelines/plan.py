"""What an apply would do, decided without touching anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from hakiri.core.errors import HakiriError, Place
from hakiri.core.ids import PipelineId, TableName
from hakiri.manifest import PipelineSpec, Project
from hakiri.pipelines.edits import Edit, edits_since
from hakiri.pipelines.errors import WaitsForDecision
from hakiri.pipelines.layout_cautions import stored_misfits
from hakiri.pipelines.leftovers import leftovers
from hakiri.pipelines.needs import Need, need_of
from hakiri.pipelines.partition_facts import stored_cautions
from hakiri.pipelines.soundness import check_rules, unsound_parts
from hakiri.sources.making import declared_connector
from hakiri.transforms import artifacts_of

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.pipelines.asking import Answer, TableLook
    from hakiri.pipelines.chunks.knobs import Knobs
    from hakiri.pipelines.evolution import Change
    from hakiri.pipelines.prospects import Prospect
    from hakiri.pipelines.stored import FindFiles
    from hakiri.store.reading import VisibleFiles


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
    Need.CHANGED_AND_DUE: Action.UPDATE,
    Need.UNFINISHED: Action.CONTINUE,
    Need.DUE: Action.PULL,
    Need.NEWS: Action.PULL,
    Need.WAITS: Action.WAIT,
    Need.NOTHING: Action.NOTHING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """One table of a pipeline: what it is in the store, and what would come.

    - `rows`: an estimate, None if nobody knows. With `is_reread` they are read anew, to see what changed.
    - `changes` happen to the stored schema, `ignored` comes and is not stored, and `refused` would stop the
      run. All are None where only Spark can tell what a transform makes of the columns.
    """

    name: str
    store: str
    rows: int | None = None
    chunks: int | None = None
    is_reread: bool = False
    changes: tuple[Change, ...] | None = None
    ignored: tuple[Change, ...] = ()
    refused: tuple[Change, ...] = ()
    knobs: Knobs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPipeline:
    """One pipeline, and what would happen to it. There is no spec for one that left the manifest.

    `problems` are what keeps it from being run, or from being looked at; warnings do not. `leftovers` are
    warnings of what is wrong with the tables as they are, also while nothing would happen.
    """

    id: str
    action: Action
    need: Need
    place: Place | None
    spec: PipelineSpec | None
    destination: str
    tables: tuple[PlannedTable, ...] = ()
    edits: tuple[Edit, ...] = ()
    warnings: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    problems: tuple[HakiriError, ...] = ()
    chunks_left: int = 0

    @property
    def is_worth_showing(self) -> bool:
        return self.action is not Action.NOTHING or bool(self.problems or self.leftovers)


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
    """The pipelines to plan, each with a source that is soundly declared; raises what is wrong with one."""
    specs = [project.pipeline(only)] if only is not None else list(project.pipelines)
    for spec in specs:
        declared_connector(
            spec.source.connector,
            spec.source.config,
            secrets=spec.secrets,
            code_root=project.root,
            place=project.place_of(spec.id),
        )
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
    find_files: FindFiles | None = None,
) -> Plan:
    """The plan for these pipelines, from the catalog, none if nothing ever ran, and what sources answered.

    `is_whole`: these are all pipelines of the project, so that others which ran once are gone.
    """
    planning = _Planning(
        project=project,
        catalog=catalog,
        default_destination=default_destination,
        now=now,
        find_files=find_files or _no_files,
    )
    planned = [planning.planned(spec, answers.get(spec.id)) for spec in specs]
    if is_whole and catalog is not None:
        planned += _gone(project, catalog)
    return Plan(project=project.name, pipelines=tuple(planned))


def _no_files(_: TableName) -> VisibleFiles | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planning:
    """What the plan of every pipeline is made from."""

    project: Project
    catalog: Catalog | None
    default_destination: str
    now: datetime
    find_files: FindFiles

    def planned(self, spec: PipelineSpec, answer: Answer | None) -> PlannedPipeline:
        need = self._need(spec, answer)
        problems = [*self._failure(spec, need), *self._unsound(spec, is_asked=isinstance(answer, tuple))]
        prospect: Prospect | None = None
        if isinstance(answer, tuple):
            prospect = self._prospect(spec, answer, need)
            problems += prospect.problems
        elif answer is not None:
            problems.append(answer)
        return PlannedPipeline(
            id=spec.id,
            action=_ACTIONS[need],
            need=need,
            place=self.project.place_of(spec.id),
            spec=spec,
            destination=self.project.destination_of(spec, self.default_destination).connector,
            tables=prospect.tables if prospect is not None else (),
            edits=self._edits(spec),
            warnings=prospect.warnings if prospect is not None else (),
            leftovers=self._leftovers(spec, need),
            problems=tuple(problems),
            chunks_left=self._chunks_left(spec),
        )

    def _need(self, spec: PipelineSpec, answer: Answer | None) -> Need:
        if self.catalog is None:
            return Need.NEW
        need = need_of(self.catalog, spec, self.project.root, self.now)
        if need is not Need.NOTHING or spec.schedule is not None or not isinstance(answer, tuple):
            return need
        return Need.NEWS if any(look.has_news for look in answer) else need

    def _failure(self, spec: PipelineSpec, need: Need) -> Iterator[HakiriError]:
        if need is Need.WAITS and self.catalog is not None:
            state = self.catalog.pipelines.get(PipelineId(spec.id))
            if state is not None and state.failure is not None:
                yield WaitsForDecision(spec.id, state.failure.kind, state.failure.message)

    def _unsound(self, spec: PipelineSpec, *, is_asked: bool) -> Iterator[HakiriError]:
        """What is wrong whatever the source says; rules are looked at with the columns if those are known."""
        yield from unsound_parts(self.project, spec, self.default_destination)
        for number in () if is_asked else range(len(spec.tables)):
            try:
                check_rules(self.project, spec, number, None)
            except HakiriError as error:
                yield error

    def _prospect(self, spec: PipelineSpec, looks: Sequence[TableLook], need: Need) -> Prospect:
        from hakiri.pipelines.prospects import Prospecting
        from hakiri.pipelines.reached import reached_by

        prospecting = Prospecting(
            project=self.project,
            spec=spec,
            reached=reached_by(self.catalog, PipelineId(spec.id)),
            need=need,
            now=self.now,
            has_transform=bool(artifacts_of(spec, self.project.root)),
            find_files=self.find_files,
        )
        return prospecting.prospect(looks)

    def _leftovers(self, spec: PipelineSpec, need: Need) -> tuple[str, ...]:
        # Of a pipeline that never ran, the rows of all others in its tables are warned of.
        if self.catalog is None or need is Need.NEW:
            return ()
        return (
            *leftovers(self.catalog, self.project, spec),
            *stored_misfits(self.catalog, spec),
            *stored_cautions(self.catalog, spec, self.find_files),
        )

    def _edits(self, spec: PipelineSpec) -> tuple[Edit, ...]:
        applied = None if self.catalog is None else self.catalog.pipelines.applied(PipelineId(spec.id))
        return () if applied is None else edits_since(applied, spec, self.project.root)

    def _chunks_left(self, spec: PipelineSpec) -> int:
        if self.catalog is None:
            return 0
        tally = self.catalog.chunks.tally(PipelineId(spec.id))
        return tally.pending + tally.running + tally.failed


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
