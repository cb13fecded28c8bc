"""What the catalog knows of a pipeline as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId


class Phase(StrEnum):
    """How far a pipeline has come."""

    PLANNING = "planning"
    BACKFILLING = "backfilling"
    STREAMING = "streaming"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineState:
    """One pipeline as it stands."""

    pipeline: PipelineId
    kind: CursorKind
    phase: Phase
    updated_at: datetime


class Pipelines(Protocol):
    """The pipelines that have state. Any write to an unknown one makes it, with the undeclared kind."""

    def declare(self, pipeline: PipelineId, kind: CursorKind, now: datetime) -> PipelineState:
        """Note the cursor kind that the connector declared; from then on it decides who needs a lease."""

    def move(self, pipeline: PipelineId, expected: Phase, to: Phase, now: datetime) -> PipelineState:
        """Change the phase, if it still is the expected one. Raises PhaseMoved."""

    def get(self, pipeline: PipelineId) -> PipelineState | None:
        """The pipeline, or None if it never had state."""

    def all(self) -> tuple[PipelineState, ...]:
        """Every pipeline that has state, by id."""
