"""A route of the push queue: its lock, its counts, and where a claim begins to look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from hakiri.catalog.contract.push import Route
from hakiri.catalog.sql.database import Transaction, moment_or_none


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteState:
    """A route whose row is locked: how many of its changes are where, and where a claim may begin to look.

    Nothing waits before `first_position`, and no lease ends before `first_expiry`.
    """

    route: Route
    pending: int = 0
    in_flight: int = 0
    rejected: int = 0
    delivered: int = 0
    last_position: int = 0
    first_position: int = 0
    first_expiry: datetime | None = None

    def sent(self, count: int, *, until: datetime) -> RouteState:
        """With so many changes on their way that were waiting."""
        return replace(
            self,
            pending=self.pending - count,
            in_flight=self.in_flight + count,
            first_expiry=min(self.first_expiry or until, until),
        )

    def replayed(self, count: int) -> RouteState:
        """With so many changes waiting that were rejected, each at the place it had before."""
        return replace(self, pending=self.pending + count, rejected=self.rejected - count, first_position=0)


def lock_route(tx: Transaction, route: Route) -> RouteState | None:
    """The route, and nobody else writes to it until the end; None if nothing was ever queued for it."""
    row = tx.one("lock_route", **route._asdict())
    if row is None:
        return None
    return RouteState(
        route=route,
        pending=row["pending"],
        in_flight=row["in_flight"],
        rejected=row["rejected"],
        delivered=row["delivered"],
        last_position=row["last_position"],
        first_position=row["first_position"],
        first_expiry=moment_or_none(row["first_expiry"]),
    )


def save_route(tx: Transaction, state: RouteState) -> None:
    tx.run(
        "save_route",
        **state.route._asdict(),
        pending=state.pending,
        in_flight=state.in_flight,
        rejected=state.rejected,
        delivered=state.delivered,
        last_position=state.last_position,
        first_position=state.first_position,
        first_expiry=state.first_expiry,
    )
