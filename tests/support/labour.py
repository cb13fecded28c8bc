"""Work on a catalog that may end at any moment and is taken up again, and a look for halves of it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from tests.support.grounds import T0, TTL, Dump, Ground, opened

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, NewChunk
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.push import Answer, Change, ChangeKey, Route, Verdict
from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.core.ids import IndexId, NodeId, PipelineId, RunId, SnapshotId, TableName

PIPELINE = PipelineId("p")
ROUTE = Route(sink="crm", model="m")
TABLES_A_PLAN = 3
CHANGES_A_PLAN = 3
INDEXES = (IndexId("pk"), IndexId("text"))
DROPS = 3


def labour(ground: Ground, turn: int, plans: int, told: Connection) -> None:
    """Do what is left of the plans, in a turn whose time is after all leases of the turns before.

    After every write, a word is told.
    """
    now = T0 + turn * 2 * TTL
    with opened(ground) as catalog:
        run, node = RunId(f"run-{turn}"), NodeId(f"n{turn}")
        lease = catalog.runs.start(run, PIPELINE, node, now, ttl=TTL).lease
        assert lease is not None
        worker = Worker(catalog=catalog, run=run, lease=lease, now=now, told=told)
        for plan in range(plans):
            if not catalog.push.was_delivered(ROUTE, changes_of(plan)[-1]):
                worker.do(plan)
        catalog.runs.end(run, RunOutcome(status=RunStatus.SUCCESS), now)


def labour_until_killed(ground: Ground, turn: int, plans: int, told: Connection) -> NoReturn:
    """The same, and who has done it all before he is killed goes on telling."""
    labour(ground, turn, plans, told)
    while True:
        told.send("idle")


def changes_of(plan: int) -> list[Change]:
    return [
        Change(key=ChangeKey(plan * 10 + n, "insert"), snapshot=SnapshotId(f"plan-{plan}"), payload="{}")
        for n in range(CHANGES_A_PLAN)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    catalog: Catalog
    run: RunId
    lease: Lease
    now: datetime
    told: Connection

    def do(self, plan: int) -> None:
        tables = [TableName(f"t{plan}_{n}") for n in range(TABLES_A_PLAN)]
        chunks = [NewChunk(table=table, predicate="{}") for table in tables]
        self.catalog.chunks.plan(PIPELINE, f"plan-{plan}", chunks, self.now)
        self.tell()
        self.work_off()
        self.do_one_again(tables[0])
        self.work_off()
        for table in tables:
            if self.catalog.snapshots.current(table) is None:
                self.fold(table)
        self.push(plan)

    def tell(self) -> None:
        self.told.send("done")

    def work_off(self) -> None:
        node = self.lease.holder
        while attempt := self.catalog.queue.claim(
            PIPELINE, self.run, node, self.now, ttl=TTL, under=self.lease
        ):
            self.tell()
            commit = _commit_of(self.catalog, attempt, self.now)
            self.catalog.queue.commit(attempt, commit, self.now, self.lease)
            self.tell()

    def do_one_again(self, table: TableName) -> None:
        of_table = [chunk for chunk in self.catalog.chunks.page(PIPELINE) if chunk.table == table]
        if len(of_table) == 1:
            self.catalog.chunks.supersede(PIPELINE, [of_table[0].chunk], "again", self.now)
            self.tell()

    def fold(self, table: TableName) -> None:
        snapshot = Snapshot(
            snapshot=SnapshotId(f"s-{table}"),
            table=table,
            created_at=self.now,
            includes_runs=(),
            indexes=INDEXES,
            rows=1,
            based_on=self.catalog.snapshots.revision(table),
            manifest="{}",
        )
        for index in INDEXES:
            sidecar = Sidecar(snapshot=snapshot.snapshot, index=index, manifest_hash="abc", bytes=1)
            self.catalog.snapshots.note_sidecar(sidecar, self.now)
            self.tell()
        drops = [
            DoomedFile(path=f"{table}/{n}", table=table, reason="folded", keep_until=self.now)
            for n in range(DROPS)
        ]
        edge = Edge(child=RunId(snapshot.snapshot), parent=self.run, kind=EdgeKind.COMPACTION, at=self.now)
        entry = NewEntry(by="auto", action="fold", table=table, after=snapshot.snapshot)
        self.catalog.snapshots.commit(snapshot, self.now, drops, edges=[edge], entries=[entry])
        self.tell()

    def push(self, plan: int) -> None:
        self.catalog.push.enqueue(ROUTE, changes_of(plan), self.now)
        self.tell()
        while batch := self.catalog.push.claim(ROUTE, self.lease.holder, self.now, limit=2, ttl=TTL):
            self.tell()
            answers = {change.key: Answer(verdict=Verdict.OK) for change in batch.changes}
            self.catalog.push.settle(batch, answers, self.now)
            self.tell()


def _commit_of(catalog: Catalog, attempt: ChunkAttempt, now: datetime) -> ChunkCommit:
    schema = catalog.schemas.current(attempt.table)
    child = RunId(f"chunk-{attempt.chunk}")
    return ChunkCommit(
        rows=1,
        bytes=1,
        manifest="{}",
        cursor=str(attempt.chunk),
        schema=SchemaStep(
            table=attempt.table,
            based_on=schema.version if schema else 0,
            change_kind="widen",
            after=f'{{"chunk": {attempt.chunk}}}',
        ),
        edges=tuple(
            Edge(child=child, parent=RunId(parent), kind=EdgeKind.CHUNK, at=now) for parent in ("a", "b")
        ),
    )


@dataclass(slots=True)
class TableView:
    """What belongs together, of one table."""

    chunks: list[dict[str, Any]] = field(default_factory=list)
    cursor: str | None = None
    version: int = 0
    snapshots: int = 0
    doomed: int = 0


def halves(dump: Dump) -> list[str]:
    """Everything that one step of the labour brought only a part of, as of the moment of the dump."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name, row in dump:
        rows[name].append(json.loads(row))
    edges = Counter(edge["child_run_id"] for edge in rows["lineage"])
    noted = Counter(entry["after_json"] for entry in rows["audit"])
    found = [problem for table in _tables(rows) for problem in _halves_of(table, edges)]
    found += [
        f"snapshot {snapshot}, {edges[snapshot]} edges and {noted[snapshot]} entries of it"
        for snapshot in (row["snapshot_id"] for row in rows["snapshot"])
        if (edges[snapshot], noted[snapshot]) != (1, 1)
    ]
    planned = sum(chunk["supersedes"] is None for chunk in rows["pipeline_chunks"])
    if planned != TABLES_A_PLAN * len(rows["pipeline_plan"]):
        found.append(f"{planned} chunks of {len(rows['pipeline_plan'])} plans")
    fence = sum(lease["fence"] for lease in rows["pipeline_lease"])
    if fence != len(rows["pipeline_run"]):
        found.append(f"{len(rows['pipeline_run'])} runs, and the lease has fence {fence}")
    return found + list(_halves_of_push(rows))


def _tables(rows: dict[str, list[dict[str, Any]]]) -> list[TableView]:
    tables: dict[str, TableView] = defaultdict(TableView)
    for chunk in rows["pipeline_chunks"]:
        tables[chunk["table_name"]].chunks.append(chunk)
    for cursor in rows["pipeline_cursor"]:
        tables[cursor["table_name"]].cursor = cursor["cursor_json"]
    for schema in rows["table_schema"]:
        tables[schema["table_name"]].version = schema["version"]
    for snapshot in rows["snapshot"]:
        tables[snapshot["table_name"]].snapshots += 1
    for file in rows["to_delete"]:
        tables[file["table_name"]].doomed += 1
    return list(tables.values())


def _halves_of(table: TableView, edges: Counter[str]) -> Iterator[str]:
    won = sorted(chunk["chunk_id"] for chunk in table.chunks if chunk["winning_attempt"] is not None)
    if table.cursor != (str(won[-1]) if won else None):
        yield f"chunks {won} are done, and the cursor is {table.cursor}"
    if table.version != len(won):
        yield f"chunks {won} are done, and the schema has version {table.version}"
    for chunk in table.chunks:
        expected = 2 if chunk["chunk_id"] in won else 0
        if edges[f"chunk-{chunk['chunk_id']}"] != expected:
            yield f"chunk {chunk['chunk_id']} is {chunk['status']}, and its edges are not"
    superseded = [chunk for chunk in table.chunks if chunk["superseded_by"] is not None]
    if len(table.chunks) != 1 + len(superseded):
        yield f"{len(table.chunks)} chunks for a table, {len(superseded)} of them superseded"
    if table.doomed != DROPS * table.snapshots:
        yield f"{table.snapshots} snapshots, and {table.doomed} files doomed"


def _halves_of_push(rows: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    queued = Counter(change["state"] for change in rows["push_queue"])
    waiting = {change["row_id"] for change in rows["push_queue"]}
    delivered = {change["row_id"] for change in rows["push_delivered"]}
    if waiting & delivered:
        yield f"changes {waiting & delivered} are delivered, and still queued"
    for route in rows["push_route"]:
        if (route["pending"], route["in_flight"]) != (queued["pending"], queued["in_flight"]):
            yield f"{queued} are queued, and the route says {route}"
        if route["delivered"] != len(delivered):
            yield f"{len(delivered)} changes are delivered, and the route says {route['delivered']}"
    in_flight = {change["batch"] for change in rows["push_queue"]} - {None}
    settled = {batch["batch"] for batch in rows["push_batch"] if batch["settled_at"] is not None}
    if in_flight & settled:
        yield f"batches {in_flight & settled} are settled, and still in flight"
