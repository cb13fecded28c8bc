"""Taking over what another replica did: its runs, and how far they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.runs import Run
from hakiri.core.ids import RunId

RUNS_A_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What was taken over, and had not been known before."""

    runs: int
    cursors: int


def merge_replica(ours: Catalog, theirs: Catalog, now: datetime, *, page: int = RUNS_A_PAGE) -> Merged:
    """Take over all runs of a replica, and cursors that come from a more recent successful run than ours.

    Cursors that only one writer may move are left alone: those of a pipeline whose kind needs a lease there
    or here, also because it was not declared yet. The order in which replicas are merged does not matter,
    and neither does merging one twice, or one that goes on working.
    """
    # Cursors are read first: whatever run wrote one is among the runs that are read after that.
    cursors = [
        cursor
        for state in theirs.pipelines.all()
        if not state.kind.needs_lease
        for cursor in theirs.cursors.all(state.pipeline)
    ]
    runs = sum(ours.runs.adopt(run, now) for run in _all_runs(theirs, page))
    return Merged(runs=runs, cursors=sum(ours.cursors.adopt(cursor, now) for cursor in cursors))


def _all_runs(catalog: Catalog, page: int) -> Iterator[Run]:
    before: RunId | None = None
    while runs := catalog.runs.latest(before=before, limit=page):
        yield from runs
        before = runs[-1].run
