"""Stores of any size with a real catalog, whose files DuckDB writes in the time of a blink."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from tests.store.workshop import NODE, ORDERS, PIPELINE, T0, Workshop, manifest_of, open_workshop

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.compaction.compacting import Compacted, Compactor
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.tasks import Report, RunTasks, Task
from hakiri.core.clock import FixedClock
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import RunId
from hakiri.store.manifests import WrittenFile, seal
from hakiri.store.opened import OpenStore, open_store

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("repo", pa.string()),
        ("updated_at", pa.timestamp("us", "UTC")),
        ("title", pa.string()),
        ("body", pa.string()),
        ("amount", pa.float64()),
        ("state", pa.string()),
    ]
)


def run_here(tasks: Sequence[Task]) -> list[Report]:
    """Tasks one after the other in this process, where Spark is not what is measured."""
    return [task.work(f"{number}-0") for number, task in enumerate(tasks)]


@dataclass
class MadeStore:
    """The store of a project in a folder; its table is `orders`, with the key `id`."""

    project: Path
    workshop: Workshop
    _runs: int = 0

    def land(self, rows: int, key: str = "i") -> None:
        """One run with so many rows; `key` gives the id of the row `i` in SQL."""
        workshop = self.workshop
        plan = next(workshop.plans)
        workshop.catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        workshop.catalog.chunks.plan(PIPELINE, f"plan-{plan}", [NewChunk(table=ORDERS, predicate="{}")], T0)
        attempt = workshop.claim()
        file = workshop.folder_of(attempt) / "part-00000.parquet"
        file.parent.mkdir(parents=True)
        with duckdb.connect(config={"threads": 2}) as connection:
            connection.execute(_rows_sql(rows, key, attempt.seq, str(attempt.run), file))
        data = file.read_bytes()
        step = workshop._step(SCHEMA, ("id",), ORDERS)  # noqa: SLF001 - as the tests of the store do
        written = WrittenFile(
            name=file.name, rows=rows, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()
        )
        manifest = manifest_of(attempt, SCHEMA, "id", files=[written])
        seal(workshop.layout, [manifest], None)
        workshop.commit(attempt, manifest, step)

    def compact(
        self, laid_out: TableLayout, run_tasks: RunTasks = run_here, *, is_full: bool = False
    ) -> Compacted | None:
        self._runs += 1
        compactor = Compactor(
            catalog=self.workshop.catalog,
            layout=self.workshop.layout,
            clock=FixedClock(T0),
            node=NODE,
            run_tasks=run_tasks,
            publish=self.workshop.publish,
        )
        run = RunId(f"0196be00-0000-7000-9000-{self._runs:012d}")
        return compactor.compact(ORDERS, run, laid_out, is_full=is_full)

    def open(self) -> OpenStore:
        self.workshop.publish()
        return open_store(self.project)


@contextmanager
def made_store(project: Path) -> Iterator[MadeStore]:
    project.mkdir(parents=True)
    (project / "hakiri.toml").write_text('[project]\nname = "shop"\n')
    with open_workshop(project / ".hakiri" / "context" / "shop") as workshop:
        yield MadeStore(project, workshop)


def _rows_sql(rows: int, key: str, seq: int, run: str, target: Path) -> str:
    return f"""
        COPY (
            SELECT id, 'org/repo-' || lpad((hash(id) % 1000)::VARCHAR, 4, '0') AS repo,
                   TIMESTAMPTZ '2025-01-01 00:00:00+00'
                     + INTERVAL 1 SECOND * (hash(id * 17) % 31536000)::BIGINT AS updated_at,
                   'title ' || md5(id::VARCHAR) AS title,
                   'body ' || md5((id * 3)::VARCHAR) || md5((id + 7)::VARCHAR) AS body,
                   (id % 10007) / 7.0 AS amount,
                   CASE WHEN id % 3 = 0 THEN 'open' ELSE 'closed' END AS state,
                   '{run}' AS _run_id, 'shop' AS _pipeline_id,
                   TIMESTAMPTZ '2026-05-11 08:00:00+00' AS _ingested_at,
                   {seq}::BIGINT AS _seq, i::BIGINT AS _position, 'upsert' AS _op,
                   unhex(md5(id::VARCHAR)) AS _content_hash
              FROM (SELECT i, ({key})::BIGINT AS id FROM range({rows}) AS made (i))
        ) TO '{target}' (COMPRESSION zstd)
        """
