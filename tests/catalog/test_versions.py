"""A catalog of an earlier version, with work in it, is brought to this one and goes on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
import pytest
from tests.support.grounds import Dump, Ground, PostgresGround, SqliteGround
from tests.support.raw_sql import statements

from hakiri.catalog.contract.chunks import ChunkCommit, ChunkStatus, ChunkTally, NewChunk
from hakiri.catalog.contract.pipelines import Decision, Failure
from hakiri.catalog.errors import CatalogTooOld
from hakiri.catalog.opening import Place, catalog_place
from hakiri.catalog.postgres.schema import PostgresSchema
from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sqlite.file import SqliteFile
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName

NOON = datetime(2026, 5, 11, 12, tzinfo=UTC)
TTL = timedelta(minutes=10)
P, Q, T, W = PipelineId("p"), PipelineId("q"), TableName("t"), TableName("w")
NODE = NodeId("b")
# Where the two differ: how the number of the last claim is kept.
COUNTED = {
    "sqlite": "UPDATE counter SET last = 6 WHERE name = 'claim'",
    "postgres": "SELECT setval('claim_seq', 6)",
}


class Old:
    """A catalog of version 1, and ways to it."""

    def __init__(self, place: Place, ground: Ground) -> None:
        self.place = place
        self._ground = ground

    def dump(self) -> Dump:
        with self._ground.looking() as look:
            return look()


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Old]:
    backend = str(request.param)
    first = migrations_of(backend)[:1]
    lines = [*statements("rows_of_version_1.sql"), COUNTED[backend]]
    if backend == "sqlite":
        path = tmp_path / "meta.sqlite"
        SqliteFile(path).apply(first, NOON)
        with closing(sqlite3.connect(path)) as file, file:
            for line in lines:
                file.execute(line)
        yield Old(catalog_place(f"sqlite:///{path}", project="shop", base=tmp_path), SqliteGround(path))
        return
    url = request.getfixturevalue("postgres_url")
    PostgresSchema(url, "hakiri_shop", "").apply(first, NOON)
    with psycopg.connect(url, options="-c search_path=hakiri_shop") as server:
        for line in lines:
            server.execute(cast(LiteralString, line))
    yield Old(catalog_place(url, project="shop", base=tmp_path), PostgresGround(url, "hakiri_shop"))


def rows_of(dump: Dump) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for table, row in dump:
        if table not in {"schema_version", "sqlite_sequence"}:
            found.setdefault(table, []).append(json.loads(row))
    return found


def test_an_old_catalog_is_refused_until_it_is_migrated(old: Old) -> None:
    with pytest.raises(CatalogTooOld):
        old.place.open()

    assert old.place.version() == 1


def test_everything_in_an_old_catalog_is_kept(old: Old) -> None:
    before = rows_of(old.dump())

    assert old.place.migrate(NOON) == tuple(range(2, old.place.newest_version() + 1))

    after = rows_of(old.dump())
    for table, rows in before.items():
        kept = [{name: row.get(name) for name in rows[0]} for row in after[table]]
        # The one table that had no state yet has some now, since something landed in it.
        kept = [row for row in kept if table != "table_state" or row["table_name"] != "w"]
        assert sorted(kept, key=json.dumps) == sorted(rows, key=json.dumps)


def test_what_is_new_is_there_for_what_is_old(old: Old) -> None:
    with old.place.open(migrated_at=NOON) as catalog:
        assert catalog.check() == ()
        landed = catalog.chunks.landed(T)
        assert [(chunk.chunk, chunk.status, chunk.reason) for chunk in landed] == [
            (1, ChunkStatus.SUPERSEDED, "rewind"),
            (2, ChunkStatus.DONE, None),
        ]
        assert [catalog.chunks.version(table) for table in (T, W, TableName("v"))] == [3, 1, 0]
        assert [chunk.chunk for chunk in catalog.chunks.recent(P)] == [3, 2]
        assert [run.run for run in catalog.runs.abandoned(P, NOON, ttl=TTL)] == ["r1"]
        assert catalog.runs.abandoned(Q, NOON + timedelta(minutes=5), ttl=timedelta(minutes=1)) == ()
        assert [state.failure for state in catalog.pipelines.all()] == [None, None]
        assert catalog.pipelines.all_applied() == ()
        assert catalog.audit.page() == ()


def test_work_goes_on_after_the_migration(old: Old) -> None:
    with old.place.open(migrated_at=NOON) as catalog:
        failure = Failure(run=RunId("r1"), kind="SourceGone", message="410", at=NOON, spec_hash=None)
        catalog.pipelines.fail(P, failure, NOON)
        assert catalog.pipelines.decide(P, Decision.RETRY, "operator:ada", NOON)

        attempts = catalog.queue.claim_some(P, RunId("r3"), NODE, NOON, ttl=TTL, limit=9)
        assert [(attempt.chunk, attempt.number, attempt.seq) for attempt in attempts] == [
            (4, 2, 7),
            (5, 1, 8),
            (6, 2, 9),
            (7, 1, 10),
        ]
        commit = ChunkCommit(rows=1, bytes=1, manifest="{}", cursor="8")
        catalog.queue.commit_some([(attempt, commit) for attempt in attempts], NOON)
        into = [NewChunk(table=T, predicate="all of it")]
        assert catalog.chunks.supersede(P, [ChunkId(2), ChunkId(7)], "again", NOON, into=into) == (8,)

        assert catalog.chunks.tally(P) == ChunkTally(pending=1, done=4, superseded=3, rows=13, bytes=103)
        assert catalog.chunks.version(T) == 9
        assert [entry.number for entry in catalog.audit.page()] == [1]
        assert catalog.check() == ()
