"""Pipelines that really run in a test: a project in a folder, a catalog, and the shared Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakiri.catalog import Catalog, open_catalog
from hakiri.core.clock import Clock, SystemClock
from hakiri.core.ids import NodeId, PipelineId
from hakiri.manifest import Project, load_project
from hakiri.pipelines.events import Event
from hakiri.pipelines.runtime.apply import Applied, apply_project, run_now
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.sessions import Sessions
from hakiri.pipelines.runtime.steps import Reached, unwatched
from hakiri.store.layout import StoreLayout
from hakiri.store.reading import open_reader


@dataclass(kw_only=True)
class Lab:
    """One project with its store."""

    root: Path
    spark: Any
    env: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    catalog_url: str = "sqlite:///store/shop/meta.sqlite"
    events: list[Event] = field(default_factory=list)

    def write(self, manifest: str) -> Lab:
        """The manifest, below a head that names the project."""
        (self.root / "hakiri.toml").write_text(
            f'[project]\nname = "shop"\n\n[context]\npath = "store"\n\n{manifest}'
        )
        return self

    @property
    def project(self) -> Project:
        return load_project(self.root)

    @property
    def layout(self) -> StoreLayout:
        return StoreLayout(self.root / "store" / "shop")

    @contextmanager
    def catalog(self) -> Iterator[Catalog]:
        with open_catalog(self.catalog_url, project="shop", base=self.root, now=self.clock.now()) as catalog:
            yield catalog

    @contextmanager
    def ground(self, reached: Reached = unwatched, **changes: Any) -> Iterator[Ground]:
        with self.catalog() as catalog, Sessions(lambda: nullcontext(self.spark)) as sessions:
            settings: dict[str, Any] = {
                "project": self.project,
                "layout": self.layout,
                "catalog": catalog,
                "sessions": sessions,
                "node": NodeId("node-1"),
                "env": self.env,
                "clock": self.clock,
                "listen": self.events.append,
                "reached": reached,
            }
            yield Ground(**settings | changes)

    def apply(self, only: str | None = None, **changes: Any) -> list[Applied]:
        with self.ground(**changes) as ground:
            return apply_project(ground, only=only)

    def run(self, pipeline: str, **changes: Any) -> Applied:
        with self.ground(**changes) as ground:
            return run_now(ground, ground.project.pipeline(pipeline))

    def applied(self, pipeline: str = "p", **changes: Any) -> Applied:
        """Apply, and insist that the pipeline did not fail."""
        (applied,) = [each for each in self.apply(pipeline, **changes) if each.pipeline == pipeline]
        if applied.error is not None:
            raise applied.error
        return applied

    def ran(self, pipeline: str = "p", **changes: Any) -> Applied:
        """Run, and insist that it did not fail."""
        applied = self.run(pipeline, **changes)
        if applied.error is not None:
            raise applied.error
        return applied

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """What stock DuckDB reads through the views of the store."""
        with open_reader(self.layout) as reader:
            return reader.execute(sql).fetchall()

    def chunks(self, pipeline: str = "p") -> list[Any]:
        with self.catalog() as catalog:
            return list(catalog.chunks.page(PipelineId(pipeline)))

    def told(self, kind: type) -> list[Any]:
        """The events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]


def stopping_at(step: str, stop: Callable[[], None]) -> Reached:
    """Calls `stop` when a run comes to the step for the first time."""
    is_done = []

    def reached(now: str) -> None:
        if now == step and not is_done:
            is_done.append(True)
            stop()

    return reached
