"""What the catalog knows of a pipeline as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from hakiri.core.canonical import canonical_json
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId, RunId


class Phase(StrEnum):
    """How far a pipeline has come."""

    PLANNING = "planning"
    BACKFILLING = "backfilling"
    STREAMING = "streaming"


class Decision(StrEnum):
    """What becomes of a pipeline that failed."""

    RETRY = "retry"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a pipeline waits for a decision. `spec_hash` is that of the spec that was being run."""

    run: RunId | None
    kind: str
    message: str
    at: datetime
    spec_hash: str | None

    @property
    def as_json(self) -> str:
        """As it stands in the audit log when it was decided."""
        return canonical_json({name: getattr(self, name) for name in self.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineState:
    """One pipeline as it stands."""

    pipeline: PipelineId
    kind: CursorKind
    phase: Phase
    updated_at: datetime
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedSpec:
    """What was applied last for a pipeline, and since when; `retired_at` if it left the manifest then."""

    pipeline: PipelineId
    spec_json: str
    spec_hash: str
    applied_at: datetime
    retired_at: datetime | None


class Pipelines(Protocol):
    """The pipelines that have state. Any write to an unknown one makes it, with the undeclared kind."""

    def declare(self, pipeline: PipelineId, kind: CursorKind, now: datetime) -> PipelineState:
        """Note the cursor kind that the connector declared; from then on it decides who needs a lease."""

    def move(self, pipeline: PipelineId, expected: Phase, to: Phase, now: datetime) -> PipelineState:
        """Change the phase, if it still is the expected one. Raises PhaseMoved."""

    def fail(self, pipeline: PipelineId, failure: Failure, now: datetime) -> PipelineState:
        """Have the pipeline wait for a decision. A failure that nobody decided yet gives way to this one."""

    def decide(self, pipeline: PipelineId, decision: Decision, by: str, now: datetime) -> bool:
        """Settle the failure: its failed chunks are pending again, or skipped. False if there was none.

        The decision is in the audit log in the same step: the action is its name, `before` the failure, and
        `after` how many chunks it was about, as `{"chunks":3}`. `by` is `auto`, `operator:<id>` or
        `agent:<id>`.
        """

    def note_applied(
        self, pipeline: PipelineId, spec_json: str, spec_hash: str, now: datetime
    ) -> AppliedSpec:
        """Note what was applied; one that was retired is so no more. The same again keeps its time."""

    def applied(self, pipeline: PipelineId) -> AppliedSpec | None:
        """What was applied last, also if it was retired since."""

    def all_applied(self) -> tuple[AppliedSpec, ...]:
        """What was applied last for every pipeline, retired ones too, by pipeline."""

    def retire(self, pipeline: PipelineId, now: datetime) -> bool:
        """Note that it left the manifest. False if it was retired already, or never applied."""

    def get(self, pipeline: PipelineId) -> PipelineState | None:
        """The pipeline, or None if it never had state."""

    def all(self) -> tuple[PipelineState, ...]:
        """Every pipeline that has state, by id."""
