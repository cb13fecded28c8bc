"""Who may work on a pipeline alone: the lease that some kinds of cursors need."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from hakiri.core.ids import NodeId, PipelineId

LEASE_TTL = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of one holder to write to a pipeline, until it expires or another takes it over.

    The fence grows with every holder; the nonce tells two holders of the same name apart.
    """

    pipeline: PipelineId
    holder: NodeId
    fence: int
    nonce: str
    expires_at: datetime


class Leases(Protocol):
    """Single-writer leases, one a pipeline."""

    def acquire(self, pipeline: PipelineId, node: NodeId, now: datetime, ttl: timedelta) -> Lease | None:
        """Take the lease if it is free or expired at `now`; None while anyone holds it, oneself included."""

    def renew(self, lease: Lease, now: datetime, ttl: timedelta) -> Lease:
        """Hold on to it until `now + ttl`, or longer if it is so already. Raises LeaseLost.

        A lease that expired is renewed as long as nobody else took it.
        """

    def release(self, lease: Lease) -> None:
        """Let others take it at once. Does nothing when it was lost already."""

    def current(self, pipeline: PipelineId) -> Lease | None:
        """The last lease that was given, expired or not; None if there was none or it was released."""
