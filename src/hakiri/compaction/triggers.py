"""When a table is to be compacted: after so many runs, or when the last time is so long ago."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hakiri.catalog.contract import Catalog
from hakiri.compaction.selecting import Selection, select
from hakiri.core.ids import SnapshotId, TableName
from hakiri.manifest.tables import CompactionSpec
from hakiri.store.known_tables import Contents, LandedChunks, contents

# Above the number of every claim.
_NO_FRONTIER = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfolded:
    """How many runs there are to fold, and since when that has been waited for.

    That is when the last snapshot was made, or when the first of them landed if there is none.
    """

    runs: int
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Why a table is to be compacted, and None while it is not; `at` is when its time comes or came.

    There is no such time while nothing is to be folded.
    """

    why: str | None = None
    at: datetime | None = None

    @property
    def is_due(self) -> bool:
        return self.why is not None


def due(unfolded: Unfolded, spec: CompactionSpec, now: datetime) -> Due:
    """Whether a table with so much to fold is to be compacted now, or when. Pure."""
    if not unfolded.runs or unfolded.since is None:
        return Due()
    at = spec.trigger_interval.after(unfolded.since)
    if unfolded.runs >= spec.trigger_run_count:
        return Due(why=f"{unfolded.runs} runs to fold", at=at)
    return Due(why=f"nothing folded for {spec.trigger_interval}" if now >= at else None, at=at)


def unfolded_of(selection: Selection) -> Unfolded:
    """What a compaction of this selection would be for. Runs that brought no file are no reason. Pure."""
    brought = [one for one in (*selection.folded, *selection.replaced) if one.files]
    runs = len({one.run for one in brought})
    if selection.current is not None:
        # Rows of the snapshot that something without rows has replaced are one as well.
        return Unfolded(runs=max(runs, bool(selection.excluded)), since=selection.current.created_at)
    return Unfolded(runs=runs, since=min((one.landed_at for one in brought if one.landed_at), default=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a table was when it was read last, and by what it is known that it still is.

    `at_most` is what there would be to fold if nobody were at work.
    """

    state: tuple[int, SnapshotId | None, int]
    found: Contents
    at_most: Unfolded


class DueTables:
    """Tells which tables are due. As long as nothing changes, a look costs three short questions a table."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._chunks = LandedChunks(catalog)
        self._known: dict[TableName, _Known] = {}

    def look(self, table: TableName, spec: CompactionSpec, now: datetime) -> Due:
        schema = self._catalog.schemas.current(table)
        if schema is None:
            return Due()
        has_key = bool(schema.primary_key)
        known = self._read(table, schema.version, has_key=has_key)
        at_most = due(known.at_most, spec, now)
        if not at_most.is_due:
            return at_most
        # Only now: whoever asks for the frontier waits for claims that are just being made.
        frontier = self._catalog.snapshots.frontier(table)
        return due(unfolded_of(select(known.found, frontier, has_key=has_key)), spec, now)

    def _read(self, table: TableName, schema_version: int, *, has_key: bool) -> _Known:
        state = (
            self._catalog.chunks.version(table),
            self._catalog.snapshots.current_id(table),
            schema_version,
        )
        known = self._known.get(table)
        if known is None or known.state != state:
            revision, landed, snapshot = self._chunks.read(table)
            found = contents(landed, snapshot, has_key=has_key, revision=revision)
            at_most = unfolded_of(select(found, _NO_FRONTIER, has_key=has_key))
            known = self._known[table] = _Known(state=state, found=found, at_most=at_most)
        return known
