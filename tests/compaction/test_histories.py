"""Long random histories of a table, compared after every step with a naive one in memory."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.compaction.bench import ANNA, Bench
from tests.store.rebuilding import rebuild_catalog
from tests.store.workshop import ORDERS, PIPELINE, T0, Workshop, open_workshop
from tests.support.seeds import chosen_seed

from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.compaction.collecting import Collector
from hakiri.compaction.errors import FilesDamaged, TableBusy
from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.steps import Step, unwatched
from hakiri.core.ids import ChunkId, PipelineId
from hakiri.store.errors import NotThere, PastGone, StoreError
from hakiri.store.files import LocalFiles
from hakiri.store.past import state_at
from hakiri.store.snapshots import SnapshotManifest
from hakiri.store.state import table_state
from hakiri.store.views import TableState, view_sql

pytestmark = pytest.mark.proof

# `make nightly` asks for more.
HISTORIES = int(os.environ.get("HAKIRI_HISTORIES", "200"))
# How many steps a history has. Most that goes wrong does so early, and what is left behind shows late.
STEPS = (8, 8, 8, 16, 24)
KEPT = timedelta(days=1)
MANY_ROWS = 1_000_000
COLUMNS = ("id", "name", "more")
NARROW = pa.schema([("id", pa.int64()), ("name", pa.string())])
WIDE = NARROW.append(pa.field("more", pa.string()))
LAYOUTS = (
    TableLayout(retain=KEPT),
    TableLayout(retain=KEPT, cluster_by=("name",)),
    TableLayout(retain=KEPT, cluster_by=("name",), partitioning=ByValue("name")),
)


class Crashed(BaseException):
    """The process is gone: nothing of it runs any more."""


@dataclass
class Naive:
    """What the table should have: every chunk that landed, by the number of its claim."""

    has_key: bool
    chunks: dict[int, tuple[int, list[dict[str, Any]]]] = field(default_factory=dict)
    replaced: set[int] = field(default_factory=set)
    takes_place_of: dict[int, int] = field(default_factory=dict)

    def replace(self, old: int | None, new: int) -> None:
        """Have a chunk take the place of another, and of all that that one took the place of."""
        if old is not None:
            self.takes_place_of[new] = old
        while old is not None:
            self.replaced.add(old)
            old = self.takes_place_of.get(old)

    def at_this_moment(self) -> Naive:
        return Naive(self.has_key, dict(self.chunks), set(self.replaced), self.takes_place_of)

    def rows(self) -> list[tuple[Any, ...]]:
        if not self.has_key:
            kept = [rows for chunk, (_, rows) in self.chunks.items() if chunk not in self.replaced]
            return sorted((_tuple(row) for rows in kept for row in rows), key=repr)
        newest: dict[int, tuple[int, int, dict[str, Any]]] = {}
        for seq, rows in self.chunks.values():
            for place, row in enumerate(rows):
                if row["id"] not in newest or newest[row["id"]][:2] < (seq, place):
                    newest[row["id"]] = (seq, place, row)
        return sorted((_tuple(row) for _, _, row in newest.values() if row.get("_op") != "delete"), key=repr)


def _tuple(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in COLUMNS)


@dataclass
class History:
    """One table, and everything that may happen to it."""

    bench: Bench
    chance: random.Random
    naive: Naive
    reader: duckdb.DuckDBPyConnection
    schema: pa.Schema = NARROW
    slow: list[tuple[ChunkAttempt, int | None]] = field(default_factory=list)
    past: list[tuple[datetime, Naive]] = field(default_factory=list)
    landed: list[int] = field(default_factory=list)
    collected: int = 0
    restored: int = 0
    looks: int = 0
    mended: int = 0
    gone_before: datetime = T0
    known: dict[Path, bytes] = field(default_factory=dict)

    @property
    def workshop(self) -> Workshop:
        return self.bench.workshop

    @property
    def key(self) -> tuple[str, ...]:
        return ("id",) if self.naive.has_key else ()

    def some_rows(self) -> list[dict[str, Any]]:
        rows = []
        for _ in range(self.chance.randrange(6)):
            row: dict[str, Any] = {"id": self.chance.randrange(8), "name": self.chance.choice("abc")}
            if self.naive.has_key and self.chance.random() < 0.25:
                row = {"id": row["id"], "_op": "delete"}
            elif self.schema is WIDE:
                row["more"] = self.chance.choice(["x", None])
            rows.append(row)
        return rows

    def plan(self) -> None:
        from hakiri.catalog.contract.chunks import NewChunk
        from hakiri.core.cursors import CursorKind

        catalog = self.workshop.catalog
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        name = f"plan-{next(self.workshop.plans)}"
        catalog.chunks.plan(PIPELINE, name, [NewChunk(table=ORDERS, predicate="{}")], T0)

    def land(self) -> None:
        self.plan()
        self.finish(self.workshop.claim(), None)

    def begin(self) -> None:
        self.plan()
        self.slow.append((self.workshop.claim(), None))

    def end(self) -> None:
        if self.slow:
            self.finish(*self.slow.pop(self.chance.randrange(len(self.slow))))

    def rewind(self) -> None:
        withdrawn = [chunk for chunk in self.landed if chunk not in self.naive.chunks]
        if self.landed:
            old = self.chance.choice(withdrawn or self.landed)
            if self.workshop.catalog.chunks.supersede(PIPELINE, [ChunkId(old)], "again", T0):
                self.slow.append((self.workshop.claim(), old))
                if self.chance.random() < 0.5:
                    self.end()

    def finish(self, attempt: ChunkAttempt, old: int | None) -> None:
        rows = self.some_rows()
        step = self.workshop._step(self.schema, self.key, ORDERS)
        manifest = self.workshop.write(attempt, rows, self.schema, *self.key)
        self.workshop.commit(attempt, manifest, step)
        self.naive.chunks[int(attempt.chunk)] = (attempt.seq, rows)
        self.naive.replace(old, int(attempt.chunk))
        self.landed.append(int(attempt.chunk))

    def widen(self) -> None:
        self.schema = WIDE

    def compact(self) -> None:
        layout = self.chance.choice(LAYOUTS)
        size = self.chance.choice([1 << 30, 2000])
        self.bench.compact(layout, bytes_a_range=size, is_full=self.chance.random() < 0.2)

    def crash(self) -> None:
        with suppress(Crashed):
            self.bench.compact(self.chance.choice(LAYOUTS), reached=self.crashing())

    def collect(self) -> None:
        self.workshop.publish()  # as whoever landed something did
        self.bench.pass_time(self.chance.choice([timedelta(hours=1), KEPT]))
        collector = Collector(
            catalog=self.workshop.catalog,
            layout=self.workshop.layout,
            clock=self.bench.clock,
            files=LocalFiles(),
        )
        found = collector.collect(KEPT, tables=(ORDERS,))
        assert found.in_use == ()
        self.collected += len(found.deleted)

    def mend(self) -> None:
        """A file of the snapshot is gone: all of it is had from elsewhere, or it is told that it is not."""
        current = self.workshop.catalog.snapshots.current(ORDERS)
        files = () if current is None else SnapshotManifest.parse(current.manifest).files
        if not files:
            return
        file = self.workshop.layout.data_folder(ORDERS) / self.chance.choice(files).path
        kept = file.read_bytes()
        file.unlink()
        lost: dict[PipelineId, Any] = {}
        try:
            self.bench.compact(self.chance.choice(LAYOUTS), is_full=True)
        except FilesDamaged as error:
            lost = error.lost
            file.write_bytes(kept)
        is_mended = self.workshop.catalog.snapshots.current(ORDERS) != current
        assert is_mended == (not lost)
        if is_mended:
            self.mended, self.gone_before = self.mended + 1, self.bench.clock.now()

    def restore(self) -> None:
        if not self.past:
            return
        at, naive = self.chance.choice(self.past)
        if self.slow and self.chance.random() < 0.3:
            with pytest.raises((TableBusy, NotThere)):
                self.bench.restorer().plan(ORDERS, at)
            return
        while self.slow:
            self.end()
        try:
            crashes = self.chance.random() < 0.2
            restorer = self.bench.restorer(reached=self.crashing() if crashes else unwatched)
            plan = restorer.plan(ORDERS, at)
            restorer.work(plan, self.bench.new_run(), self.chance.choice(LAYOUTS), by=ANNA)
        except (NotThere, PastGone) as error:
            self.must_be_gone(at, error)
        except Crashed:
            if self.seen() == self.naive.rows():
                return  # the old state
            # Seen from now on, as of whoever lands or compacts something next: a rebuild keeps no other.
            self.workshop.publish()
            self.naive = naive.at_this_moment()
        else:
            self.naive = naive.at_this_moment()
            self.restored += 1

    def look_back(self) -> None:
        """Any moment that what was replaced is kept for looks as it did then."""
        if not self.past:
            return
        at, naive = self.chance.choice(self.past)
        try:
            state = state_at(self.workshop.layout, self.workshop.catalog, ORDERS, at)
        except (NotThere, PastGone) as error:
            self.must_be_gone(at, error)
        else:
            assert self.shown(state) == naive.rows()

    def whole_past(self) -> list[list[tuple[Any, ...]] | None]:
        """What is seen of each moment of the past, and None where nothing is any more."""
        seen: list[list[tuple[Any, ...]] | None] = []
        for at, _ in self.past:
            try:
                seen.append(self.shown(state_at(self.workshop.layout, self.workshop.catalog, ORDERS, at)))
            except (NotThere, PastGone):
                seen.append(None)
        return seen

    def must_be_gone(self, at: datetime, error: StoreError) -> None:
        if isinstance(error, NotThere):
            assert not any(naive.chunks for moment, naive in self.past if moment <= at)
            return
        assert at < max(self.bench.clock.now() - KEPT, self.gone_before)
        assert isinstance(error, PastGone)
        assert error.since is None or error.since > at

    def crashing(self) -> Callable[[Step], None]:
        at = self.chance.choice(list(Step))

        def reached(step: Step) -> None:
            if step is at:
                raise Crashed

        return reached

    def changed_files(self) -> list[Path]:
        """Files of runs and of finished snapshots that are there and have other contents than once before."""
        data = self.workshop.layout.data_folder(ORDERS)
        now = {
            path: path.read_bytes()
            for path in data.rglob("*")
            if path.is_file() and ".staging" not in str(path) and not path.name.startswith(".")
        }
        changed = [path for path, text in now.items() if self.known.get(path, text) != text]
        self.known |= now
        return changed

    def seen(self) -> list[tuple[Any, ...]]:
        state = table_state(self.workshop.layout, self.workshop.catalog, ORDERS)
        return [] if state is None else self.shown(state)

    def shown(self, state: TableState) -> list[tuple[Any, ...]]:
        """The rows of the view, which by turns is that of small files and that of large ones."""
        self.looks += 1
        self.reader.execute(view_sql(replace(state, rows=self.looks % 2 * MANY_ROWS)))
        names = [name for name in COLUMNS if name in state.schema.names]
        rows = self.reader.execute(f"SELECT {', '.join(names)} FROM orders").fetchall()
        return sorted(((*row, None)[: len(COLUMNS)] for row in rows), key=repr)

    def rebuild(self) -> None:
        """Make the catalog anew from the tree. What was under way is lost, and nothing else.

        No past is that what was replaced is kept for; of an older one the manifest may be gone that told it.
        """
        before, looked_back = self.state(), self.whole_past()
        if rebuild_catalog(self.workshop, self.bench.clock.now()) is None:
            return
        self.slow.clear()
        assert self.state() == before
        for (at, naive), then, now in zip(self.past, looked_back, self.whole_past(), strict=True):
            if now is None:
                assert then is None or at < self.bench.clock.now() - KEPT
            else:
                assert now == naive.rows()
        assert self.workshop.catalog.check() == ()
        assert sorted(self.landed) == sorted(int(chunk.chunk) for chunk in self.workshop.chunks())

    def state(self) -> dict[str, Any]:
        """What no reader may see change."""
        catalog = self.workshop.catalog
        return {
            "rows": self.seen(),
            "schema": catalog.schemas.current(ORDERS),
            "steps": catalog.schemas.log(ORDERS),
        }


MOVES: tuple[tuple[Callable[[History], None], int], ...] = (
    (History.land, 8),
    (History.begin, 3),
    (History.end, 4),
    (History.rewind, 5),
    (History.widen, 1),
    (History.compact, 5),
    (History.crash, 3),
    (History.collect, 2),
    (History.rebuild, 2),
    (History.restore, 4),
    (History.mend, 2),
    (History.look_back, 3),
)


def histories() -> Iterator[tuple[int, bool]]:
    """A seed for each, and whether its table has a key."""
    first = chosen_seed()
    sys.stdout.write(f"seed {first}\n")
    for number in range(HISTORIES):
        yield first + number, number % 2 == 0


@pytest.mark.spec("HC-030")
@pytest.mark.spec("HC-007")
@pytest.mark.spec("HC-008")
@pytest.mark.spec("HC-043")
@pytest.mark.timeout(HISTORIES * 3)
def test_whatever_happens_a_reader_sees_what_a_naive_table_has(tmp_path: Path) -> None:
    folded = collected = restored = mended = 0
    moves, weights = zip(*MOVES, strict=True)
    # One DuckDB for all of them: to start one takes ten times as long as to ask it.
    with duckdb.connect() as reader:
        for seed, has_key in histories():
            chance = random.Random(seed)
            with open_workshop(tmp_path / str(seed)) as workshop:
                history = History(Bench(workshop), chance, Naive(has_key), reader)
                for number in range(chance.choice(STEPS)):
                    (move,) = chance.choices(moves, weights)
                    history.bench.pass_time()
                    move(history)
                    history.past.append((history.bench.clock.now(), history.naive.at_this_moment()))
                    place = f"history {seed}, step {number}: {move.__name__}"
                    assert history.seen() == history.naive.rows(), place
                    assert history.changed_files() == [], place
                folded += workshop.catalog.snapshots.current_id(ORDERS) is not None
                collected += history.collected
                restored += history.restored
                mended += history.mended
    assert folded > HISTORIES // 2
    assert collected > 0
    assert restored > HISTORIES // 4
    assert mended > HISTORIES // 12
