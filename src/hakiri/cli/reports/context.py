"""What commands report that look after the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedTable:
    """What became of a table. `waiting` chunks could not be folded yet, since an earlier one is under way.

    `held_by` is the worker that compacts it at this moment, since `held_since`. `mended` are damaged files
    that others have taken the place of, by their paths below the store.
    """

    table: str
    is_compacted: bool
    snapshot: str | None = None
    runs: int = 0
    rows_read: int = 0
    rows: int = 0
    bytes_read: int = 0
    bytes: int = 0
    files: int = 0
    waiting: int = 0
    seconds: float = 0.0
    held_by: str | None = None
    held_since: datetime | None = None
    mended: tuple[str, ...] = ()
    error_code: str | None = None
    error: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """Every table that was looked at, in the order of the manifest."""

    tables: tuple[CompactedTable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedFile:
    """A file that was deleted, or would be, by its path below the store, and why."""

    path: str
    table: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What a collection deleted, and what it named for a later one. Files `in_use` were left alone."""

    dry_run: bool
    deleted: tuple[CollectedFile, ...]
    bytes: int
    named: tuple[str, ...]
    in_use: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltTable:
    """A table that was found. `unseen` chunks count, though neither a view nor a snapshot names them."""

    table: str
    schema_version: int
    primary_key: tuple[str, ...]
    chunks: int
    superseded: int
    snapshots: int
    snapshot: str | None
    unseen: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltPipeline:
    """A pipeline that was found, with the phase that its chunks tell, and its cursors by stream."""

    pipeline_id: str
    phase: str
    runs: int
    chunks: int
    cursors: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutAttempt:
    """An attempt that is whole and does not count, by its folder below the store, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """What a catalog made of the store has, and what it lacks. `kept` is where the one before is now."""

    dry_run: bool
    catalog: str
    kept: str | None
    tables: tuple[RebuiltTable, ...]
    pipelines: tuple[RebuiltPipeline, ...]
    left_out: tuple[LeftOutAttempt, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredTable:
    """A table that was restored, or would be. `is_changed` is false if it is as it was then anyway.

    - `rows_before`, `rows`: what readers see until then, and from then on; until then nothing, if a damaged
      file keeps them from it.
    - `withdrawn`, `returning`: chunks that are not seen any more, and those that are seen again.
    """

    table: str
    is_changed: bool
    rows_before: int | None
    rows: int
    withdrawn: int
    returning: int
    snapshot: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnPart:
    """What a pipeline brought into a table that is not there any more, and the command that pulls it again.

    `planned` chunks are pending for it already.
    """

    pipeline_id: str
    table: str
    chunks: int
    planned: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """Every table that was looked at, in the order of the manifest, and what may be pulled again.

    `by` is who decided it, and null for a dry run, which decides nothing.
    """

    dry_run: bool
    at: datetime
    by: str | None
    tables: tuple[RestoredTable, ...]
    not_there: tuple[str, ...]
    withdrawn: tuple[WithdrawnPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """Something that is not as it should be, and what to do next. `path` is below the store.

    `severity` is `damage` if what was written is hurt, `drift` if what is derived is out of step, and
    `litter` if nobody needs it; that has `bytes` and an age.
    """

    kind: str
    severity: str
    table: str | None
    path: str
    found: str
    next: str
    bytes: int | None
    age_seconds: float | None
    is_mended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCheckReport:
    """Whether the store is whole. `findings` has the worst first; those that were mended count no more."""

    is_whole: bool
    is_quick: bool
    tables: tuple[str, ...]
    files: int
    bytes: int
    seconds: float
    findings: tuple[FindingRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegenViewReport:
    """What was out of step with the catalog and is written anew, or would be with `--check`.

    `not_made` are tables whose views cannot be made, since a file of theirs is damaged.
    """

    is_check: bool
    tables: tuple[str, ...]
    changed: tuple[str, ...]
    not_made: tuple[str, ...]
