"""A look at a pipeline's source without Spark: its tables, some rows, and whether it can be reached."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hakiri.core.clock import Clock
from hakiri.core.errors import HakiriError
from hakiri.core.nearest import nearest
from hakiri.sources.contract import Connector, Hint, Read, Table
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.opening import RootedProject, open_connector

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec, TableSpec

MOST_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTable:
    """A table of a source with the hint for it; `is_pulled` if the pipeline names it."""

    table: Table
    hint: Hint
    is_pulled: bool

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and Arrow type of each column."""
        return tuple((field.name, str(field.type)) for field in self.table.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some rows of a table as Python values, each column with its Arrow type."""

    table: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Whether a pipeline's source can be reached and has its tables: what it said, or the error it raised."""

    pipeline: str
    connector: str
    found: str
    error: HakiriError | None = None


def look_at_tables(connector: Connector, spec: PipelineSpec) -> tuple[SeenTable, ...]:
    """Every table that the source has; those of the pipeline first."""
    pulled = {name for table in spec.tables for name in names_at_source(spec, table)}
    seen = [
        SeenTable(table=table, hint=connector.backfill_hint(table.name), is_pulled=table.name in pulled)
        for table in connector.discover()
    ]
    return tuple(sorted(seen, key=lambda each: (not each.is_pulled, each.table.name)))


def take_sample(connector: Connector, spec: PipelineSpec, name: str | None, *, rows: int) -> Sample:
    """The first rows of a table, by its name at the source or in the store; the pipeline's first by default.

    Raises PermanentFailure if the source has no such table.
    """
    table = _found(connector, _names(spec, name))
    read = Read(
        table=table.name,
        schema=table.schema if table.is_open else None,
        limit=rows,
        sets_aside=_sets_aside(spec, name),
    )
    taken: list[tuple[Any, ...]] = []
    with ExitStack() as stack:
        reading = connector.open(read)
        close = getattr(reading, "close", None)
        if close is not None:
            stack.callback(close)
        for batch in reading:
            # By column, since a row as a dict has no room for what a source may call alike.
            cells = [column.to_pylist(maps_as_pydicts="strict") for column in batch.rows.columns]
            taken += zip(*cells, strict=True)
            if len(taken) >= rows:
                break
    columns = tuple((field.name, str(field.type)) for field in table.schema)
    return Sample(table=table.name, columns=columns, rows=tuple(taken[:rows]))


def check_pipelines(
    specs: Sequence[PipelineSpec],
    project: RootedProject,
    env: Mapping[str, str],
    clock: Clock,
    *,
    on_answer: Callable[[int], None],
) -> list[Checked]:
    """Try the source of each pipeline, several at once; the answers come in the order of the pipelines.

    `on_answer` is told how many are done, in the thread of the caller.
    """
    answers: list[Checked | None] = [None] * len(specs)
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Checked | BaseException]] = queue.SimpleQueue()
    for number in range(len(specs)):
        waiting.put(number)

    def work() -> None:
        try:
            while True:
                number = waiting.get_nowait()
                try:
                    done.put((number, _checked(specs[number], project, env, clock)))
                except BaseException as error:
                    done.put((number, error))  # raised again in the caller's thread
                    return
        except queue.Empty:
            return

    # Daemons, so that Ctrl-C need not wait for a source that does not answer.
    for _ in range(min(MOST_AT_ONCE, len(specs))):
        threading.Thread(target=work, daemon=True).start()
    for count in range(1, len(specs) + 1):
        number, answer = done.get()
        if isinstance(answer, BaseException):
            raise answer
        answers[number] = answer
        on_answer(count)
    return [answer for answer in answers if answer is not None]


def names_at_source(spec: PipelineSpec, table: TableSpec) -> Iterator[str]:
    """What the source may call a table of the manifest, where its name in the store may stand as well."""
    yield table.name
    prefix = f"{spec.source.connector.replace('-', '_')}_"
    if table.name.startswith(prefix) and table.name != prefix:
        yield table.name.removeprefix(prefix)


def _names(spec: PipelineSpec, name: str | None) -> list[str]:
    if name is None:
        return list(names_at_source(spec, spec.tables[0]))
    for table in spec.tables:
        if name in (table.name, table.as_, spec.store_name(table)):
            return list(names_at_source(spec, table))
    return [name]


def _sets_aside(spec: PipelineSpec, name: str | None) -> bool:
    """Whether a run would go on without the rows that do not fit."""
    if name is None:
        return spec.tables[0].on_bad_row == "quarantine"
    known = [table for table in spec.tables if name in (table.name, table.as_, spec.store_name(table))]
    return any(table.on_bad_row == "quarantine" for table in known)


def _found(connector: Connector, names: Sequence[str]) -> Table:
    *likely, last = names
    for name in likely:
        try:
            (table,) = connector.discover([name])
        except PermanentFailure:
            continue  # it is the name in the store then; the last one is refused by the source itself
        return table
    (table,) = connector.discover([last])
    return table


def _check_incremental(table: Table, incremental: str | None) -> None:
    if incremental is None or table.is_open or incremental in table.schema.names:
        return
    meant = nearest(incremental, table.schema.names)
    raise PermanentFailure(
        f"table `{table.name}` has no column `{incremental}` to be `incremental` by",
        hint=f"did you mean `{meant}`?" if meant else f"use one of {', '.join(table.schema.names)}",
    )


def _checked(spec: PipelineSpec, project: RootedProject, env: Mapping[str, str], clock: Clock) -> Checked:
    name = spec.source.connector
    try:
        with open_connector(spec, project, env, clock) as connector:
            answer = connector.check()
            for table in spec.tables:
                _check_incremental(_found(connector, list(names_at_source(spec, table))), spec.incremental)
            return Checked(pipeline=spec.id, connector=name, found=answer)
    except HakiriError as error:
        return Checked(pipeline=spec.id, connector=name, found=str(error), error=error)
    except Exception as error:  # a connector or library that is broken is just what is looked for
        found = f"{type(error).__name__}: {error}".removesuffix(": ")
        return Checked(pipeline=spec.id, connector=name, found=found, error=HakiriError(found))
