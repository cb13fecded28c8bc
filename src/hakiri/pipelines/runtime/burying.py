"""Processes that are gone: what they held is given back, and their runs are ended."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from hakiri.catalog import Catalog
from hakiri.catalog.contract.runs import ABANDONED, RunOutcome, RunStatus
from hakiri.core.clock import Clock
from hakiri.core.ids import NodeId
from hakiri.pipelines.operations.streams import chunks_brought
from hakiri.store.nodes import bury_dead_nodes


def bury_the_dead(catalog: Catalog, nodes: Path, clock: Clock) -> None:
    """Give back what processes of this machine had that are gone; `nodes` is where they were known."""
    bury_dead_nodes(nodes, lambda node: bury(catalog, node, clock.now()))


def bury(catalog: Catalog, node: NodeId, now: datetime) -> None:
    """Give back what a process had that is gone, and end its runs with what they had committed."""
    for run in catalog.queue.release_node(node, now):
        brought = chunks_brought(catalog, run)
        outcome = RunOutcome(
            status=RunStatus.FAILED,
            rows=sum(chunk.rows or 0 for chunk in brought),
            bytes=sum(chunk.bytes or 0 for chunk in brought),
            error_kind=ABANDONED,
            error_message=f"the process of node `{node}` is gone",
        )
        catalog.runs.end(run, outcome, now)
