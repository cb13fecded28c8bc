"""What commands that run pipelines share: the ground they run on, and the board that shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.cli.app import App
    from hakiri.cli.board import Board
    from hakiri.core.ids import NodeId, TableName
    from hakiri.core.settings import Settings
    from hakiri.manifest import PipelineSpec, Project
    from hakiri.pipelines.events import Event
    from hakiri.pipelines.runtime.ground import Ground
    from hakiri.pipelines.stored import FindFiles
    from hakiri.store.layout import StoreLayout
    from hakiri.store.reading import VisibleFiles
    from hakiri.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A project with its settings, its store and its open catalog, and the pipelines that are meant."""

    project: Project
    settings: Settings
    layout: StoreLayout
    catalog: Catalog
    specs: Sequence[PipelineSpec] = ()


def layout_of(app: App, settings: Settings, project: Project) -> StoreLayout:
    """Where the project's store is. Raises StoreTooNew and UnreadableConfig if it is not to be used."""
    from hakiri.store.config_file import read_config

    layout = folder_of(app, settings, project)
    read_config(layout)
    return layout


def folder_of(app: App, settings: Settings, project: Project) -> StoreLayout:
    """The same, whatever is there."""
    from hakiri.store.layout import StoreLayout

    return StoreLayout(app.project_dir / settings.context.path / project.name)


def find_files_of(app: App, settings: Settings, project: Project) -> FindFiles:
    """Finds the files of a table of the store, if there is a store; none is made for that."""
    from hakiri.cli.project import catalog_place_of
    from hakiri.store.reading import visible_files

    place = catalog_place_of(app, settings, project)

    def find_files(table: TableName) -> VisibleFiles | None:
        if place.version() == 0:
            return None
        with place.open() as catalog:
            return visible_files(layout_of(app, settings, project), catalog, table)

    return find_files


def node_of(settings: Settings) -> NodeId:
    """A name for this process, which no other has."""
    from hakiri.core.ids import NodeId, fresh_entropy

    return NodeId(f"{settings.runtime.node or os.uname().nodename}-{fresh_entropy()[:3].hex()}")


@contextmanager
def open_place(app: App, *, only: str | None) -> Iterator[Place]:
    """The project, with the catalog open, made or brought up to date if need be.

    Raises what keeps the pipelines from being run, or the one that is asked for, before anything is made.
    """
    from hakiri.cli.project import catalog_place_of, project_of, settings_of
    from hakiri.pipelines.choosing import chosen_specs
    from hakiri.pipelines.soundness import require_runnable

    project = project_of(app)
    settings = settings_of(app, project)
    specs = chosen_specs(project, only)
    require_runnable(project, specs, settings.context.default_destination)
    with catalog_place_of(app, settings, project).open(migrated_at=app.clock.now()) as catalog:
        yield Place(
            project=project,
            specs=specs,
            settings=settings,
            layout=layout_of(app, settings, project),
            catalog=catalog,
        )


@contextmanager
def open_to_mend(app: App, *, is_look: bool) -> Iterator[Place]:
    """The project with its catalog, which must be there, and its store in whatever condition.

    With `is_look` nothing of the catalog changes. Raises StoreTooNew.
    """
    from hakiri.cli.project import catalog_place_of, project_of, settings_of
    from hakiri.store.config_file import refuse_newer

    project = project_of(app)
    settings = settings_of(app, project)
    layout = folder_of(app, settings, project)
    refuse_newer(layout)
    with catalog_place_of(app, settings, project).open(is_look=is_look) as catalog:
        yield Place(project=project, settings=settings, layout=layout, catalog=catalog)


@contextmanager
def way_on_told(app: App, command: str) -> Iterator[None]:
    """Tell whoever interrupts the block how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        app.console.note(f"What was committed stays; go on with `{command}`.")
        raise


def telemetry_of(app: App, place: Place) -> Telemetry:
    """Where spans go: to a collector if one is configured, else to files of the store."""
    from hakiri.telemetry import open_telemetry, otlp_of

    return open_telemetry(
        project=place.project.name,
        traces=place.layout.root / "traces",
        otlp=otlp_of(app.env),
        clock=app.clock,
        tell=app.console.warn,
    )


@contextmanager
def open_ground(
    app: App, place: Place, *, pipelines: Sequence[str] = (), is_log: bool = False
) -> Iterator[tuple[Ground, Board]]:
    """Where pipelines run. Nothing of Spark is started before somebody needs it."""
    from hakiri.cli.board import Board
    from hakiri.cli.spark import engine_of
    from hakiri.core.ids import PipelineId
    from hakiri.engine import address_for_tasks, session
    from hakiri.pipelines.runtime.ground import Ground
    from hakiri.pipelines.runtime.sessions import Sessions
    from hakiri.pipelines.tracing import TelemetryListener
    from hakiri.telemetry import trace_id_of

    settings, project = place.settings, place.project
    engine = engine_of(app, settings)
    board = Board(app.console, app.clock, pipelines=[PipelineId(each) for each in pipelines], is_log=is_log)
    with (
        telemetry_of(app, place) as telemetry,
        Sessions(lambda: session(engine, board, project=project.root)) as sessions,
        board,
    ):
        traced = TelemetryListener(telemetry)

        def listen(event: Event) -> None:
            traced(event)
            board(event)

        yield (
            Ground(
                project=project,
                layout=place.layout,
                catalog=place.catalog,
                sessions=sessions,
                node=node_of(settings),
                env=app.env,
                clock=app.clock,
                listen=listen,
                lease=settings.runtime.lease.after(app.clock.now()) - app.clock.now(),
                advertised=address_for_tasks(engine.config),
                trace_of=trace_id_of,
                chunks_at_once=settings.runtime.max_parallel_chunks,
                telemetry=telemetry,
            ),
            board,
        )
