"""The steps of a run at which it can be told apart from the outside, and at which a crash is tried."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias


class Step(StrEnum):
    """What has just happened, in the order in which a run comes by it."""

    NODE_KNOWN = "node-known"
    RUN_RECORDED = "run-recorded"
    SOURCE_OPENED = "source-opened"
    TABLES_DISCOVERED = "tables-discovered"
    SCHEMA_DECIDED = "schema-decided"
    KIND_DECLARED = "kind-declared"
    BACKFILL_PLANNED = "backfill-planned"
    BACKFILL_BEGUN = "backfill-begun"
    CHUNKS_CLAIMED = "chunks-claimed"
    JOB_STARTED = "job-started"
    JOB_DONE = "job-done"
    COUNTS_AGREED = "counts-agreed"
    MANIFEST_WRITTEN = "manifest-written"
    COMMIT_STARTED = "commit-started"
    COMMITTED = "committed"
    FOLLOW_UP_PLANNED = "follow-up-planned"
    VIEWS_STARTED = "views-started"
    VIEWS_PUBLISHED = "views-published"
    CHUNKS_ALL_DONE = "chunks-all-done"
    STREAMING_BEGUN = "streaming-begun"
    TICK_PLANNED = "tick-planned"
    SPEC_NOTED = "spec-noted"
    RUN_ENDED = "run-ended"


Reached: TypeAlias = Callable[[Step], None]


def unwatched(_: Step) -> None:
    """Nobody wants to know."""
