"""A store that one worker after the other works on and dies, and what is to be true of it all the while."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from tests.support.counted import CountedSource, manifest, moments
from tests.support.crashes import Kill
from tests.support.crashes_spark import (
    SEEN,
    SEGMENT_ROWS,
    Nursery,
    Worker,
    broken_looks,
    fetched_too_often,
    reading,
)
from tests.support.runtime import Lab

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.core.ids import NodeId, PipelineId
from hakiri.pipelines.runtime.steps import Step

KINDS = ("monotonic", "opaque-token", "snapshot-id", "partitioned-monotonic")
ROWS = 60
LAST = NodeId("the-last")


@dataclass(kw_only=True)
class Patient:
    """The store with its source, and what was done in it when it was looked at last."""

    lab: Lab
    source: CountedSource
    nursery: Nursery
    server: str
    done: dict[int, tuple[str | None, int]] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=lambda: count(1))

    def prepare(self, kind: str) -> None:
        """A pipeline over a source of this kind, in pieces of a few rows."""
        self.source.put(moments(ROWS))
        # Without a key a row that came twice is seen twice; changes with deletes need one.
        has_key = "true" if kind == "snapshot-id" else "false"
        self.lab.write(manifest(kind, config=f', window = "20d", has_key = {has_key}'))

    def die_and_recover(self, kills: Sequence[Kill]) -> None:
        """Have a worker die at each, and another one finish; readers read all the while."""
        with reading(self.lab.layout.root) as looks:
            for kill in kills:
                self._suffer(kill)
            self.lab.applied(node=LAST, segment_rows=SEGMENT_ROWS)
            self._look_after()
            seen = looks()
        for way in seen:
            assert way, "nobody read anything"
            assert broken_looks(way, self.lab.chunks(), self.lab.layout.root) == []
        self._assert_as_if_nothing_had_happened()

    def _suffer(self, kill: Kill) -> None:
        worker = Worker(
            root=self.lab.root,
            server=self.server,
            node=f"node-{next(self.numbers)}",
            kill=kill,
            is_tick=kill.step is Step.TICK_PLANNED,
        )
        code = self.nursery.work(worker)
        assert code == -signal.SIGKILL or kill.seconds is not None, kill
        self._look_after()

    def _look_after(self) -> None:
        """See that what was done before is as it was: the same winner, and nobody tried again."""
        chunks = self.lab.chunks()
        now = {chunk.chunk: (chunk.winning_attempt, chunk.attempts) for chunk in chunks}
        assert {chunk: now[chunk] for chunk in self.done} == self.done
        done = [chunk for chunk in chunks if chunk.status is ChunkStatus.DONE]
        self.done = {chunk.chunk: now[chunk.chunk] for chunk in done}
        with self.lab.catalog() as catalog:
            assert catalog.check() == ()

    def _assert_as_if_nothing_had_happened(self) -> None:
        chunks = self.lab.chunks()
        assert self.lab.query(SEEN) == self.source.rows()
        assert {chunk.status for chunk in chunks} == {ChunkStatus.DONE}
        assert fetched_too_often(self.source.reads(), chunks) == []
        with self.lab.catalog() as catalog:
            runs = catalog.runs.latest(PipelineId("p"))
        assert [run.run for run in runs if not run.status.has_ended] == []
