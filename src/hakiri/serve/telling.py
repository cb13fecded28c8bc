"""What a daemon tells of itself, besides what its runs tell."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from hakiri.compaction.compacting import Compacted
from hakiri.core.errors import HakiriError
from hakiri.core.ids import TableName
from hakiri.pipelines.choosing import Applied


class Teller(Protocol):
    """Hears of it, from the thread that looks or from one that runs a pipeline."""

    def ended(self, applied: Applied) -> None:
        """A run is over, or could not be started."""

    def crashed(self, pipeline: str, error: BaseException) -> None:
        """A run ended in a way that nobody thought of."""

    def compacting(self, table: TableName, why: str) -> None:
        """A table is due, and its runs are being folded."""

    def compacted(self, table: TableName, done: Compacted, seconds: float) -> None:
        """A table has a new snapshot."""

    def not_compacted(self, table: TableName, error: Exception) -> None:
        """A table could not be compacted; it is tried again later."""

    def collected(self, files: int, size: int) -> None:
        """So many files that nobody reads were deleted, of this many bytes."""

    def troubled(self, error: HakiriError) -> None:
        """The manifest or the catalog cannot be read; what was known before stays in force."""

    def reloaded(self, pipelines: int) -> None:
        """The manifest changed, and has this many pipelines now."""

    def idle(self, following: str | None, at: datetime | None) -> None:
        """Nothing is to be done before `following` is due at `at`; None if none ever will be."""
