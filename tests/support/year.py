"""A table that was pulled every quarter of an hour for a year: 35,000 folders with a file each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.store.workshop import NODE, ORDERS, PIPELINE, T0, TTL, Workshop, manifest_of

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, NewChunk
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import RunId
from hakiri.store.manifests import WrittenFile
from hakiri.store.rows import HIDDEN_FIELDS

A_YEAR = 35_000
ROWS_A_PULL = 20
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("amount", pa.float64())])
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Year:
    """So many pulls, each with new rows and changes of rows that an earlier one brought."""

    workshop: Workshop
    pulls: int

    @property
    def keys(self) -> int:
        return self.pulls * ROWS_A_PULL // 2

    def fill(self) -> None:
        catalog = self.workshop.catalog
        self.workshop.evolve(SCHEMA, "id")
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        catalog.chunks.plan(
            PIPELINE, "a year", [NewChunk(table=ORDERS, predicate="{}") for _ in range(self.pulls)], T0
        )
        made = 0
        while made < self.pulls:
            run = RunId(f"0196be00-0000-7000-8000-{made:012d}")
            attempts = catalog.queue.claim_some(PIPELINE, run, NODE, T0, ttl=TTL, limit=_AT_ONCE)
            self._land(attempts, made)
            made += len(attempts)

    def _land(self, attempts: Sequence[ChunkAttempt], first: int) -> None:
        commits = [
            (attempt, self._written(attempt, self._rows(attempt, first + number)))
            for number, attempt in enumerate(attempts)
        ]
        self.workshop.catalog.queue.commit_some(commits, T0)

    def _rows(self, attempt: ChunkAttempt, pull: int) -> pa.Table:
        """Half of the rows are new, and half were there before, until all keys were."""
        places = (np.arange(ROWS_A_PULL, dtype=np.int64) + pull * (ROWS_A_PULL // 2)) % self.keys
        own = [places, [f"name {pull % 97} of {place}" for place in places], places * 0.25 + pull]
        hidden = {
            "_run_id": [attempt.run] * ROWS_A_PULL,
            "_pipeline_id": [attempt.pipeline] * ROWS_A_PULL,
            "_ingested_at": [attempt.claimed_at] * ROWS_A_PULL,
            "_seq": [attempt.seq] * ROWS_A_PULL,
            "_position": np.arange(ROWS_A_PULL),
            "_op": ["upsert"] * ROWS_A_PULL,
            "_content_hash": [(pull * ROWS_A_PULL + n).to_bytes(16, "big") for n in range(ROWS_A_PULL)],
        }
        columns = [*own, *(hidden[field.name] for field in HIDDEN_FIELDS)]
        fields = [*SCHEMA, *HIDDEN_FIELDS]
        return pa.Table.from_arrays(
            [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)],
            schema=pa.schema(fields),
        )

    def _written(self, attempt: ChunkAttempt, rows: pa.Table) -> ChunkCommit:
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        folder = self.workshop.folder_of(attempt)
        folder.mkdir(parents=True)
        (folder / "part-00000.parquet").write_bytes(data)
        file = WrittenFile(
            name="part-00000.parquet",
            rows=rows.num_rows,
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )
        manifest = manifest_of(attempt, SCHEMA, "id", files=[file])
        return ChunkCommit(rows=rows.num_rows, bytes=len(data), manifest=manifest.text())
