"""Pipelines over a SQLite file, with whatever past a test wants in their catalog, and no Spark."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.pipelines.operations.scenes import Scene

from hakiri.catalog import open_catalog
from hakiri.catalog.contract.chunks import NewChunk
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId, TableName
from hakiri.manifest import Project, load_project
from hakiri.pipelines.applied import applied_text, spec_hash
from hakiri.pipelines.chunks.pieces import Piece
from hakiri.pipelines.reached import history_plan
from hakiri.store.schemas import schema_text

CATALOG = ".hakiri/context/shop/meta.sqlite"
SQL = 'source = { connector = "sql", config = { url = "sqlite:///shop.db" } }'
ORDERS = pa.schema([("id", pa.int64()), ("total", pa.float64())])


def pipeline(name: str = "orders", *, table: str = '"orders"', more: str = 'incremental = "id"\n') -> str:
    """A pipeline that reads a table of `shop.db`."""
    return f'[[pipeline]]\nid = "{name}"\n{SQL}\ntables = [{table}]\n{more}'


@dataclass(frozen=True, slots=True)
class Shop:
    """A project in a folder, with the database that it reads."""

    root: Path

    @classmethod
    def make(cls, root: Path, manifest: str | None = None, *, rows: int = 1000) -> Shop:
        shop = cls(root)
        shop.write(pipeline() if manifest is None else manifest)
        shop.do("CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL)")
        shop.put(rows)
        return shop

    def write(self, manifest: str) -> None:
        (self.root / "hakiri.toml").write_text(f'[project]\nname = "shop"\n\n{manifest}')

    def do(self, *statements: str) -> None:
        connection = sqlite3.connect(self.root / "shop.db")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        finally:
            connection.close()

    def put(self, rows: int, *, first: int = 1) -> None:
        """Orders with the ids from `first` on."""
        last = first + rows - 1
        ids = f"WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last})"
        self.do(f"{ids} INSERT INTO orders SELECT i, i * 1.5 FROM n")

    @property
    def project(self) -> Project:
        return load_project(self.root)

    @contextmanager
    def past(self, at: datetime) -> Iterator[Past]:
        """Its catalog, where commands look for it, to be told what happened from then on."""
        with open_catalog(f"sqlite:///{CATALOG}", project="shop", base=self.root, now=at) as catalog:
            past = Past(catalog, self.project)
            past.at = at
            names = [PipelineId(spec.id) for spec in past.project.pipelines]
            past.runs = sum(len(catalog.runs.latest(name, limit=100)) for name in names)
            yield past


class Past(Scene):
    """What happened to the pipelines of the project."""

    def began(
        self,
        name: str,
        *pieces: Piece,
        schema: pa.Schema = ORDERS,
        kind: CursorKind = CursorKind.MONOTONIC,
        stream: str | None = None,
        primary_key: tuple[str, ...] = ("id",),
    ) -> None:
        """The table of the pipeline has a schema, and the history of one stream of it is planned."""
        spec = self.project.pipeline(name)
        table = TableName(spec.store_name(spec.tables[0]))
        pipeline_id = PipelineId(name)
        self.catalog.pipelines.declare(pipeline_id, kind, self.at)
        if self.catalog.schemas.current(table) is None:
            step = SchemaStep(
                table=table,
                based_on=0,
                change_kind="create",
                after=schema_text(schema),
                primary_key=primary_key,
            )
            self.catalog.schemas.record(step, pipeline_id, self.at)
        chunks = [NewChunk(table=table, predicate=piece.text()) for piece in pieces]
        self.catalog.chunks.plan(pipeline_id, history_plan(stream or table), chunks, self.at)
        if self.phase(name) is Phase.PLANNING:
            self.moved(name, Phase.PLANNING, Phase.BACKFILLING)

    def finished(self, name: str, *, rows: int, cursor: Mapping[str, Any] | None) -> None:
        """One run worked on all chunks, of which the last brought the cursor, and the pipeline is applied."""
        run = self.started(name)
        left = len(self.chunks(name))
        for number in range(1, left + 1):
            self.did(name, run, rows=rows // left, cursor=cursor if number == left else None)
        self.moved(name, Phase.BACKFILLING, Phase.STREAMING)
        self.applied(name)
        self.ended(name, run)

    def applied(self, name: str) -> None:
        """What the manifest says now is what was applied."""
        spec = self.project.pipeline(name)
        self.catalog.pipelines.note_applied(
            PipelineId(name), applied_text(spec), spec_hash(spec, self.project.root), self.at
        )
