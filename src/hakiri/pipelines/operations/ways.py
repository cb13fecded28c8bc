"""What can be done about a pipeline that failed: the commands that fit, and what each of them does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.catalog import Catalog
from hakiri.catalog.contract.pipelines import Decision, Failure
from hakiri.catalog.contract.runs import ABANDONED, Run, RunStatus
from hakiri.core.ids import PipelineId
from hakiri.pipelines.evolution.errors import SchemaIncompatible

if TYPE_CHECKING:
    from hakiri.pipelines.evolution import Change

_ENTRIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOn:
    """A command, and what it does, as an order."""

    command: str
    does: str


def ways_after_failure(
    catalog: Catalog, pipeline: PipelineId, failure: Failure, *, failed_chunks: int, is_changed: bool
) -> tuple[WayOn, ...]:
    """What somebody may decide about a failure; `is_changed`: another spec failed than there is now."""
    if is_changed:
        return (WayOn(command=f"hakiri apply {pipeline}", does="tries it as it is in the manifest now"),)
    retry = WayOn(command=f"hakiri retry {pipeline}", does="try again")
    ways = [retry]
    if failure.kind == SchemaIncompatible.code:
        ways = [
            *_ways_for_columns(catalog, pipeline, failure),
            WayOn(command=f"hakiri apply {pipeline}", does="try it with another manifest or transform"),
            WayOn(command=retry.command, does="try it as it is, once the source is mended"),
        ]
    if failed_chunks:
        what = "the chunk" if failed_chunks == 1 else f"the {failed_chunks:,} chunks"
        ways.append(WayOn(command=f"hakiri skip {pipeline}", does=f"leave out {what} that failed"))
    return tuple(ways)


def ways_after_run(run: Run) -> tuple[WayOn, ...]:
    """What to do after a run that did not make it, where nobody has to decide anything."""
    does = "goes on with it" if run.error_kind == ABANDONED else "tries again, once that is mended"
    return (WayOn(command=f"hakiri apply {run.pipeline}", does=does),)


def has_failed_openly(catalog: Catalog, latest: Run) -> bool:
    """Whether the latest run told what went wrong with it, and nobody has decided about that since."""
    is_told = latest.status is RunStatus.FAILED or latest.error_message is not None
    if not is_told or latest.error_kind is None or latest.ended_at is None:
        return False
    decisions = {decision.value for decision in Decision}
    return not any(
        entry.action in decisions and entry.by != "auto" and entry.at >= latest.ended_at
        for entry in catalog.audit.page(pipeline=latest.pipeline, limit=_ENTRIES)
    )


def _ways_for_columns(catalog: Catalog, pipeline: PipelineId, failure: Failure) -> Iterator[WayOn]:
    from hakiri.pipelines.evolution import ChangeKind

    table, refused = _refused(catalog, pipeline, failure)
    others = [change for change in refused if change.kind is not ChangeKind.CHANGE_KEY]
    if not refused or any(change.is_acceptable for change in others):
        yield WayOn(command=f"hakiri schema accept --pipeline {pipeline}", does="let it through as it comes")
    for change in refused:
        if change.kind is ChangeKind.CHANGE_KEY and change.is_acceptable:
            columns = (change.after or "").replace(", ", ",")
            wanted = f"--primary-key {columns}" if columns else "--no-primary-key"
            yield WayOn(
                command=f"hakiri schema migrate --pipeline {pipeline} --table {table} {wanted}",
                does="give the table that key",
            )


def _refused(catalog: Catalog, pipeline: PipelineId, failure: Failure) -> tuple[str, tuple[Change, ...]]:
    """The table that the failure is about, and the changes that it refused, from the audit log."""
    from hakiri.pipelines.refusals import REFUSED, changes_refused, entries_of

    for entry in entries_of(catalog, pipeline):
        if entry.action == REFUSED and entry.table is not None and (entry.reason or "") in failure.message:
            return entry.table, changes_refused(entry)
    return "", ()
