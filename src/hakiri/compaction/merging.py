"""A few new rows into a large snapshot: only the files that they change are written again.

The snapshot is in the wanted order already, so its rows need not be sent anywhere: each file takes the new
rows of its own range, and loses the rows whose key came again. Files to which neither happens stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hakiri.compaction.errors import RowsDisagree
from hakiri.compaction.exchange import by_range, made_folder
from hakiri.compaction.fold_tasks import ScatterTask
from hakiri.compaction.merge_tasks import MergeTask, RecentTask
from hakiri.compaction.shares import shares
from hakiri.compaction.steps import Reached, Step
from hakiri.compaction.tasks import Folded, InputFile, Recipe, Report, RunTasks, Slot

_GROWTH = 2  # a file is cut when it has grown to more than so many times what one should have


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One merge of `recent` files into those of the snapshot before, which is laid out as `recipe` says."""

    recipe: Recipe
    base: tuple[InputFile, ...]
    recent: tuple[InputFile, ...]
    target: Path
    exchange: Path
    run: RunTasks
    reached: Reached
    bytes_a_file: int

    def work(self) -> Folded:
        """Raises RowsDisagree when rows got lost on the way, or came twice."""
        settled = self._settled() if self.recent else Report()
        slots = {slot.file: slot for slot in settled.slots if slot.file is not None}
        fresh = [slot for slot in settled.slots if slot.file is None]
        recent, keys = settled.paths or (None, None)
        tasks = [
            self._task(number, file, slots.get(number), recent, keys) for number, file in enumerate(self.base)
        ]
        tasks += [
            self._task(len(self.base) + number, None, slot, recent, keys) for number, slot in enumerate(fresh)
        ]
        reports = self.run(tasks)
        kept = tuple(
            file
            for file, report in zip(self.base, reports[: len(self.base)], strict=True)
            if report.is_untouched
        )
        self._refuse_losses(reports, settled)
        return Folded(
            files=tuple(file for report in reports for file in report.files),
            kept=kept,
            rows_read=settled.read + sum(report.read for report in reports),
        )

    def _settled(self) -> Report:
        folder = made_folder(self.exchange / "recent")
        scattered = self.run(
            [ScatterTask(recipe=self.recipe, inputs=some, folder=str(folder)) for some in shares(self.recent)]
        )
        known = sum(file.rows for file in self.recent)
        self._expect("reading", known, sum(report.read for report in scattered))
        self.reached(Step.SCATTERED)
        ranges = by_range([report.pieces for report in scattered if report.pieces is not None])
        pieces = tuple(piece for some, _ in ranges.values() for piece in some)
        task = RecentTask(recipe=self.recipe, pieces=pieces, base=self.base, folder=str(folder))
        (settled,) = self.run([task])
        self._expect("settling", sum(report.sent for report in scattered), settled.read)
        self._expect("sorting", settled.sent, sum(slot.count for slot in settled.slots))
        self.reached(Step.SETTLED)
        return settled

    def _task(
        self, number: int, file: InputFile | None, slot: Slot | None, recent: str | None, keys: str | None
    ) -> MergeTask:
        partitioning = self.recipe.partitioning
        return MergeTask(
            recipe=self.recipe,
            folder=str(self.target),
            part=number,
            parts=len(self.base) + len(self.recent) + 1,
            most_rows=self._most_rows(),
            base=file,
            is_moving=file is not None
            and partitioning is not None
            and partitioning.is_moving(file.partition or ""),
            slot=slot,
            recent=recent,
            keys=keys,
        )

    def _most_rows(self) -> int:
        """How many rows a file may have before it is cut into several."""
        every = (*self.base, *self.recent)
        bytes_a_row = sum(file.bytes for file in every) / max(1, sum(file.rows for file in every))
        return max(1, int(_GROWTH * self.bytes_a_file / max(bytes_a_row, 1)))

    def _refuse_losses(self, reports: Sequence[Report], settled: Report) -> None:
        for file, report in zip(self.base, reports[: len(self.base)], strict=True):
            if not report.is_untouched:
                self._expect("reading", file.rows, report.read)
        sent = sum(report.sent for report in reports)
        self._expect("writing", sent, sum(file.rows for report in reports for file in report.files))
        if not self.recipe.primary_key and not any(file.excluded for file in self.base):
            self._expect("merging", sum(report.read for report in reports) + settled.sent, sent)

    def _expect(self, step: str, expected: int, found: int) -> None:
        if expected != found:
            raise RowsDisagree(self.recipe.table, step, expected, found)
