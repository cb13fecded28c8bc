"""Wrong ways to commit, each of which somebody might take for right. The judge has to find all of them.

A mutant is put in the place of the right way in a process that is forked for one try.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.sql.chunks import SqlChunks
from hakiri.catalog.sql.queue import SqlChunkQueue
from hakiri.core.canonical import canonical_json
from hakiri.pipelines import needs
from hakiri.pipelines.runtime import commits, runs
from hakiri.pipelines.runtime.commits import Finished, Protocolist, Target
from hakiri.pipelines.runtime.publishing import Publishing
from hakiri.store import files, publishing
from hakiri.store.views import TableState


def manifest_after_commit() -> None:
    """The catalog is told first, and the manifest is written then."""
    seal, commit_some = commits.seal, SqlChunkQueue.commit_some
    late: list[tuple[Any, ...]] = []

    def commit_some_first(self: SqlChunkQueue, *given: Any, **named: Any) -> None:
        commit_some(self, *given, **named)
        while late:
            seal(*late.pop())

    commits.seal = lambda *given: late.append(given)  # type: ignore[assignment]
    SqlChunkQueue.commit_some = commit_some_first  # type: ignore[method-assign]


def cursor_before_chunk() -> None:
    """The cursor is moved in a step of its own, before the rows count."""

    class CursorFirst(Protocolist):
        def commit(self, target: Target, finished: Sequence[Finished], lease: Lease | None) -> None:
            for each in finished:
                if each.moves_stream and each.cursor is not None:
                    self.catalog.cursors.put(
                        each.attempt.pipeline,
                        each.stream,
                        canonical_json(each.cursor),
                        run=each.attempt.run,
                        now=self.clock.now(),
                        under=lease,
                    )
            Protocolist.commit(self, target, finished, lease)

    runs.Protocolist = CursorFirst  # type: ignore[misc]


def views_by_what_is_there() -> None:
    """Views show every file that is in the folders, whether it was committed or not."""
    table_state = publishing.table_state

    def state_of_folders(layout: Any, catalog: Any, table: Any, *more: Any) -> TableState | None:
        state = table_state(layout, catalog, table, *more)
        if state is None:
            return None
        found: list[Path] = sorted(layout.table_folder(table).glob("data/runs/**/part-*.parquet"))
        return replace(state, files={state.schema_version: tuple(map(str, found))})

    publishing.table_state = state_of_folders  # type: ignore[assignment]


def rows_not_synced() -> None:
    """A file counts as written as soon as the system has taken it."""
    files._LocalOutlet.sync = lambda _: None  # type: ignore[method-assign]


def follow_up_planned_again() -> None:
    """Whoever comes to planning what follows a chunk plans it, whether somebody did or not."""
    plan, numbers = SqlChunks.plan, count(1)

    def plan_anyway(self: SqlChunks, pipeline: Any, name: str, *given: Any, **more: Any) -> int:
        own = f"{name} {self!r} {next(numbers)}" if name.startswith("after-") else name
        return plan(self, pipeline, own, *given, **more)

    SqlChunks.plan = plan_anyway  # type: ignore[method-assign]


def views_left_to_the_next_commit() -> None:
    """A run may end before its views are there, and nobody comes back for them."""
    Publishing.wait = lambda _: None  # type: ignore[method-assign]
    needs._was_cut_off = lambda *_: False  # type: ignore[assignment]


MUTANTS: Mapping[str, Callable[[], None]] = MappingProxyType(
    {
        mutant.__name__: mutant
        for mutant in (
            manifest_after_commit,
            cursor_before_chunk,
            views_by_what_is_there,
            rows_not_synced,
            follow_up_planned_again,
            views_left_to_the_next_commit,
        )
    }
)
