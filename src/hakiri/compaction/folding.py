"""From files to the files of a snapshot, in as few steps over the data as the layout needs.

Rows go to ranges of the snapshot's order, and each range is sorted and written by itself, so that memory does
not grow with the table. Where the ranges tell nothing of the key, the newest row of each key is found on the
way, in ranges of the key. What is small enough for one task needs none of that, and what is little beside a
snapshot that is in order already is merged into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hakiri.compaction.errors import RowsDisagree
from hakiri.compaction.exchange import Pieces, by_range, made_folder
from hakiri.compaction.fold_tasks import SampleTask, ScatterTask, SettleTask, WriteTask, table_of
from hakiri.compaction.merging import Merge
from hakiri.compaction.shares import shares
from hakiri.compaction.steps import Reached, Step
from hakiri.compaction.tasks import Folded, InputFile, Recipe, Report, RunTasks

# What a file of the store takes in memory, for each byte on the disk.
_EXPANSION = 5
BYTES_A_RANGE = 192 << 20
_MOST_RANGES = 1000
# A snapshot is written anew as a whole when merges have left it with so many times the files it needs.
_MOST_FRAGMENTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """One fold. `exchange` is a folder for what is on its way; whoever asked for the fold removes it.

    `is_laid_out`: the files of the snapshot before, those with a place, are in the order of the recipe.
    """

    recipe: Recipe
    inputs: tuple[InputFile, ...]
    target: Path
    exchange: Path
    run: RunTasks
    reached: Reached
    bytes_a_range: int = BYTES_A_RANGE
    is_laid_out: bool = False

    def work(self) -> Folded:
        """Raises RowsDisagree when rows got lost on the way, or came twice."""
        known = sum(file.rows for file in self.inputs)
        if not known:
            return Folded(files=(), rows_read=0)
        count = self._ranges(self.inputs)
        if self._is_merge(count):
            return self._merged()
        written = self._in_ranges(count, known) if count > 1 else self._at_once(known)
        files = tuple(file for report in written for file in report.files)
        if not self.recipe.primary_key:
            self._expect("writing", sum(report.sent for report in written), sum(file.rows for file in files))
        return Folded(files=files, rows_read=known)

    def _ranges(self, inputs: Sequence[InputFile]) -> int:
        """How many ranges these need, so that each fits into the memory of a task."""
        size = sum(file.bytes for file in inputs) * _EXPANSION
        return min(_MOST_RANGES, -(-size // self.bytes_a_range))

    def _is_merge(self, count: int) -> bool:
        """Whether what is new is little, and the snapshot before worth being kept."""
        base = [file for file in self.inputs if file.place is not None]
        recent = [file for file in self.inputs if file.place is None]
        partitions = len({file.partition for file in base})
        is_whole = count <= 1 and self.recipe.partitioning is None
        is_scattered = len(base) > _MOST_FRAGMENTS * (partitions + count)
        return (
            self.is_laid_out
            and bool(base)
            and not is_whole
            and not is_scattered
            and self._ranges(recent) <= 1
        )

    def _merged(self) -> Folded:
        return Merge(
            recipe=self.recipe,
            base=tuple(file for file in self.inputs if file.place is not None),
            recent=tuple(file for file in self.inputs if file.place is None),
            target=self.target,
            exchange=self.exchange,
            run=self.run,
            reached=self.reached,
            bytes_a_file=self.bytes_a_range // _EXPANSION,
        ).work()

    def _at_once(self, known: int) -> list[Report]:
        task = WriteTask(recipe=self.recipe, folder=str(self.target), part=0, inputs=self.inputs)
        written = self.run([task])
        self._expect("reading", known, sum(report.read for report in written))
        return written

    def _in_ranges(self, count: int, known: int) -> list[Report]:
        key = self.recipe.primary_key
        by = {"order": self.recipe.order} | ({"key": key} if key else {})
        (sampled,) = self.run([SampleTask(recipe=self.recipe, inputs=self.inputs, by=by, count=count)])
        bounds = sampled.bounds["order"]
        is_apart = bool(key) and not {*table_of(bounds).column_names} <= {*key}
        scattered = self._scattered(sampled.bounds["key"] if is_apart else bounds)
        self._expect("reading", known, sum(report.read for report in scattered))
        pieces = self._pieces(scattered)
        self.reached(Step.SCATTERED)
        if is_apart:
            pieces = self._pieces(self._settled(pieces, bounds))
            self.reached(Step.SETTLED)
        ranges = by_range(pieces)
        written = self.run(
            [
                WriteTask(
                    recipe=self.recipe,
                    folder=str(self.target),
                    part=number,
                    pieces=some,
                    is_settled=is_apart,
                )
                for number, (some, _) in sorted(ranges.items())
            ]
        )
        self._expect("sorting", sum(rows for _, rows in ranges.values()), sum(one.read for one in written))
        return written

    def _scattered(self, bounds: bytes) -> list[Report]:
        folder = str(made_folder(self.exchange / "read"))
        return self.run(
            [
                ScatterTask(recipe=self.recipe, inputs=some, bounds=bounds, folder=folder)
                for some in shares(self.inputs)
            ]
        )

    def _settled(self, pieces: Sequence[Pieces], bounds: bytes) -> list[Report]:
        folder = str(made_folder(self.exchange / "settled"))
        ranges = by_range(pieces)
        settled = self.run(
            [
                SettleTask(recipe=self.recipe, pieces=some, bounds=bounds, folder=folder)
                for _, (some, _) in sorted(ranges.items())
            ]
        )
        self._expect("settling", sum(rows for _, rows in ranges.values()), sum(one.read for one in settled))
        return settled

    def _pieces(self, reports: Sequence[Report]) -> list[Pieces]:
        pieces = [report.pieces for report in reports if report.pieces is not None]
        sent = sum(report.sent for report in reports)
        self._expect("exchanging", sent, sum(sum(each.rows.values()) for each in pieces))
        return pieces

    def _expect(self, step: str, expected: int, found: int) -> None:
        if expected != found:
            raise RowsDisagree(self.recipe.table, step, expected, found)
