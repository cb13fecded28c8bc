"""A compaction as a span: what went in, what came out, and how long it took."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from hakiri.compaction.compacting import Compacted
from hakiri.compaction.steps import Step
from hakiri.core.ids import RunId, TableName
from hakiri.store.layout import snapshot_name
from hakiri.telemetry import Attributes, Span, Telemetry, trace_id_of

NAME = "hakiri.compaction"


class CompactionSpan:
    """One span a compaction, with an event for each step; nothing at all without telemetry."""

    def __init__(self, telemetry: Telemetry | None, *, run: RunId, table: TableName, why: str) -> None:
        self._telemetry = telemetry
        self._run = run
        self._attributes: Attributes = {
            "hakiri.table": table,
            "hakiri.run_id": run,
            f"{NAME}.trigger": why,
        }
        self._span: Span | None = None

    def __enter__(self) -> Self:
        if self._telemetry is not None:
            self._span = self._telemetry.start(NAME, self._attributes, trace=trace_id_of(self._run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._telemetry is None or self._span is None:
            return
        if error is not None:
            self._span.record(error)
        self._span.end()
        self._telemetry.finish(trace_id_of(self._run))

    def reached(self, step: Step) -> None:
        if self._span is not None:
            self._span.note(step.value)

    def done(self, done: Compacted) -> None:
        if self._span is not None:
            self._span.set(attributes_of(done))


def attributes_of(done: Compacted) -> Attributes:
    """What is to be known of a compaction afterwards. Pure."""
    made = done.manifest
    folder = f"{snapshot_name(made.snapshot)}/"
    written = [file.bytes for file in made.files if file.path.startswith(folder)]
    return {
        f"{NAME}.snapshot": made.snapshot,
        f"{NAME}.runs": len(done.runs),
        f"{NAME}.input_bytes": done.bytes_read,
        f"{NAME}.output_bytes": sum(written),
        f"{NAME}.rows_read": made.rows_read,
        f"{NAME}.rows": made.rows,
        f"{NAME}.files": len(made.files),
        f"{NAME}.files_kept": done.files_kept,
        f"{NAME}.sidecar_seconds": done.sidecar_seconds,
    }
