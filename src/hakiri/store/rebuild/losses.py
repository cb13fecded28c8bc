"""What a catalog knows that no file tells."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.pipelines import PipelineState
from hakiri.store.rebuild.planning import Rebuilt

NEVER_TOLD = (
    "chunks that were pending, running, failed or skipped: the next run plans anew what is left of a history",
    "how runs ended: those that brought something count as successes, and others are not known",
    "which failures wait for a decision, and what was applied: the next `hakiri apply` looks at everything",
    "cursors that somebody set and no run has used yet",
    "leases, rate budgets, trace ids and the audit log",
    "snapshots whose manifests were collected",
)


def losses_of(rebuilt: Rebuilt, before: Catalog | None) -> tuple[str, ...]:
    """All of it, the general first; then what the catalog before has of it, if it can be looked at."""
    old = tuple(
        f"table `{table}`: cursors of {count} chunks that an earlier version of Hakiri wrote"
        for table, count in rebuilt.without_commit.items()
    )
    return (*NEVER_TOLD, *old, *(() if before is None else _known_losses(before)))


def _known_losses(catalog: Catalog) -> Iterator[str]:
    for state in catalog.pipelines.all():
        told = ", ".join(_of_pipeline(catalog, state))
        if told:
            yield f"pipeline `{state.pipeline}`: {told}"
    entries = catalog.audit.page(limit=1)
    if entries:
        yield f"the audit log: {entries[0].number} entries"


def _of_pipeline(catalog: Catalog, state: PipelineState) -> Iterator[str]:
    tally = catalog.chunks.tally(state.pipeline)
    for status in ("pending", "running", "failed", "skipped"):
        if count := getattr(tally, status):
            yield f"{count} {status} chunk" + ("" if count == 1 else "s")
    if state.failure is not None:
        yield f"a failure that waits for a decision ({state.failure.kind})"
