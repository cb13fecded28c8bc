"""A store with a real catalog, and the few lines that land rows in it as a run does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkAttempt, ChunkCommit, NewChunk
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.opening import open_catalog
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout
from hakiri.store.manifests import AttemptManifest, CommitFacts, Counts, WrittenFile, seal
from hakiri.store.publishing import Publisher
from hakiri.store.rows import Stamp
from hakiri.store.schemas import fingerprint, schema_text
from hakiri.store.writing import AttemptWriter, BadRows, Shape

T0 = datetime(2026, 5, 11, 8, 0, 0, 123456, tzinfo=UTC)
TTL = timedelta(minutes=10)
PIPELINE = PipelineId("shop")
ORDERS = TableName("orders")
NODE = NodeId("node-anna")
STAMP = Stamp(run=RunId("run-1"), pipeline=PIPELINE, seq=7, ingested_at=T0)

Rows = Sequence[Mapping[str, Any]]


def batch(rows: Rows, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def shape_of(schema: pa.Schema, *key: str, bad_rows: BadRows = BadRows.FAIL) -> Shape:
    return Shape(schema=schema, primary_key=key, schema_version=1, bad_rows=bad_rows)


def manifest_of(
    attempt: ChunkAttempt, schema: pa.Schema, *key: str, files: Sequence[WrittenFile], **said: Any
) -> AttemptManifest:
    """What an attempt says of its files, in the first version of the schema unless `said` is otherwise."""
    rows = sum(file.rows for file in files)
    common: dict[str, Any] = {
        "schema_version": 1,
        "predicate": {},
        "quarantine": (),
        "counts": Counts(read=rows, filtered=0, written=rows, quarantined=0),
        "content_sum": 0,
    }
    return AttemptManifest(
        pipeline=attempt.pipeline,
        table=attempt.table,
        run=attempt.run,
        node=attempt.node,
        chunk=attempt.chunk,
        attempt=attempt.number,
        seq=attempt.seq,
        ingested_at=attempt.claimed_at,
        schema_fingerprint=fingerprint(schema),
        primary_key=key,
        files=tuple(files),
        **(common | said),
    )


@dataclass
class Workshop:
    """Lands rows chunk by chunk. Runs are numbered, so that no two chunks share one."""

    layout: StoreLayout
    catalog: Catalog
    files: Files | None = None
    plans: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))
    now: datetime = T0

    @property
    def publisher(self) -> Publisher:
        return Publisher(self.layout, self.catalog, self.files)

    def evolve(self, schema: pa.Schema, *key: str, table: TableName = ORDERS) -> int:
        """The version of the schema, after a step to it if it is another one."""
        step = self._step(schema, key, table)
        if step is not None:
            self.catalog.schemas.record(step, PIPELINE, self.now)
        current = self.catalog.schemas.current(table)
        assert current is not None
        return current.version

    def land(
        self,
        rows: Rows,
        schema: pa.Schema,
        *key: str,
        table: TableName = ORDERS,
        bad_rows: BadRows = BadRows.FAIL,
        **said: Any,
    ) -> ChunkId:
        """Plan a chunk with these rows, write it and commit it. `said` goes into its manifest."""
        plan = next(self.plans)
        self.catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        self.catalog.chunks.plan(PIPELINE, f"plan-{plan}", [NewChunk(table=table, predicate="{}")], T0)
        return self.work(rows, schema, *key, table=table, bad_rows=bad_rows, **said)

    def work(
        self,
        rows: Rows,
        schema: pa.Schema,
        *key: str,
        table: TableName = ORDERS,
        bad_rows: BadRows = BadRows.FAIL,
        **said: Any,
    ) -> ChunkId:
        """Do the next pending chunk with these rows."""
        attempt = self.claim()
        manifest = self.write(attempt, rows, schema, *key, bad_rows=bad_rows, **said)
        self.commit(attempt, manifest, self._step(schema, key, table))
        return attempt.chunk

    def claim(self) -> ChunkAttempt:
        run = RunId(f"0196be00-0000-7000-8000-{next(self.plans):012d}")
        attempt = self.catalog.queue.claim(PIPELINE, run, NODE, T0, ttl=TTL)
        assert attempt is not None
        return attempt

    def write(
        self,
        attempt: ChunkAttempt,
        rows: Rows,
        schema: pa.Schema,
        *key: str,
        bad_rows: BadRows = BadRows.FAIL,
        version: int | None = None,
        **said: Any,
    ) -> AttemptManifest:
        """The files of an attempt and their manifest, without a word to the catalog.

        The version of the schema is what the catalog has, or the next one if it is another, unless given.
        """
        step = None
        if version is None:
            current = self.catalog.schemas.current(attempt.table)
            step = self._step(schema, key, attempt.table)
            version = (current.version if current is not None else 0) + (step is not None)
        writer = AttemptWriter(
            self.folder_of(attempt),
            Shape(schema=schema, primary_key=key, schema_version=version, bad_rows=bad_rows),
            Stamp(
                run=attempt.run, pipeline=attempt.pipeline, seq=attempt.seq, ingested_at=attempt.claimed_at
            ),
            part=0,
            files=self.files,
        )
        if rows:
            has_op = any("_op" in row for row in rows)
            given = schema.append(pa.field("_op", pa.string())) if has_op else schema
            writer.write(batch(rows, given))
        written = writer.finish()
        manifest = manifest_of(
            attempt,
            schema,
            *key,
            files=written.files,
            schema_version=version,
            quarantine=written.quarantine,
            counts=Counts(
                read=written.rows + written.quarantined,
                filtered=0,
                written=written.rows,
                quarantined=written.quarantined,
            ),
            content_sum=written.content_sum,
            commit=CommitFacts(
                sealed_at=self.now,
                cursor_kind=CursorKind.MONOTONIC,
                stream=attempt.table,
                reread=attempt.reread,
                step=step,
            ),
            **said,
        )
        seal(self.layout, [manifest], self.files)
        return manifest

    def commit(self, attempt: ChunkAttempt, manifest: AttemptManifest, step: SchemaStep | None) -> None:
        commit = ChunkCommit(
            rows=manifest.rows,
            bytes=manifest.bytes,
            manifest=manifest.text(),
            schema=step,
        )
        self.catalog.queue.commit(attempt, commit, self.now)

    def publish(self, *tables: TableName) -> None:
        self.publisher.publish(tables or (ORDERS,))

    def chunks(self, table: TableName = ORDERS) -> tuple[Chunk, ...]:
        return self.catalog.chunks.landed(table)

    def folder_of(self, attempt: ChunkAttempt) -> Path:
        return self.layout.attempt_folder(
            table=attempt.table,
            run=attempt.run,
            node=attempt.node,
            chunk=attempt.chunk,
            number=attempt.number,
        )

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer of a new reader of the store."""
        from hakiri.store.reading import open_reader

        with open_reader(self.layout) as reader:
            reader.execute("SET TimeZone = 'America/New_York'")  # what is stored does not depend on it
            return reader.execute(sql).fetchall()

    def _step(self, schema: pa.Schema, key: tuple[str, ...], table: TableName) -> SchemaStep | None:
        current = self.catalog.schemas.current(table)
        after = schema_text(schema)
        if current is not None and (current.arrow_schema, current.primary_key) == (after, key):
            return None
        return SchemaStep(
            table=table,
            based_on=0 if current is None else current.version,
            change_kind="add_column",
            after=after,
            primary_key=key,
        )


@contextmanager
def open_workshop(root: Path, files: Files | None = None) -> Iterator[Workshop]:
    root.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{root / 'meta.sqlite'}"
    with open_catalog(url, project="shop", base=root, now=T0) as catalog:
        yield Workshop(StoreLayout(root), catalog, files)
