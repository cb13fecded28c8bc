"""One cell of the matrix: a worker is interrupted at one point by another, who does all of its work there.

A worker who is interrupted once, at every point in turn, and whoever may interrupt interrupted in turn by the
other, are all ways in which one of two can come in between the steps of the other. The table must end as if
one had come after the other, or with one of them refused and only the other done.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
from tests.compaction.matrix.hands import KEPT, Hand, open_hand, predicate
from tests.compaction.matrix.judge import Reader, Seen, leaked, of, untold
from tests.compaction.matrix.operations import BEFORE, THEN, Compact, Operation, Restore, Rewind
from tests.compaction.matrix.points import Points
from tests.compaction.matrix.tables import Naive
from tests.store.workshop import NODE, ORDERS, PIPELINE, T0, TTL
from tests.support.grounds import Ground, SqliteGround

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.compaction.recipes import TableLayout
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.store.layout import StoreLayout
from hakiri.store.schemas import schema_text

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
# By now what the first compaction replaced may go.
NOW = T0 + KEPT
_FAR = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Stage:
    """A table with a snapshot, chunks that are not folded yet, an attempt that lost, and files that are due.

    `put_back` makes all of it as it was prepared.
    """

    ground: Ground
    layout: StoreLayout
    has_key: bool
    put_back: Callable[[], None]

    @property
    def key(self) -> tuple[str, ...]:
        return ("id",) if self.has_key else ()

    @property
    def naive(self) -> Naive:
        return Naive(self.has_key, tuple(BEFORE.items()))

    @contextmanager
    def hand(self, number: int, points: Points | None = None, now: datetime = NOW) -> Iterator[Hand]:
        with open_hand(self.ground, self.layout, number, now, points) as hand:
            yield hand

    def prepare(self) -> None:
        with self.hand(0, now=T0) as hand:
            catalog = hand.workshop.catalog
            catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
            step = SchemaStep(
                table=ORDERS,
                based_on=0,
                change_kind="create",
                after=schema_text(SCHEMA),
                primary_key=self.key,
            )
            catalog.schemas.record(step, PIPELINE, T0)
            for number, name in enumerate(BEFORE):
                chunk = NewChunk(table=ORDERS, predicate=predicate(name))
                catalog.chunks.plan(PIPELINE, f"plan-{number}", [chunk], T0)
                if number == len(BEFORE) // 2:
                    Compact().run(hand)
                    self._lose(hand)
                    hand.clock.advance(2 * (THEN - T0))
                hand.land(PIPELINE, BEFORE)

    def _lose(self, hand: Hand) -> None:
        """An attempt that wrote rows and was beaten."""
        workshop, catalog, run = hand.workshop, hand.workshop.catalog, hand.new_run()
        catalog.runs.start(run, PIPELINE, NODE, T0, ttl=TTL)
        attempt = catalog.queue.claim(PIPELINE, run, NODE, T0, ttl=TTL)
        assert attempt is not None
        workshop.write(attempt, [{"id": 99, "name": "lost"}], SCHEMA, *self.key)
        catalog.queue.give_back(attempt, T0)


def prepared(ground: Ground, root: Path, *, has_key: bool) -> Stage:
    """A stage in an empty folder that is played on once."""
    ground.migrate()
    stage = Stage(ground, StoreLayout(root), has_key, lambda: None)
    stage.prepare()
    return stage


def prepared_stage(folder: Path, *, has_key: bool) -> Stage:
    """A stage below the folder, with its catalog in SQLite, that is put back for every cell."""
    root = folder / "store"
    root.mkdir()
    stage = prepared(SqliteGround(root / "meta.sqlite"), root, has_key=has_key)
    return replace(stage, put_back=template(root))


def template(root: Path) -> Callable[[], None]:
    """What puts a folder back as it is now."""
    kept = root.with_name(f"{root.name}-kept")
    shutil.copytree(root, kept)

    def put_back() -> None:
        shutil.rmtree(root)
        shutil.copytree(kept, root)

    return put_back


@dataclass(frozen=True, slots=True)
class Cell:
    """`first` interrupted by `second` at a point; a point behind its last one is one after the other."""

    stage: Stage
    first: Operation
    second: Operation

    def points(self) -> list[str]:
        """The points that the first comes to when nobody interrupts it."""
        self.stage.put_back()
        points = Points()
        with self.stage.hand(1, points) as hand:
            self.first.run(hand)
        return points.names

    def play(self, at: int, now: Reader, before: Reader) -> None:
        """Raises AssertionError where a reader sees what it may not see, or something is left behind."""
        self.stage.put_back()
        before.open(self.stage.layout)
        was_refused = {"first": False, "second": False}
        found: list[BaseException] = []

        def interrupt() -> None:
            try:
                self.interrupt(was_refused, now)
            except BaseException as error:  # the first would take it for an error of its own
                found.append(error)

        points = Points(at, interrupt)
        was_refused["first"] = not self.is_first_done(points)
        if at >= len(points.names):
            interrupt()
        if found:
            raise found[0]
        self.judge(was_refused, now, before)

    def is_first_done(self, points: Points) -> bool:
        """Do the first; False if it was refused."""
        with self.stage.hand(1, points) as hand:
            return _is_done(self.first, hand)

    def interrupt(self, was_refused: dict[str, bool], now: Reader) -> None:
        """Do all of the second, and look at what readers see then."""
        with self.stage.hand(2) as hand:
            was_refused["second"] = not _is_done(self.second, hand)
        now.open(self.stage.layout)
        seen = now.seen()
        assert seen in self._meanwhile(self.stage.naive, was_refused), f"while the first waits: {seen}"

    def judge(self, was_refused: dict[str, bool], now: Reader, before: Reader) -> None:
        """Look at what is there when both have ended, and at what becomes of it."""
        stage, table = self.stage, self.stage.naive
        allowed = self._orders(table, was_refused)
        now.open(stage.layout)
        seen = now.seen()
        assert seen in allowed, f"in the end: {seen}"
        if not (self.first.passes_time or self.second.passes_time):
            assert before.seen() == of(table), "a reader who came before reads something else now"
        with stage.hand(3, now=NOW + 3 * KEPT) as hand:
            hand.bench.compact(TableLayout(retain=KEPT))
            now.open(stage.layout)
            assert now.seen() == seen, "after another compaction"
            assert leaked(stage.layout, hand.workshop.catalog, NOW + _FAR) == set()
            assert untold(hand.workshop.catalog) == []
            hand.clock.advance(KEPT)
            hand.collector.collect(KEPT, tables=(ORDERS,))
            now.open(stage.layout)
            assert now.seen() == seen, "after another collection"
        now.close()
        before.close()

    def _meanwhile(self, table: Naive, was_refused: dict[str, bool]) -> list[Seen]:
        """What a reader may see when the second has ended: all of it, and all or nothing of the first."""
        allowed = self._orders(table, was_refused)
        allowed.append(of(table if was_refused["second"] else self.second.on(table, "second")))
        both = (self.first, self.second)
        if any(all(isinstance(one, kind) for one in both) for kind in (Rewind, Restore)):
            allowed.append(of(table))  # the second finds that the first is about it
        return allowed

    def _orders(self, table: Naive, was_refused: dict[str, bool]) -> list[Seen]:
        done = [
            (operation, by)
            for operation, by in ((self.first, "first"), (self.second, "second"))
            if not was_refused[by]
        ]
        results = []
        for order in (done, done[::-1]):
            after = table
            for operation, by in order:
                after = operation.on(after, by)
            results.append(of(after))
        return results


def _is_done(operation: Operation, hand: Hand) -> bool:
    with suppress(HakiriError):
        operation.run(hand)
        return True
    return False
