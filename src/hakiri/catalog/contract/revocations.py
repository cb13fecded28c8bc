"""Revocation epochs: which capability tokens still count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose tokens an epoch is about."""

    project: str
    tenant: str
    principal_class: str


class Revocations(Protocol):
    """One epoch a scope, beginning at 0 and only growing. A token of an older epoch counts no more."""

    def epoch(self, scope: Scope) -> int:
        """The epoch as it is in the catalog now; never one that was not written."""

    def bump(self, scope: Scope, now: datetime) -> int:
        """Revoke all tokens of the scope that were made until now, and return the new epoch."""
