"""The steps of a compaction, by name: where a test may stop it, and what a person sees of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias


class Step(StrEnum):
    """What has just been done. Readers see what was there until COMMITTED, and the same rows after it."""

    INPUTS_SELECTED = "inputs selected"
    SCATTERED = "rows in ranges"
    SETTLED = "newest rows found"
    FOLDED = "files written"
    STAGED = "partial manifest written"
    SIDECARS_BUILT = "sidecars built"
    MANIFEST_FINAL = "manifest final"
    DATA_RENAMED = "data in its place"
    SIDECARS_RENAMED = "sidecars in their places"
    SIDECARS_NOTED = "sidecars noted"
    COMMITTED = "snapshot committed"
    PUBLISHED = "views written"


Reached: TypeAlias = Callable[[Step], None]


def unwatched(_: Step) -> None:
    """For when nobody looks."""
