"""Lineage."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.sql.database import Database, Row, Transaction, listed, moment, parts_of
from hakiri.core.ids import RunId

EDGES_A_STATEMENT = 10_000


class SqlLineage:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, edges: Iterable[Edge]) -> int:
        # The transaction may be tried again, and an iterator gives its edges only once.
        added = tuple(edges)
        return self._database.write(lambda tx: add_edges(tx, added)) if added else 0

    def parents(self, run: RunId) -> tuple[Edge, ...]:
        return tuple(_edge(row) for row in self._database.all("parents", run=run))

    def children(self, run: RunId) -> tuple[Edge, ...]:
        return tuple(_edge(row) for row in self._database.all("children", run=run))


def add_edges(tx: Transaction, edges: Iterable[Edge]) -> int:
    """Add the edges that are not there yet as a part of a transaction, and say how many were new.

    Of equal edges, the first one counts.
    """
    first: dict[tuple[str, ...], Edge] = {}
    for edge in edges:
        first.setdefault(_key(edge), edge)
    by_time: dict[datetime, list[tuple[str | None, ...]]] = {}
    # Sorted, so that two writers of the same edges meet at the first of them and not crosswise.
    for key, edge in sorted(first.items(), key=lambda item: item[0]):
        by_time.setdefault(edge.at, []).append((*key, edge.reason))
    return sum(_add(tx, rows, at) for at, rows in by_time.items())


def _add(tx: Transaction, rows: list[tuple[str | None, ...]], at: datetime) -> int:
    parts = parts_of(rows, EDGES_A_STATEMENT)
    return sum(tx.run("add_edges", edges=listed("edge", part), at=at) for part in parts)


def _key(edge: Edge) -> tuple[str, ...]:
    return edge.child, edge.parent, edge.kind.value, edge.record or ""


def _edge(row: Row) -> Edge:
    return Edge(
        child=row["child_run_id"],
        parent=row["parent_run_id"],
        kind=EdgeKind(row["kind"]),
        at=moment(row["at"]),
        record=row["record_id"] or None,
        reason=row["reason"],
    )
