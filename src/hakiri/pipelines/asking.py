"""Asking sources what they have, many at once and without Spark: tables, extents, estimates."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from hakiri.core.clock import Clock
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId
from hakiri.pipelines.chunks.pieces import stream_of
from hakiri.sources.contract import Connector, Extent, Hint, Read, Table
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
    """What a source says of one table."""

    table: Table
    hint: Hint
    kind: CursorKind
    cursor: str | None
    extent: Extent
    partitions: tuple[Mapping[str, str], ...]


Answer = tuple[TableLook, ...] | HakiriError
_Said = TypeVar("_Said")


def look_at(connector: Connector, spec: PipelineSpec, table: TableSpec) -> TableLook:
    """Ask for one table. A column that the manifest names and the source can measure cuts it as well."""
    (found,) = connector.discover([spec.source_name(table)])
    hint = connector.backfill_hint(found.name)
    named = spec.cursor_of(table)
    cursor = named or (hint.cursor_field if hint.is_cursor else None)
    field = cursor or hint.cursor_field
    kind = hint.cursor_kind
    extent = Extent()
    if field is not None and (kind.is_cut or named is not None):
        extent = connector.extent(found.name, field)
        if kind is CursorKind.OPAQUE_TOKEN and extent.highest is not None:
            kind = CursorKind.MONOTONIC
    return TableLook(
        table=found,
        hint=hint,
        kind=kind,
        cursor=cursor,
        extent=extent,
        partitions=tuple(connector.partitions(found.name)),
    )


def ask_sources(
    project: Project, specs: Sequence[PipelineSpec], env: Mapping[str, str], clock: Clock
) -> dict[str, Answer]:
    """What every source says, or why it says nothing, by pipeline. Nobody is waited for for long."""
    answers = _all_asked(specs, lambda spec: _asked(project, spec, env, clock), clock)
    return {spec.id: answers.get(spec.id, SourceSilent(spec.id, PATIENCE_SECONDS)) for spec in specs}


def _all_asked(
    specs: Sequence[PipelineSpec], ask: Callable[[PipelineSpec], _Said], clock: Clock
) -> dict[str, _Said]:
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
    until = clock.monotonic() + PATIENCE_SECONDS
    for _ in specs:
        if not done.acquire(timeout=max(0.0, until - clock.monotonic())):
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

    def ask(spec: PipelineSpec) -> bool:
        with open_connector(spec, project, env, clock) as connector:
            return any(_has_news(connector, spec, table, catalog) for table in spec.tables)

    answers = _all_asked(specs, ask, clock)
    return {spec.id for spec in specs if answers.get(spec.id) is True}


def _has_news(connector: Connector, spec: PipelineSpec, table: TableSpec, catalog: Catalog) -> bool:
    store = spec.store_name(table)
    for cursor in catalog.cursors.all(PipelineId(spec.id)):
        name, partition = stream_of(cursor.table)
        place = json.loads(cursor.value)
        if name == store and place:
            read = Read(
                table=spec.source_name(table),
                cursor=place,
                incremental=spec.cursor_of(table),
                partition=partition,
            )
            if connector.has_news(read):
                return True
    return False


def _asked(project: Project, spec: PipelineSpec, env: Mapping[str, str], clock: Clock) -> Answer:
    try:
        with open_connector(spec, project, env, clock) as connector:
            return tuple(look_at(connector, spec, table) for table in spec.tables)
    except HakiriError as error:
        error.places = error.places or (project.place_of(spec.id),)
        return error
    except Exception as error:  # a plan tells of a broken source, and goes on with the others
        return HakiriError(f"{type(error).__name__}: {error}", places=[project.place_of(spec.id)])
