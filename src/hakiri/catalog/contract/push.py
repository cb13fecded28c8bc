"""The push queue: changes on their way to an outside API, at least once, none of them lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

from hakiri.core.ids import NodeId, SnapshotId


class PushState(StrEnum):
    """Where a change is on its way."""

    PENDING = "pending"
    IN_FLIGHT = "in_flight"
    REJECTED = "rejected"


class Verdict(StrEnum):
    """What a sink said about one change."""

    OK = "ok"
    WARN = "warn"
    ERROR = "error"
    REJECT = "reject"


class Route(NamedTuple):
    """From which model to which sink."""

    sink: str
    model: str


class ChangeKey(NamedTuple):
    """Which change of which row."""

    row: int
    change_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a row that a snapshot brought."""

    key: ChangeKey
    snapshot: SnapshotId
    payload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedChange:
    """A change in the queue, and what happened to it so far."""

    change: Change
    state: PushState
    attempts: int
    message: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PushBatch:
    """Changes that one node delivers together. `job` is set once an asynchronous sink gave a reference."""

    route: Route
    batch: str
    node: NodeId
    fence: int
    leased_until: datetime
    changes: tuple[Change, ...]
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A sink's verdict on a change, with its words."""

    verdict: Verdict
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTally:
    """How many changes of a route are where."""

    pending: int = 0
    in_flight: int = 0
    delivered: int = 0
    rejected: int = 0


class PushQueue(Protocol):
    """Changes wait here until a sink took them, rejected them, or a newer one stands in their place."""

    def enqueue(self, route: Route, changes: Iterable[Change], now: datetime) -> int:
        """Add changes, all or none, and say how many wait now because of it.

        One that was delivered already (same row, type and snapshot) is left out; one of the same row and type
        that still waits is replaced.
        """

    def claim(
        self, route: Route, node: NodeId, now: datetime, *, limit: int, ttl: timedelta
    ) -> PushBatch | None:
        """Take a batch whose lease ran out, as it was, its job included; else the changes waiting longest.

        Row ids stay together: both images of an update are in one batch whenever `limit` is 2 or more.
        """

    def note_job(self, batch: PushBatch, job: str, now: datetime, ttl: timedelta) -> PushBatch:
        """Keep the reference of a job that the sink started, and the lease with it. Raises LeaseLost."""

    def settle(self, batch: PushBatch, answers: Mapping[ChangeKey, Answer], now: datetime) -> None:
        """Act on the verdicts: delivered ones are noted as such and leave, in one step with all others.

        Errors wait again, rejected ones stay aside. Every change of the batch needs an answer. The same batch
        twice is one; raises LeaseLost when another node has taken it over.
        """

    def was_delivered(self, route: Route, change: Change) -> bool:
        """Whether the sink took this very change."""

    def replay(self, route: Route, now: datetime) -> int:
        """Let all rejected changes wait again, and say how many."""

    def tally(self, route: Route) -> PushTally:
        """The counts of a route."""

    def page(
        self, route: Route, state: PushState, *, after: ChangeKey | None = None, limit: int = 1000
    ) -> tuple[QueuedChange, ...]:
        """Changes in a state by row and type, from the one behind `after` on."""
