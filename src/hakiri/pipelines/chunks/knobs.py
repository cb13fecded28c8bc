"""The knobs of a backfill that are in force: what the connector says, unless the manifest names it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.pipelines.chunks.errors import UnsafeParallelism
from hakiri.sources.contract import Hint

if TYPE_CHECKING:
    from hakiri.manifest import BackfillSpec

_Value = TypeVar("_Value")


class Origin(StrEnum):
    """Who decided a knob."""

    MANIFEST = "manifest"
    CONNECTOR = "connector"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob(Generic[_Value]):
    """A value and who decided it. None of the default is «no limit», or «whatever serves»."""

    value: _Value | None = None
    origin: Origin = Origin.DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What is in force for one table.

    `parallelism` None is as many chunks as the worker runs. `max_parallel_chunks` is about the worker: the
    lowest that any of its pipelines names holds for all of them.
    """

    window: Knob[Duration]
    parallelism: Knob[int]
    rate_budget: Knob[Rate]
    start_from: Knob[datetime]
    max_chunks_per_tick: Knob[int]
    destination_writes_per_sec: Knob[float]
    max_parallel_chunks: Knob[int]


def knobs_in_force(backfill: BackfillSpec, hint: Hint, *, table: str, partitions: int = 1) -> Knobs:
    """The hint's values, and the manifest's in place of those that it names.

    Raises UnsafeParallelism when the manifest asks for several chunks at once of a source that is walked by
    its own tokens.
    """
    asked = backfill.parallelism
    if hint.cursor_kind is CursorKind.OPAQUE_TOKEN and asked is not None and asked > 1:
        raise UnsafeParallelism(table, asked)
    start_from = None if backfill.start_from is None else backfill.start_from.at
    return Knobs(
        window=_knob(backfill.window, hint.natural_window),
        parallelism=_knob(asked, lanes_at_once(hint.cursor_kind, partitions)),
        rate_budget=_knob(backfill.rate_budget, hint.rate_budget),
        start_from=_knob(start_from),
        max_chunks_per_tick=_knob(backfill.max_chunks_per_tick),
        destination_writes_per_sec=_knob(backfill.destination_writes_per_sec),
        max_parallel_chunks=_knob(backfill.max_parallel_chunks),
    )


def lanes_at_once(kind: CursorKind, partitions: int) -> int | None:
    """How many chunks of one table the source can stand at once; None is any number."""
    match kind:
        case CursorKind.MONOTONIC:
            return None
        case CursorKind.OPAQUE_TOKEN:
            return 1
        case CursorKind.SNAPSHOT_ID | CursorKind.PARTITIONED_MONOTONIC:
            return max(partitions, 1)


def _knob(manifest: _Value | None, connector: _Value | None = None) -> Knob[_Value]:
    if manifest is not None:
        return Knob(value=manifest, origin=Origin.MANIFEST)
    if connector is not None:
        return Knob(value=connector, origin=Origin.CONNECTOR)
    return Knob()
