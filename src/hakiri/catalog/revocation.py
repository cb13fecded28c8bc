"""Whether a capability token still counts."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hakiri.catalog.contract.revocations import Revocations, Scope
from hakiri.catalog.errors import CatalogBusy, CatalogUnreachable, RevocationUnknown, TokenRevoked

STALENESS_WINDOW = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStamp:
    """What a token carries of revocation: whose it is, and the epoch in which it was made."""

    scope: Scope
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """An epoch that was read, and the moment before the reading began."""

    epoch: int
    read_at: datetime


class RevocationGuard:
    """Refuses tokens that were revoked, by the epoch in the catalog. For any number of threads.

    Every check reads the epoch, so while the catalog answers, a revoked token is refused at once. While it
    does not, the epoch that was read last stands in for `window` and no longer: what was revoked meanwhile
    is let in until then, and nothing after that. An epoch once seen is never taken back, and one that was
    not read from the catalog is never gone by.

    Time is what `now` says. When it is seen to go back behind the last reading, the window begins anew at
    that moment: a clock that goes back, by however much, adds one window at most.
    """

    def __init__(self, revocations: Revocations, window: timedelta = STALENESS_WINDOW) -> None:
        self._revocations = revocations
        self._window = window
        self._lock = threading.Lock()
        self._known: dict[Scope, _Known] = {}

    def check(self, stamp: TokenStamp, now: datetime) -> None:
        """Return if the token counts. Raises TokenRevoked, or RevocationUnknown when that cannot be said.

        A token of an epoch that the catalog has not come to was never given, and is refused as well.
        """
        try:
            epoch = self._revocations.epoch(stamp.scope)
        except (CatalogUnreachable, CatalogBusy) as error:
            epoch = self._last_epoch(stamp, now, error)
        else:
            epoch = self._remembered(stamp.scope, epoch, now)
        if stamp.epoch != epoch:
            raise TokenRevoked(_name(stamp.scope), stamp.epoch, epoch)

    def _remembered(self, scope: Scope, epoch: int, now: datetime) -> int:
        with self._lock:
            known = self._known.get(scope)
            # Of two readings at once the earlier may be kept last, and its epoch be the lower one.
            highest = epoch if known is None else max(epoch, known.epoch)
            self._known[scope] = _Known(epoch=highest, read_at=now)
            return highest

    def _last_epoch(self, stamp: TokenStamp, now: datetime, error: CatalogUnreachable | CatalogBusy) -> int:
        with self._lock:
            known = self._known.get(stamp.scope)
            if known is None:
                raise RevocationUnknown(_name(stamp.scope), "it was never read") from error
            if now < known.read_at:
                known = self._known[stamp.scope] = replace(known, read_at=now)
        if now - known.read_at > self._window:
            raise RevocationUnknown(
                _name(stamp.scope), f"it was last read at {known.read_at.isoformat()}"
            ) from error
        if stamp.epoch > known.epoch:
            raise RevocationUnknown(
                _name(stamp.scope), "the token is newer than what was last read"
            ) from error
        return known.epoch


def _name(scope: Scope) -> str:
    return "/".join((scope.project, scope.tenant, scope.principal_class))
