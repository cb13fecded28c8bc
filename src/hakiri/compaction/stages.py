"""How far a compaction is, by the tasks that it is at. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hakiri.compaction.fold_tasks import SampleTask, ScatterTask, SettleTask, WriteTask
from hakiri.compaction.merge_tasks import MergeTask, RecentTask
from hakiri.compaction.tasks import Task
from hakiri.compaction.verify_tasks import VerifyTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A part of the work: what it does, and from where to where in the whole that is."""

    words: str
    start: float = 0.0
    end: float = 1.0

    def fraction(self, done: int, total: int) -> float:
        """How much of the whole is done when so many tasks of this stage are."""
        return self.start + (self.end - self.start) * (done / total if total else 0.0)


def stage_of(task: Task) -> Stage:
    """The stage that a task belongs to. Passes over all of the data take about the same time.

    Of what is not known here only its own tasks are counted.
    """
    words, start, end = "building indexes", 0.0, 1.0
    match task:
        case VerifyTask():
            words = "looking for damage"
        case SampleTask():
            words, end = "sampling", 0.1
        case ScatterTask(bounds=None):
            words, end = "reading what is new", 0.2
        case RecentTask():
            words, start, end = "sorting what is new", 0.2, 0.3
        case MergeTask():
            words, start = "merging", 0.3
        case ScatterTask(recipe=recipe):
            # Where ranges tell nothing of the key, the newest rows are found in a pass of its own.
            is_apart = bool(recipe.primary_key) and recipe.order[0] not in recipe.primary_key
            words, end = "reading", 1 / 3 if is_apart else 1 / 2
        case SettleTask():
            words, start, end = "finding the newest rows", 1 / 3, 2 / 3
        case WriteTask(inputs=inputs, is_settled=is_settled) if not inputs:
            words, start = "sorting and writing", 2 / 3 if is_settled else 1 / 2
        case WriteTask():
            words = "reading, sorting and writing"
    return Stage(words=words, start=start, end=end)
