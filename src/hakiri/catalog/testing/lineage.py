"""Tests of `catalog.lineage`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.lineage import EdgeKind
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import MINUTE, T0, at_once, edge, run_id
from hakiri.catalog.testing.vandal import Vandal, refuses_all


class LineageContract(Contract):
    """Edges between runs, which are only ever added."""

    def test_a_run_comes_from_nothing_at_first(self, catalog: Catalog) -> None:
        assert catalog.lineage.parents(run_id(1)) == ()
        assert catalog.lineage.children(run_id(1)) == ()

    @pytest.mark.spec("HC-026")
    @pytest.mark.parametrize("kind", EdgeKind)
    def test_an_edge_of_any_kind_is_kept(self, catalog: Catalog, kind: EdgeKind) -> None:
        added = edge(2, 1, kind, record="row «7»", reason="rewind to May\n— ü 🦆")

        assert catalog.lineage.add([added]) == 1
        assert catalog.lineage.parents(run_id(2)) == (added,)
        assert catalog.lineage.children(run_id(1)) == (added,)

    @pytest.mark.spec("HC-026")
    def test_a_compaction_comes_from_many_runs_and_a_rewind_from_one(self, catalog: Catalog) -> None:
        compaction = [edge(9, parent) for parent in (1, 2, 3)]
        rewind = edge(4, 2, EdgeKind.REWIND, reason="bad rows")

        assert catalog.lineage.add([*compaction, rewind]) == 4

        assert catalog.lineage.parents(run_id(9)) == tuple(compaction)
        assert catalog.lineage.children(run_id(2)) == (rewind, compaction[1])
        assert catalog.lineage.parents(run_id(4)) == (rewind,)

    def test_parents_come_in_the_order_of_parent_kind_and_record(self, catalog: Catalog) -> None:
        ordered = [
            edge(9, 1, EdgeKind.CHUNK),
            edge(9, 1, EdgeKind.REWIND),
            edge(9, 1, EdgeKind.REWIND, record="A"),
            edge(9, 1, EdgeKind.REWIND, record="a"),
            edge(9, 1, EdgeKind.REWIND, record="ä"),
            edge(9, 2, EdgeKind.CHUNK),
        ]

        catalog.lineage.add(reversed(ordered))

        assert catalog.lineage.parents(run_id(9)) == tuple(ordered)

    def test_children_come_in_the_order_of_child_kind_and_record(self, catalog: Catalog) -> None:
        ordered = [
            edge(2, 1, EdgeKind.CHUNK),
            edge(2, 1, EdgeKind.REWIND),
            edge(2, 1, EdgeKind.REWIND, record="a"),
            edge(3, 1, EdgeKind.CHUNK),
        ]

        catalog.lineage.add(iter(ordered[::-1]))

        assert catalog.lineage.children(run_id(1)) == tuple(ordered)

    def test_an_edge_that_is_there_is_not_added_again(self, catalog: Catalog) -> None:
        first = edge(2, 1, reason="first")
        catalog.lineage.add([first])

        assert catalog.lineage.add([first, edge(3, 1), edge(3, 1)]) == 1
        assert catalog.lineage.add([replace(first, reason="second", at=T0 + MINUTE)]) == 0
        assert catalog.lineage.children(run_id(1)) == (first, edge(3, 1))

    def test_no_edges_are_none(self, catalog: Catalog) -> None:
        assert catalog.lineage.add([]) == 0

    def test_many_edges_at_once_are_all_there(self, catalog: Catalog) -> None:
        edges = tuple(edge(7, 1, EdgeKind.PARSE, record=f"{number:05d}") for number in range(2500))

        assert catalog.lineage.add(edges) == len(edges)
        assert catalog.lineage.parents(run_id(7)) == edges

    @upholds(Invariant.APPEND_ONLY_LINEAGE)
    def test_many_who_add_the_same_edges_at_once_add_each_once(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        edges = [edge(child, 1) for child in range(2, 22)]
        with opener.open() as other:
            handles = (catalog, other)
            added = at_once(lambda n: handles[n % 2].lineage.add(edges[n:] + edges[:n]))

        assert sum(added) == len(edges)
        assert catalog.lineage.children(run_id(1)) == tuple(edges)

    @pytest.mark.spec("AD-004")
    @upholds(Invariant.APPEND_ONLY_LINEAGE)
    def test_the_store_changes_and_removes_no_edge(self, catalog: Catalog, vandal: Vandal) -> None:
        plain, named = edge(2, 1, reason="folded"), edge(2, 1, record="7")
        catalog.lineage.add([plain, named])

        refuses_all(
            [
                partial(attack, one)
                for attack in (vandal.change_edge, vandal.replace_edge, vandal.delete_edge)
                for one in (plain, named)
            ],
            lambda: catalog.lineage.parents(run_id(2)),
        )
