"""Cursors: how far each table of a pipeline was read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hakiri.catalog.contract.leases import Lease
from hakiri.core.ids import PipelineId, RunId, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """JSON that only the connector understands, kept byte for byte, and who wrote it.

    `seq` is the number of the claim it came from, or of the write itself: the highest wins. `table` is the
    name of the stream where a table has several.
    """

    pipeline: PipelineId
    table: TableName
    value: str
    run: RunId
    seq: int
    updated_at: datetime


class Cursors(Protocol):
    """One cursor a pipeline and table. The JSON text `null` stands for «from the start»."""

    def get(self, pipeline: PipelineId, table: TableName) -> Cursor | None:
        """The cursor, or None when the table is to be read from the start."""

    def all(self, pipeline: PipelineId) -> tuple[Cursor, ...]:
        """The cursors of a pipeline, by table."""

    def put(
        self,
        pipeline: PipelineId,
        table: TableName,
        value: str,
        *,
        run: RunId,
        now: datetime,
        under: Lease | None = None,
        audit_by: str | None = None,
        reason: str | None = None,
    ) -> Cursor:
        """Write a cursor apart from any chunk; beats every claim made before it.

        With `audit_by`, which is `operator:<id>`, `agent:<id>` or `auto`, the audit log says in the same step
        who did it and why, and what the value was before (action `cursor`).

        Raises LeaseRequired when the pipeline's kind needs a lease and `under` is none, LeaseLost when
        another has it.
        """

    def adopt(self, cursor: Cursor, now: datetime) -> bool:
        """Take another replica's cursor if its run succeeded, is known here, and is the most recent one.

        False, and nothing changes, when ours comes from a successful run that is as recent, when that run is
        unknown here or did not succeed, or when the pipeline's kind is not safe for more than one writer.
        """
