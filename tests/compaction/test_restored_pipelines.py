"""Pipelines that go on after a table was restored: what was withdrawn comes again when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest
from tests.compaction.bench import run_here
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.compaction.compacting import Compactor
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.restoring import Restorer
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName
from hakiri.pipelines.operations.changing import Operator
from hakiri.store.known_tables import known_table
from hakiri.store.past import withdrawn
from hakiri.store.publishing import Publisher

pytestmark = pytest.mark.spark

PASSES = (
    '[[pipeline]]\nid = "p"\nsource = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
    'tables = [{ name = "items", deletes = "missing" }]\n'
)


@contextmanager
def restored(lab: Lab, table: TableName, at: datetime) -> Iterator[Operator]:
    """The table as it was, and who did that."""
    with lab.catalog() as catalog:
        publisher = Publisher(lab.layout, catalog)
        compactor = Compactor(
            catalog=catalog,
            layout=lab.layout,
            clock=lab.clock,
            node=NodeId("node-2"),
            run_tasks=run_here,
            publish=lambda name: publisher.publish([name]),
        )
        restorer = Restorer(compactor=compactor)
        restorer.work(restorer.plan(table, at), RunId("run-1"), TableLayout(), by="operator:ada")
        node = NodeId("operator-1")
        yield Operator(catalog=catalog, node=node, run=RunId(node), by="operator:ada", now=lab.clock.now())


@pytest.mark.spec("HC-043")
@pytest.mark.parametrize("config", ["", ", has_key = false"])
def test_what_was_withdrawn_comes_again_once_when_it_is_asked_for(
    lab: Lab, source: CountedSource, config: str
) -> None:
    source.put(moments(6))
    lab.write(manifest("monotonic", config=config))
    lab.applied()
    before, at = source.rows(), lab.clock.now()
    source.put(moments(9)[6:])
    lab.ran()
    stored = "SELECT id, part, v FROM counted_items ORDER BY id"
    assert lab.query(stored) == source.rows()
    table = TableName("counted_items")

    with restored(lab, table, at) as operator:
        assert lab.query(stored) == before
        source.put(moments(10)[9:])
        lab.ran()
        assert lab.query(stored) == sorted([*before, *source.rows()[9:]])
        known = known_table(operator.catalog, table)
        assert known is not None
        lost = [one.chunk for one in withdrawn(known.contents)]
        assert len(operator.pull_again(PipelineId("p"), table, lost, reason="restored").chunks) == 1
        assert operator.pull_again(PipelineId("p"), table, lost, reason="restored").chunks == ()
    lab.applied()

    assert lab.query(stored) == source.rows()
    source.put(moments(11)[10:])
    lab.ran()
    assert lab.query(stored) == source.rows()


@pytest.mark.spec("HC-043")
def test_a_pass_like_the_one_that_was_withdrawn_is_not_called_unchanged(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(4))
    lab.write(PASSES)
    lab.applied()
    at = lab.clock.now()
    source.do("DELETE FROM items WHERE id = 2; UPDATE items SET v = 'new' WHERE id = 3")
    lab.ran()
    stored = "SELECT id, v FROM items ORDER BY id"
    newest = lab.query(stored)
    assert newest == [(1, "value 1"), (3, "new"), (4, "value 4")]

    with restored(lab, TableName("items"), at):
        assert lab.query(stored) == [(n, f"value {n}") for n in range(1, 5)]
    lab.ran()

    assert lab.query(stored) == newest
