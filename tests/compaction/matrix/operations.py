"""All that may happen to a table, each as one small class: what it does, and what a naive table makes of it.

A new operation is a class here and a line in `OPERATIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Protocol

import pyarrow as pa
from tests.compaction.bench import ANNA
from tests.compaction.matrix.hands import KEPT, Hand
from tests.compaction.matrix.tables import Naive, Rows
from tests.store.workshop import ORDERS, PIPELINE, T0

from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun, queue_of
from hakiri.core.ids import ChunkId

FOLDED, RECENT = "folded", "recent"
CHUNKS = {FOLDED: ChunkId(1), RECENT: ChunkId(3)}
BEFORE: dict[str, Rows] = {
    FOLDED: ({"id": 1, "name": "one"}, {"id": 2, "name": "two"}, {"id": 3, "name": "three"}),
    "later": ({"id": 2, "name": "two, changed"}, {"id": 4, "name": "four"}),
    RECENT: ({"id": 1, "name": "one, changed"}, {"id": 5, "name": "five"}),
    "last": ({"id": 6, "name": "six"},),
}
AGAIN: dict[str, Rows] = {
    FOLDED: ({"id": 1, "name": "one, read again"}, {"id": 3, "name": "three, read again"}),
    RECENT: ({"id": 5, "name": "five, read again"},),
}


# Before the chunks landed that are not folded yet.
THEN = T0 + timedelta(hours=1)
MORE = pa.field("more", pa.string())


class Operation(Protocol):
    """Something that one worker does, and that another may come in between."""

    name: str
    needs_key: bool
    passes_time: bool
    """Whether so much time passes that what was open before may be gone."""

    def run(self, hand: Hand) -> None:
        """Do it. Raises a HakiriError where it may not be done; then nothing is changed by it."""

    def on(self, table: Naive, by: str) -> Naive:
        """The table as it is afterwards, when nothing else happened meanwhile."""


@dataclass(frozen=True)
class Plain:
    name: ClassVar[str]
    needs_key: ClassVar[bool] = False
    passes_time: ClassVar[bool] = False

    def on(self, table: Naive, by: str) -> Naive:
        return table


class Append(Plain):
    """A chunk lands that changes rows and brings new ones."""

    name = "append"

    def rows(self, by: str) -> Rows:
        return ({"id": 1, "name": f"one by {by}"}, {"id": 7, "name": f"seven by {by}"})

    def run(self, hand: Hand) -> None:
        hand.plan("own")
        hand.land(hand.pipeline, {"own": self.rows(hand.name)})

    def on(self, table: Naive, by: str) -> Naive:
        return table.with_chunk(by, self.rows(by))


class Delete(Append):
    """A chunk lands that takes rows away, of a snapshot and of other chunks."""

    name = "delete"
    needs_key = True

    def rows(self, by: str) -> Rows:
        return tuple({"id": number, "_op": "delete"} for number in (1, 3, 5))


@dataclass(frozen=True)
class Rewind(Plain):
    """A chunk is read again, and the source has other rows by now."""

    chunk: str

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"rewind {self.chunk}"

    def run(self, hand: Hand) -> None:
        hand.workshop.catalog.chunks.supersede(PIPELINE, [CHUNKS[self.chunk]], "again", hand.clock.now())
        hand.workshop.publish()
        hand.land(PIPELINE, AGAIN)

    def on(self, table: Naive, by: str) -> Naive:
        rows = AGAIN[self.chunk]
        return table if (self.chunk, rows) in table.chunks else table.read_again(self.chunk, rows)


class Widen(Append):
    """The table gets a column, and a chunk lands that has it."""

    name = "schema change"

    def rows(self, by: str) -> Rows:
        return ({"id": 8, "name": f"eight by {by}", "more": f"more by {by}"},)

    def run(self, hand: Hand) -> None:
        hand.plan("own")
        hand.land(hand.pipeline, {"own": self.rows(hand.name)}, MORE)

    def on(self, table: Naive, by: str) -> Naive:
        return super().on(table, by).with_column(MORE.name)


class Compact(Plain):
    """All that can be folded is, in as many steps as there are."""

    name = "compaction"

    def run(self, hand: Hand) -> None:
        compactor = hand.bench.compactor(
            bytes_a_range=20_000, reached=lambda step: hand.points.come_to(f"step {step.value}")
        )
        laid_out = TableLayout(cluster_by=("name",), retain=KEPT)
        CompactionRun(compactor=compactor, table=ORDERS, laid_out=laid_out).work(hand.new_run())


class TakeOver(Compact):
    """The same by somebody who comes so late that nobody else has a claim on the table any more."""

    name = "late compaction"
    passes_time = True

    def run(self, hand: Hand) -> None:
        hand.clock.advance(KEPT)
        super().run(hand)


class Restore(Plain):
    """The table is again what it was before its last chunks landed."""

    name = "restore"

    def run(self, hand: Hand) -> None:
        restorer = hand.bench.restorer(
            bytes_a_range=20_000, reached=lambda step: hand.points.come_to(f"step {step.value}")
        )
        plan = restorer.plan(ORDERS, THEN)
        if not plan.is_nothing:
            restorer.work(plan, hand.new_run(), TableLayout(cluster_by=("name",), retain=KEPT), by=ANNA)

    def on(self, table: Naive, by: str) -> Naive:
        return replace(table, chunks=tuple(BEFORE.items())[:2])


class Collect(Plain):
    """What is due goes, and what was left behind is named."""

    name = "collection"

    def run(self, hand: Hand) -> None:
        hand.collector.collect(KEPT, tables=(ORDERS,))


class CollectLater(Collect):
    """The same when everything is due that was named by now."""

    name = "late collection"
    passes_time = True

    def run(self, hand: Hand) -> None:
        hand.clock.advance(KEPT)
        super().run(hand)


class Bury(Collect):
    """Somebody takes all others for dead, and lets their time pass: they may only have slept."""

    name = "burial"
    passes_time = True

    def run(self, hand: Hand) -> None:
        runs = hand.workshop.catalog.runs
        for run in runs.latest(queue_of(ORDERS)):
            if not run.status.has_ended:
                gone = RunOutcome(status=RunStatus.FAILED, error_kind="gone")
                runs.end(run.run, gone, hand.clock.now())
        for _ in range(2):
            super().run(hand)
            hand.clock.advance(KEPT)
        super().run(hand)


OPERATIONS: tuple[Operation, ...] = (
    Append(),
    Delete(),
    Rewind(FOLDED),
    Rewind(RECENT),
    Widen(),
    Compact(),
    TakeOver(),
    Restore(),
    Collect(),
    CollectLater(),
    Bury(),
)
