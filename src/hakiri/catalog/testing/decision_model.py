"""What the contract promises of decisions: what was applied, and the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from hakiri.catalog.contract.audit import AuditEntry
from hakiri.catalog.contract.chunks import Chunk
from hakiri.catalog.contract.pipelines import AppliedSpec
from hakiri.catalog.testing.calls import Call
from hakiri.catalog.testing.pipeline_model import PipelineModel
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import PipelineId, TableName

_UNKNOWN_NUMBER = 0


class AppliedModel:
    """What was applied last, a pipeline."""

    def __init__(self) -> None:
        self.specs: dict[PipelineId, AppliedSpec] = {}

    def note_applied(
        self, pipeline: PipelineId, spec_json: str, spec_hash: str, now: datetime
    ) -> AppliedSpec:
        known = self.specs.get(pipeline)
        noted = AppliedSpec(
            pipeline=pipeline, spec_json=spec_json, spec_hash=spec_hash, applied_at=now, retired_at=None
        )
        if known is None or replace(known, applied_at=now) != noted:
            self.specs[pipeline] = noted
        return self.specs[pipeline]

    def applied(self, pipeline: PipelineId) -> AppliedSpec | None:
        return self.specs.get(pipeline)

    def retire(self, pipeline: PipelineId, now: datetime) -> bool:
        known = self.specs.get(pipeline)
        if known is None or known.retired_at is not None:
            return False
        self.specs[pipeline] = replace(known, retired_at=now)
        return True


class AuditModel:
    """Every entry in its order. The store gives the numbers, which grow."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def note(
        self,
        by: str,
        action: str,
        now: datetime,
        *,
        pipeline: PipelineId | None = None,
        table: TableName | None = None,
        before: str | None = None,
        after: str | None = None,
        reason: str | None = None,
        seen: object = None,
    ) -> AuditEntry:
        entry = AuditEntry(
            number=_UNKNOWN_NUMBER,
            at=now,
            by=by,
            action=action,
            pipeline=pipeline,
            table=table,
            before=before,
            after=after,
            reason=reason,
        )
        self.entries.append(entry)
        self._learn(pipeline, (seen,) if isinstance(seen, AuditEntry) else ())
        return self.entries[-1]

    def page(
        self,
        *,
        pipeline: PipelineId | None = None,
        before: int | None = None,
        limit: int = 100,
        seen: object = None,
    ) -> tuple[AuditEntry, ...]:
        if before is None and isinstance(seen, tuple):
            self._learn(pipeline, seen)
        found = (entry for entry in reversed(self.entries) if pipeline in (None, entry.pipeline))
        return tuple(entry for entry in found if before is None or entry.number < before)[:limit]

    def _learn(self, pipeline: PipelineId | None, seen: Iterable[AuditEntry]) -> None:
        """Take over numbers that are not known yet from the newest entries, if they grow with the others."""
        newest_first = [
            position
            for position, entry in reversed([*enumerate(self.entries)])
            if pipeline in (None, entry.pipeline)
        ]
        numbered = [*self.entries]
        for position, entry in zip(newest_first, seen, strict=False):
            if numbered[position].number == _UNKNOWN_NUMBER:
                numbered[position] = replace(numbered[position], number=entry.number)
        numbers = [entry.number for entry in numbered if entry.number != _UNKNOWN_NUMBER]
        if numbers == sorted(set(numbers)):
            self.entries = numbered


def audited(call: Call, before: PipelineModel, after: PipelineModel) -> Iterator[dict[str, Any]]:
    """What a call that made `after` of a pipeline is to have noted in the audit log."""
    given = call.arguments
    noted = {"pipeline": call.pipeline, "now": given.get("now"), "reason": given.get("reason")}
    if call.method == "put" and given.get("audit_by") and before.draws != after.draws:
        held = before.cursor_of(given["table"])
        change = {"before": None if held is None else held.cursor.value, "after": given["value"]}
        yield noted | change | {"by": given["audit_by"], "action": "cursor", "table": given["table"]}
    if call.method == "decide" and before.state is not None and before.state.failure is not None:
        count = canonical_json({"chunks": len(before.failed_chunks)})
        change = {"before": before.state.failure.as_json, "after": count}
        yield noted | change | {"by": given["by"], "action": given["decision"].value}
    if call.method == "supersede" and given.get("by") and before.chunks != after.chunks:
        old = superseded(before, after)
        new = after.chunks.held[len(before.chunks.held) :]
        change = {
            "before": canonical_json([chunk.chunk for chunk in old]),
            "after": canonical_json([held.chunk.chunk for held in new]),
        }
        tables = {chunk.table for chunk in old}
        table = tables.pop() if len(tables) == 1 else None
        yield noted | change | {"by": given["by"], "action": "rewind", "table": table}


def superseded(before: PipelineModel, after: PipelineModel) -> list[Chunk]:
    """The chunks that a call has superseded, as they were."""
    pairs = zip(before.chunks.held, after.chunks.held, strict=False)
    return [old.chunk for old, new in pairs if old.chunk.superseded_by != new.chunk.superseded_by]
