"""Why a chunk reads what was read before, as the database keeps it: one text, which is JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hakiri.catalog.contract.chunks import Replacement, Reread
from hakiri.catalog.sql.database import moment, storable
from hakiri.core.canonical import canonical_json


def reread_text(reread: Reread | None) -> str | None:
    """The text of it. Raises UnstorableText: in JSON a NUL is written as text that no later check notices."""
    if reread is None:
        return None
    for text in (reread.reason, *reread.runs):
        storable("reread", text)
    said: dict[str, Any] = {"asked_at": reread.asked_at, "reason": reread.reason, "runs": reread.runs}
    if reread.replacement is not None:
        said["replacement"] = asdict(reread.replacement)
    return canonical_json(said)


def reread_from(text: Any) -> Reread | None:
    """What has this text, in a column that may be empty."""
    if text is None:
        return None
    said = json.loads(text)
    part = said.get("replacement")
    return Reread(
        reason=said["reason"],
        asked_at=moment(said["asked_at"]),
        runs=tuple(said["runs"]),
        replacement=part and Replacement(first=part["first"], last=part["last"], old=tuple(part["old"])),
    )
