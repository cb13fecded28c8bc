"""Asking sources what they have, many at once and without Spark: tables, extents, estimates."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from hakiri.core.clock import Clock
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId
from hakiri.pipelines.chunks.pieces import stream_of
from hakiri.pipelines.reached import Reached
from hakiri.pipelines.tables import kind_by_column
from hakiri.sources.contract import Connector, Extent, Hint, Read, Table, Window
from hakiri.sources.opening import open_connector

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, Project, TableSpec

SOURCES_AT_ONCE = 8
PATIENCE_SECONDS = 20.0


class SourceSilent(HakiriError):
    """A source that does not answer in time."""

    code = "pipelines.source_silent"
    retryable = True

    def __init__(self, pipeline: str, seconds: float) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the source of pipeline `{pipeline}` did not answer within {seconds:.0f} s",
            hint="try `hakiri source check`, or plan without asking: `hakiri plan --offline`",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """What a source says of one table. `has_news` is None where it cannot say, or was not asked."""

    table: Table
    hint: Hint
    kind: CursorKind
    cursor: str | None
    extent: Extent
    partitions: tuple[Mapping[str, str], ...]
    has_news: bool | None = None

    @property
    def field(self) -> str | None:
        """The column whose values cut the table, if there is one."""
        return self.cursor or self.hint.cursor_field

    @property
    def hint_in_force(self) -> Hint:
        """What the connector declares, with the kind of cursor that the table is read by."""
        return replace(self.hint, cursor_kind=self.kind)


Answer = tuple[TableLook, ...] | HakiriError
_Said = TypeVar("_Said")


def look_at(connector: Connector, spec: PipelineSpec) -> tuple[TableLook, ...]:
    """Ask for every table of the pipeline, in its order."""
    found = {
        table.name: table for table in connector.discover([spec.source_name(each) for each in spec.tables])
    }
    return tuple(_look(connector, spec, each, found[spec.source_name(each)]) for each in spec.tables)


def _look(connector: Connector, spec: PipelineSpec, table: TableSpec, found: Table) -> TableLook:
    """A column that the manifest names and the source can measure cuts a table as well."""
    hint = connector.backfill_hint(found.name)
    named = spec.cursor_of(table)
    cursor = named or (hint.cursor_field if hint.is_cursor else None)
    field = cursor or hint.cursor_field
    kind = hint.cursor_kind
    extent = Extent()
    if field is not None and (kind.is_cut or named is not None):
        extent = connector.extent(found.name, field)
        kind = kind_by_column(kind, extent)
    return TableLook(
        table=found,
        hint=hint,
        kind=kind,
        cursor=cursor,
        extent=extent,
        partitions=tuple(connector.partitions(found.name)),
    )


def ask_sources(
    project: Project,
    specs: Sequence[PipelineSpec],
    env: Mapping[str, str],
    clock: Clock,
    *,
    catalog: Catalog | None = None,
) -> dict[str, Answer]:
    """What every source says, or why it says nothing, by pipeline. Nobody is waited for for long.

    With a catalog, the sources of pipelines without a schedule also say whether they have news.
    """
    answers = _all_asked(specs, lambda spec: _asked(project, spec, env, clock, catalog))
    return {spec.id: answers.get(spec.id, SourceSilent(spec.id, PATIENCE_SECONDS)) for spec in specs}


def _all_asked(specs: Sequence[PipelineSpec], ask: Callable[[PipelineSpec], _Said]) -> dict[str, _Said]:
    """What `ask` gives for each, several at once; those that fail or are not back in time are left out."""
    answers: dict[str, _Said] = {}
    waiting = list(specs)
    lock = threading.Lock()
    done = threading.Semaphore(0)

    def work() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                spec = waiting.pop(0)
            try:
                with suppress(Exception):  # what is wrong with a source is told by whoever runs the pipeline
                    answer = ask(spec)
                    with lock:
                        answers[spec.id] = answer
            finally:
                done.release()

    for _ in range(min(SOURCES_AT_ONCE, len(specs))):
        # Daemons, so that nobody has to wait for a source that never answers.
        threading.Thread(target=work, daemon=True).start()
    for _ in specs:
        # From one answer to the next: many sources take longer than one, and an answer is a sign of life.
        if not done.acquire(timeout=PATIENCE_SECONDS):
            break
    with lock:
        return dict(answers)


def with_news(
    project: Project,
    specs: Sequence[PipelineSpec],
    catalog: Catalog,
    env: Mapping[str, str],
    clock: Clock,
) -> set[str]:
    """Those whose source can say, at next to no cost, that it has something new, and does."""
    return {name for name, has_news in news_of(project, specs, catalog, env, clock).items() if has_news}


def news_of(
    project: Project,
    specs: Sequence[PipelineSpec],
    catalog: Catalog,
    env: Mapping[str, str],
    clock: Clock,
) -> dict[str, bool | None]:
    """Whether sources can say, at next to no cost, that they have news; None for one that is out of reach."""

    def ask(spec: PipelineSpec) -> bool:
        with open_connector(spec, project, env, clock) as connector:
            return any(_has_news(connector, spec, table, catalog) for table in spec.tables)

    answers = _all_asked(specs, ask)
    return {spec.id: answers.get(spec.id) for spec in specs}


def _has_news(connector: Connector, spec: PipelineSpec, table: TableSpec, catalog: Catalog) -> bool:
    pipeline, store = PipelineId(spec.id), spec.store_name(table)
    name, column = spec.source_name(table), spec.cursor_of(table)
    kept = {cursor.table: json.loads(cursor.value) for cursor in catalog.cursors.all(pipeline)}
    reads = [
        Read(table=name, cursor=place, incremental=column, partition=stream_of(stream)[1])
        for stream, place in kept.items()
        if stream_of(stream)[0] == store and place
    ]
    if not any(stream_of(stream)[0] == store for stream in kept):
        # No row has come behind the history yet, or none at all: the next read is that of its open end.
        edge = Reached(catalog=catalog, pipeline=pipeline).edge(store, {})
        window = None if column is None else Window(field=column, since=edge)
        reads.append(Read(table=name, incremental=column, window=window))
    return any(connector.has_news(read) for read in reads)


def _asked(
    project: Project, spec: PipelineSpec, env: Mapping[str, str], clock: Clock, catalog: Catalog | None
) -> Answer:
    try:
        with open_connector(spec, project, env, clock) as connector:
            looks = look_at(connector, spec)
            if catalog is None or spec.schedule is not None:
                return looks
            return tuple(
                replace(look, has_news=_has_news(connector, spec, table, catalog))
                for look, table in zip(looks, spec.tables, strict=True)
            )
    except HakiriError as error:
        error.places = error.places or (project.place_of(spec.id),)
        return error
    except Exception as error:  # a plan tells of a broken source, and goes on with the others
        return HakiriError(f"{type(error).__name__}: {error}", places=[project.place_of(spec.id)])
