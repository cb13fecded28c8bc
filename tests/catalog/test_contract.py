"""The contract itself: small, in our own words, and the same on every backend."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.contract import methods, roles

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, NewChunk
from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.errors import LeaseLost
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TTL = timedelta(minutes=10)
MOST_METHODS = 11
# What a catalog is not for, by 002: these belong to DuckDB over Parquet, or to one database only.
FOREIGN = frozenset(
    {"sql", "query", "execute", "statement", "select", "join", "where", "search", "match", "rank"}
    | {"listen", "notify", "subscribe", "watch"}
)


@pytest.mark.spec("AD-023")
def test_every_role_is_small() -> None:
    too_big = {
        name: len(methods(role)) for name, role in roles().items() if len(methods(role)) > MOST_METHODS
    }

    assert len(roles()) == 16
    assert too_big == {}


@pytest.mark.spec("AD-014")
@pytest.mark.spec("AD-023")
def test_no_method_speaks_of_sql_of_search_or_of_notifications() -> None:
    spoken = {
        f"{role}.{method}({parameter})"
        for role, each in roles().items()
        for method, function in methods(each).items()
        for parameter in inspect.signature(function).parameters
        if FOREIGN & {*method.split("_"), *parameter.split("_")}
    }

    # It takes a value of ours, a handful of plain conditions, that is called a query.
    assert spoken == {"files.find(query)"}


def test_time_is_an_argument_of_every_write_that_keeps_it() -> None:
    timeless = {
        f"{role}.{name}"
        for role, each in roles().items()
        for name, method in methods(each).items()
        if "now" not in inspect.signature(method).parameters
    }

    reads = {
        "get",
        "all",
        "page",
        "tally",
        "latest",
        "current",
        "commits",
        "current_id",
        "frontier",
        "log",
        "log_of_pipeline",
        "parents",
        "children",
    }
    reads |= {"revision", "sidecars", "epoch", "find", "spec", "files", "was_delivered"}
    reads |= {"recent", "landed", "version", "applied", "all_applied", "is_planned"}
    assert {name for name in timeless if name.partition(".")[2] not in reads} == {
        "leases.release",  # for ever, not from some moment on
        "lineage.add",  # an edge carries its own time
        "selections.save",  # so does a selection
        "budgets.note",  # which rate holds now, not since when
    }


@dataclass(frozen=True)
class Soak:
    """A scripted life of a pipeline: claims, takeovers, clocks that jump, and Parquet of what was claimed."""

    catalog: Catalog
    folder: Path

    def live(self) -> None:
        pipeline, table = PipelineId("orders"), TableName("orders")
        catalog = self.catalog
        catalog.pipelines.declare(pipeline, CursorKind.MONOTONIC, T0)
        catalog.chunks.plan(
            pipeline, "first", [NewChunk(table=table, predicate=f'{{"month":{n}}}') for n in range(24)], T0
        )
        for hour in range(40):
            # Every fifth hour the clock is an hour behind; every seventh claim dies and is taken over.
            now = T0 + timedelta(hours=hour - (hour % 5 == 0))
            run, node = RunId(f"run-{hour:02d}"), NodeId(f"node-{hour % 3}")
            catalog.runs.start(run, pipeline, node, now, ttl=TTL)
            attempt = catalog.queue.claim(pipeline, run, node, now, ttl=TTL)
            if attempt is None:
                catalog.runs.end(run, RunOutcome(status=RunStatus.SUCCESS), now)
                continue
            if hour % 7 == 6:
                attempt = self.taken_over(attempt, now + TTL)
            self.write(attempt)
            step = (
                SchemaStep(table=table, based_on=0, change_kind="create", after="{}") if hour == 0 else None
            )
            commit = ChunkCommit(rows=2, bytes=9, manifest="{}", cursor=f'{{"id":{hour}}}', schema=step)
            catalog.queue.commit(attempt, commit, now)
            catalog.runs.end(run, RunOutcome(status=RunStatus.SUCCESS, rows=2), now)
            if hour == 20:
                catalog.chunks.supersede(pipeline, [attempt.chunk], "a late correction", now)

    def taken_over(self, lost: ChunkAttempt, later: datetime) -> ChunkAttempt:
        self.write(lost)
        winner = self.catalog.queue.claim(lost.pipeline, lost.run, NodeId("other"), later, ttl=TTL)
        assert winner is not None
        with pytest.raises(LeaseLost):
            self.catalog.queue.commit(lost, ChunkCommit(rows=0, bytes=0, manifest="{}"), later)
        return winner

    def write(self, attempt: ChunkAttempt) -> None:
        part = self.folder / attempt.run / f"chunk-{attempt.chunk}" / attempt.place / "part-00000.parquet"
        part.parent.mkdir(parents=True)
        rows = {"id": [1, 2], "_seq": [attempt.seq] * 2, "_ingested_at": [attempt.claimed_at] * 2}
        pq.write_table(pa.table(rows | {"_predicate": [attempt.predicate] * 2}), part)


@pytest.mark.spec("AD-016")
def test_the_same_life_gives_the_same_bytes_on_every_backend(tmp_path: Path, postgres_url: str) -> None:
    written = {}
    for name, url in {"sqlite": f"sqlite:///{tmp_path}/meta.sqlite", "postgres": postgres_url}.items():
        with open_catalog(url, project="shop", base=tmp_path, now=T0) as catalog:
            Soak(catalog, tmp_path / name).live()
            assert catalog.check() == ()
        written[name] = {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*.parquet")
        }

    assert len(written["sqlite"]) == 28
    assert written["sqlite"] == written["postgres"]
