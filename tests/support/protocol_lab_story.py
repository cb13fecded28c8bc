"""One store from its beginning on, through all its crashes, and what stands in for Spark meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from tests.support.crashes import Kill, forked, keep_disk_journal
from tests.support.crashes_disk import Disk
from tests.support.protocol_lab_judge import PIPELINE
from tests.support.protocol_lab_mutants import MUTANTS
from tests.support.protocol_lab_source import TROUBLE, ListedConnector, Recipe, Source

from hakiri.catalog import open_catalog
from hakiri.catalog.contract.pipelines import Decision
from hakiri.core.clock import SystemClock
from hakiri.core.ids import NodeId
from hakiri.manifest import Project, load_project
from hakiri.pipelines.runtime.apply import apply_project, run_now
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.sessions import Sessions
from hakiri.sources.bridge.failures import TaskFailed
from hakiri.store.layout import StoreLayout

if TYPE_CHECKING:
    import duckdb

# Who else keeps them: SQLite its own files, and of the locks of nodes nothing is asked after a restart.
SPARED = ("meta.sqlite", "meta.sqlite-wal", "meta.sqlite-shm", "meta.sqlite-lock", "nodes")
FIRST_ROWS = 14
URL = "sqlite:///store/shop/meta.sqlite"
MANIFEST = """[project]
name = "shop"

[context]
path = "store"

[[pipeline]]
id = "p"
source = { connector = "listed" }
tables = ["items"]
"""
CONNECTOR = """from tests.support.protocol_lab_source import ListedConnector


class Listed(ListedConnector):
    pass
"""


class _Rows:
    """What `mapInArrow` gives."""

    def __init__(
        self, parts: int, work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    ) -> None:
        self._parts, self._work = parts, work

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        ids = (iter([pa.RecordBatch.from_pydict({"id": [part]})]) for part in range(self._parts))
        try:
            return pa.Table.from_batches([batch for each in ids for batch in self._work(each)])
        except TaskFailed as error:
            raise PySparkException(str(error)) from None  # as text, which is how errors leave a task


class _Range:
    def __init__(self, parts: int) -> None:
        self._parts = parts

    def mapInArrow(self, work: Any, _schema: str) -> _Rows:  # noqa: N802 - Spark's name
        return _Rows(self._parts, work)


class SparkStandIn:
    """Does in this thread what Spark does in tasks, for rows that nothing in the JVM has to touch."""

    def range(self, _start: int, _end: int, _step: int, parts: int) -> _Range:
        return _Range(parts)


class WarmDuck:
    """A DuckDB that is there already: making one takes longer than all that is done with it in a try.

    It has no threads, so that it can be forked, and is used by one at a time.
    """

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"threads": 1})

    def __enter__(self) -> duckdb.DuckDBPyConnection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(statement)

    def close(self) -> None:
        """Only let go of what it has attached: the next one gets it too."""
        self._connection.execute("USE memory")
        self._connection.execute("DETACH DATABASE IF EXISTS store")


@dataclass(slots=True, kw_only=True)
class Story:
    """One store from its beginning on, through all its crashes."""

    folder: Path
    source: Source
    project: Project
    disk: Disk
    mutant: str | None = None
    tries: int = 0
    lines: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, folder: Path, recipe: Recipe, chance: Random, catalog: Path | None = None) -> Story:
        """A new store, with a copy of the catalog if there is one that is made already."""
        source = Source(recipe, folder / "reads.log")
        source.grow(FIRST_ROWS, chance)
        store = folder / "store" / "shop"
        store.mkdir(parents=True)
        if catalog is not None:
            shutil.copy(catalog, store / "meta.sqlite")
        (folder / "connectors").mkdir()
        (folder / "connectors" / "listed.py").write_text(CONNECTOR)
        cap = recipe.parallelism
        backfill = "" if cap is None else f"backfill = {{ parallelism = {cap} }}\n"
        (folder / "hakiri.toml").write_text(f"{MANIFEST}{backfill}")
        disk = Disk(store, folder / "journal", SPARED)
        return cls(folder=folder, source=source, project=load_project(folder), disk=disk)

    @property
    def root(self) -> Path:
        return self.disk.root

    def child(self, kill: Kill, *, is_tick: bool, reads_left: int | None) -> int:
        """A process that works on the store, and dies as it is told to."""
        self.tries += 1
        fails = "" if reads_left is None else f", with reads that fail after {reads_left}"
        self.lines.append(f"{'run' if is_tick else 'apply'} until {kill.name} {kill.count}{fails}")
        self.source.reads_left = reads_left
        return forked(lambda: self._work(kill, is_tick=is_tick), self.folder / "trouble")

    def trouble(self) -> str:
        path = self.folder / "trouble"
        return path.read_text() if path.exists() else ""

    def _work(self, kill: Kill, *, is_tick: bool) -> None:
        ListedConnector.source = self.source
        if self.mutant is not None:
            MUTANTS[self.mutant]()
        keep_disk_journal(self.disk.journal, self.root, kill)
        with self.ground(reached=kill.reached()) as ground:
            # Whatever failed is over: somebody has decided to go on.
            ground.catalog.pipelines.decide(PIPELINE, Decision.RETRY, "operator:lab", ground.clock.now())
            if is_tick:
                results = [run_now(ground, ground.project.pipeline(PIPELINE))]
            else:
                results = apply_project(ground)
        for applied in results:
            if applied.error is not None and TROUBLE not in str(applied.error):
                raise applied.error

    @contextmanager
    def ground(self, **changes: Any) -> Iterator[Ground]:
        """Where its runs happen, with any part of it changed."""
        clock = changes.get("clock") or SystemClock()
        spark: Any = SparkStandIn()
        with (
            open_catalog(URL, project="shop", base=self.folder, now=clock.now()) as catalog,
            Sessions(lambda: nullcontext(spark)) as sessions,
        ):
            settings: dict[str, Any] = {
                "project": self.project,
                "layout": StoreLayout(self.root),
                "catalog": catalog,
                "sessions": sessions,
                "node": NodeId(f"node-{self.tries}"),
                "env": {},
                "clock": clock,
                "listen": lambda _: None,
                "chunks_at_once": self.source.recipe.chunks_at_once,
                "segment_rows": self.source.recipe.segment_rows,
            }
            yield Ground(**settings | changes)
