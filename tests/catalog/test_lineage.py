"""Details of lineage on SQL databases; the promises are in the conformance suite."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.support.databases import T0

from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.sql.database import Database, Transaction
from hakiri.catalog.sql.lineage import EDGES_A_STATEMENT, SqlLineage, add_edges
from hakiri.core.ids import RunId

CHILD, PARENT = RunId("child"), RunId("parent")


def edge(child: str = CHILD, parent: str = PARENT, kind: EdgeKind = EdgeKind.CHUNK, **fields: object) -> Edge:
    return Edge(child=RunId(child), parent=RunId(parent), kind=kind, **({"at": T0} | fields))  # type: ignore[arg-type]


@pytest.mark.spec("HC-026")
def test_an_edge_is_read_as_it_was_added(database: Database) -> None:
    lineage = SqlLineage(database)
    added = edge(kind=EdgeKind.REWIND, record="7", reason='a "late" row\n\\ and é')

    assert lineage.add([added]) == 1

    assert lineage.parents(CHILD) == (added,)
    assert lineage.children(PARENT) == (added,)


def test_an_edge_of_a_record_is_another_one_than_that_of_the_whole_run(database: Database) -> None:
    lineage = SqlLineage(database)

    assert lineage.add([edge(), edge(record="7"), edge(record="8"), edge(kind=EdgeKind.MODEL)]) == 4

    assert [(found.kind, found.record) for found in lineage.parents(CHILD)] == [
        (EdgeKind.CHUNK, None),
        (EdgeKind.CHUNK, "7"),
        (EdgeKind.CHUNK, "8"),
        (EdgeKind.MODEL, None),
    ]


def test_only_new_edges_are_added_and_counted(database: Database) -> None:
    lineage = SqlLineage(database)
    lineage.add([edge(reason="first")])

    added = lineage.add([edge(reason="again", at=T0 + timedelta(hours=1)), edge(parent="other")])

    assert added == 1
    assert lineage.parents(CHILD) == (edge(parent="other"), edge(reason="first"))


def test_of_equal_edges_in_one_call_the_first_one_counts(database: Database) -> None:
    lineage = SqlLineage(database)

    added = lineage.add(iter([edge(reason="first"), edge(reason="second", at=T0 - timedelta(hours=1))]))

    assert added == 1
    assert lineage.parents(CHILD) == (edge(reason="first"),)


def test_edges_of_different_times_keep_theirs(database: Database) -> None:
    lineage = SqlLineage(database)
    edges = tuple(edge(parent=f"p{n}", at=T0 + timedelta(microseconds=n)) for n in range(5))

    assert lineage.add(edges) == 5

    assert lineage.parents(CHILD) == edges


def test_no_edges_are_none(database: Database) -> None:
    assert SqlLineage(database).add([]) == 0


def test_edges_are_part_of_the_transaction_around_them(database: Database) -> None:
    def work(tx: Transaction) -> None:
        assert add_edges(tx, [edge()]) == 1
        raise RuntimeError("crashed after the edges")

    with pytest.raises(RuntimeError, match="crashed"):
        database.write(work)

    assert SqlLineage(database).parents(CHILD) == ()


@pytest.mark.parametrize("field", ["child", "parent", "record", "reason"])
@pytest.mark.parametrize("text", ["a\0b", "half \ud800"])
def test_what_a_database_cannot_keep_is_refused_before_anything_is_added(
    database: Database, field: str, text: str
) -> None:
    with pytest.raises(UnstorableText):
        SqlLineage(database).add([edge(), edge(**{"parent": "other", field: text})])  # type: ignore[arg-type]

    assert SqlLineage(database).parents(CHILD) == ()


def test_ten_thousand_edges_take_well_under_a_second(database: Database) -> None:
    lineage = SqlLineage(database)

    def seconds(attempt: str) -> float:
        edges = [
            edge(child=f"{attempt}{n % 100}", parent=f"p{n}", reason="compacted")
            for n in range(EDGES_A_STATEMENT)
        ]
        began = time.perf_counter()
        assert lineage.add(edges) == len(edges)
        assert lineage.add(edges) == 0
        return time.perf_counter() - began

    best = min(seconds(attempt) for attempt in "cde")  # other programs run here too

    assert len(lineage.parents(RunId("c7"))) == 100
    assert best < 2, "two calls, each well under a second"


def test_more_edges_than_go_into_one_statement_are_all_added(database: Database) -> None:
    edges = [edge(parent=f"p{n}") for n in range(EDGES_A_STATEMENT + 1)]

    assert SqlLineage(database).add(edges) == len(edges)


def test_writers_that_add_the_same_edges_at_once_add_each_once(database: Database) -> None:
    lineage = SqlLineage(database)

    def add(worker: int) -> int:
        edges = [edge(parent=f"p{n}") for n in range(200)]
        return lineage.add(edges if worker % 2 else reversed(edges))

    with ThreadPoolExecutor(8) as workers:
        added = list(workers.map(add, range(8)))

    assert sum(added) == 200
    assert len(lineage.parents(CHILD)) == 200
