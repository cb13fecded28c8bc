"""Tests of merging what two replicas did apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.catalog.merge import Merged, merge_replica
from hakiri.catalog.testing.base import Contract, UrlOpener
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    MINUTE,
    OTHER_TABLE,
    PIPELINE,
    SUCCESS,
    T0,
    TABLE,
    TTL,
    run_id,
)
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, TableName

FAILED = RunOutcome(status=RunStatus.FAILED, error_kind="Timeout", error_message="after 30 s")


def read_up_to(
    catalog: Catalog,
    number: int,
    *,
    minute: int,
    outcome: RunOutcome = SUCCESS,
    table: TableName = TABLE,
    node: NodeId = ANNA,
) -> None:
    """A run at that minute which reads a table up to its own number."""
    now = T0 + minute * MINUTE
    lease = catalog.runs.start(run_id(number), PIPELINE, node, now, ttl=TTL).lease
    value = f'{{"id": {number}}}'
    catalog.cursors.put(PIPELINE, table, value, run=run_id(number), now=now, under=lease)
    catalog.runs.end(run_id(number), outcome, now + MINUTE / 2)
    if lease:
        catalog.leases.release(lease)


def state(catalog: Catalog) -> object:
    """What replicas share: the runs, and how far each table was read by which of them."""
    cursors = {cursor.table: (cursor.value, cursor.run) for cursor in catalog.cursors.all(PIPELINE)}
    return catalog.runs.latest(), cursors


class MergeContract(Contract):
    """The backend's catalog and a replica on SQLite, which were apart."""

    @pytest.fixture
    def replica(self, tmp_path: Path) -> Iterator[Catalog]:
        opener = UrlOpener(url="sqlite:///replica.sqlite", project="replica", base=tmp_path)
        with opener.open() as replica:
            yield replica

    @pytest.fixture
    def shared_kind(self, catalog: Catalog, replica: Catalog) -> None:
        """Both know that the pipeline's cursors are safe to write on both."""
        for each in (catalog, replica):
            each.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)

    @pytest.mark.spec("HP-064")
    @pytest.mark.usefixtures("shared_kind")
    def test_runs_are_merged_by_union(self, catalog: Catalog, replica: Catalog) -> None:
        read_up_to(catalog, 1, minute=1)
        read_up_to(replica, 2, minute=2, node=BEN)
        read_up_to(replica, 3, minute=3, outcome=FAILED, node=BEN)
        replica.runs.start(run_id(4), PIPELINE, BEN, T0 + 4 * MINUTE, ttl=TTL)
        theirs = replica.runs.latest()

        assert merge_replica(catalog, replica, T0).runs == 3

        assert [run.run for run in catalog.runs.latest()] == [run_id(number) for number in (4, 3, 2, 1)]
        assert catalog.runs.latest(limit=3) == theirs

    @pytest.mark.spec("HP-062")
    @pytest.mark.usefixtures("shared_kind")
    def test_the_cursor_of_the_most_recent_successful_run_wins(
        self, catalog: Catalog, replica: Catalog
    ) -> None:
        read_up_to(catalog, 1, minute=1)
        read_up_to(catalog, 2, minute=9, table=OTHER_TABLE)
        read_up_to(replica, 3, minute=5, node=BEN)
        read_up_to(replica, 4, minute=2, table=OTHER_TABLE, node=BEN)

        assert merge_replica(catalog, replica, T0) == Merged(runs=2, cursors=1)

        cursors = {cursor.table: cursor.run for cursor in catalog.cursors.all(PIPELINE)}
        assert cursors == {TABLE: run_id(3), OTHER_TABLE: run_id(2)}

    @pytest.mark.spec("HP-062")
    @pytest.mark.usefixtures("shared_kind")
    def test_a_failed_later_run_does_not_win(self, catalog: Catalog, replica: Catalog) -> None:
        read_up_to(catalog, 1, minute=1)
        read_up_to(replica, 2, minute=9, outcome=FAILED, node=BEN)

        assert merge_replica(catalog, replica, T0) == Merged(runs=1, cursors=0)

        cursor = catalog.cursors.get(PIPELINE, TABLE)
        assert cursor is not None
        assert cursor.run == run_id(1)

    @pytest.mark.spec("HP-062")
    @pytest.mark.spec("HP-064")
    @pytest.mark.usefixtures("shared_kind")
    def test_merging_twice_is_once(self, catalog: Catalog, replica: Catalog) -> None:
        read_up_to(catalog, 1, minute=1)
        read_up_to(replica, 2, minute=2, node=BEN)
        merge_replica(catalog, replica, T0)
        before = state(catalog)

        assert merge_replica(catalog, replica, T0 + MINUTE) == Merged(runs=0, cursors=0)
        assert state(catalog) == before

    @pytest.mark.spec("HP-062")
    @pytest.mark.spec("HP-064")
    @pytest.mark.usefixtures("shared_kind")
    def test_both_sides_come_to_the_same(self, catalog: Catalog, replica: Catalog) -> None:
        read_up_to(catalog, 1, minute=1)
        read_up_to(catalog, 2, minute=6, table=OTHER_TABLE)
        read_up_to(replica, 3, minute=4, node=BEN)
        read_up_to(replica, 4, minute=7, outcome=FAILED, table=OTHER_TABLE, node=BEN)

        merge_replica(catalog, replica, T0)
        merge_replica(replica, catalog, T0)

        assert state(catalog) == state(replica)

    @pytest.mark.spec("HP-062")
    @pytest.mark.spec("HP-064")
    @pytest.mark.usefixtures("shared_kind")
    @pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["older first", "newer first"])
    def test_the_order_of_replicas_does_not_matter(
        self, catalog: Catalog, tmp_path: Path, order: tuple[int, int]
    ) -> None:
        """Ours was left behind by a failed run that is later than both successful ones."""
        read_up_to(catalog, 9, minute=9, outcome=FAILED)
        replicas = [
            UrlOpener(url=f"sqlite:///replica-{number}.sqlite", project="replica", base=tmp_path)
            for number in (0, 1)
        ]
        for number, opener in enumerate(replicas):
            with opener.open() as replica:
                replica.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
                read_up_to(replica, number + 1, minute=number + 1, node=BEN)

        for number in order:
            with replicas[number].open() as replica:
                merge_replica(catalog, replica, T0)

        cursor = catalog.cursors.get(PIPELINE, TABLE)
        assert cursor is not None
        assert cursor.run == run_id(2)

    @pytest.mark.usefixtures("shared_kind")
    def test_more_runs_than_a_page_are_merged(self, catalog: Catalog, replica: Catalog) -> None:
        for number in range(1, 26):
            replica.runs.start(run_id(number), PIPELINE, BEN, T0, ttl=TTL)

        assert merge_replica(catalog, replica, T0, page=10).runs == 25
        assert catalog.runs.latest() == replica.runs.latest()

    @pytest.mark.spec("HC-103")
    @pytest.mark.spec("HC-104")
    @pytest.mark.parametrize("kind", [CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID])
    def test_cursors_that_one_writer_alone_may_move_are_not_merged(
        self, catalog: Catalog, replica: Catalog, kind: CursorKind
    ) -> None:
        for each in (catalog, replica):
            each.pipelines.declare(PIPELINE, kind, T0)
        read_up_to(replica, 1, minute=1, node=BEN)

        assert merge_replica(catalog, replica, T0) == Merged(runs=1, cursors=0)
        assert catalog.cursors.all(PIPELINE) == ()

    @pytest.mark.spec("HC-108")
    def test_cursors_of_a_pipeline_that_was_not_declared_here_are_not_merged(
        self, catalog: Catalog, replica: Catalog
    ) -> None:
        replica.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        read_up_to(replica, 1, minute=1, node=BEN)

        assert merge_replica(catalog, replica, T0) == Merged(runs=1, cursors=0)

        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        assert merge_replica(catalog, replica, T0) == Merged(runs=0, cursors=1)
