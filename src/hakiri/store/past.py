"""A table at an earlier moment, from what the catalog knows of its past.

Nothing is kept for this alone. Chunks say when they landed, snapshots when they were committed, steps of the
schema when they were taken; and the files of what was replaced since stay for a while.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.core.grammar.dates import parse_moment
from hakiri.core.grammar.durations import Duration
from hakiri.core.ids import SnapshotId, TableName
from hakiri.store.errors import BadMoment, NotThere, PastGone, StoreError
from hakiri.store.known_tables import Contents, KnownTable, LandedChunks, contents
from hakiri.store.layout import StoreLayout
from hakiri.store.names import quoted
from hakiri.store.snapshots import Place, SnapshotManifest
from hakiri.store.state import state_of
from hakiri.store.views import TableState, view_sql
from hakiri.store.visible import Landed

_SNAPSHOT = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ.*")
_DATE = re.compile(r"\d{4}-")
_LENGTH = re.compile(r"\d|P")
_OTHER_KEY = "change_key"


def moment_of(text: str, catalog: Catalog | None, now: datetime) -> datetime:
    """The moment that a text means: a time, how long ago it was, or the commit of a snapshot.

    Raises BadMoment for a text that is none of these, and for what is still to come; BadText for one that is
    nearly a time, with the place.
    """
    at = _snapshot_moment(text, catalog) or _said_moment(text, now)
    if at > now:
        raise BadMoment(text, "lies in the future")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise BadMoment(text, "lies before the first year, in UTC") from None


def table_at(catalog: Catalog, table: TableName, at: datetime) -> KnownTable:
    """What a reader saw of the table at that moment. Raises NotThere."""
    log = catalog.schemas.log(table)
    schema = catalog.schemas.current(table)
    if schema is None or not log or log[0].at > at:
        raise NotThere(table, at)
    revision, every, _ = LandedChunks(catalog).read(table)
    commits = catalog.snapshots.commits(table)
    snapshot = _manifest(catalog, snapshot_at(commits, at))
    # A catalog that was made anew may know of a restore only by what came after it.
    first = _manifest(catalog, commits[0][0]) if commits and snapshot is None else None
    landed = landed_by(every, snapshot, at)
    version = _version_at(log, landed, snapshot, at)
    key = key_at(log, version, schema.primary_key, {one.schema_version: one.primary_key for one in every})
    return KnownTable(
        table=table,
        primary_key=key,
        log=tuple(step for step in log if step.version <= version),
        since=schema.created_at,
        contents=contents(
            landed,
            snapshot,
            has_key=bool(key),
            revision=revision,
            withdrawn=() if first is None else first.withdrawn_before(at),
        ),
    )


def state_at(layout: StoreLayout, catalog: Catalog, table: TableName, at: datetime) -> TableState:
    """The same with its files, all of which are there. Raises NotThere, and PastGone if one is not."""
    return files_at(layout, catalog, table_at(catalog, table, at), at)


def files_at(layout: StoreLayout, catalog: Catalog, then: KnownTable, at: datetime) -> TableState:
    """The files of what was seen at that moment. Raises PastGone if one is not there any more."""
    state = state_of(layout, then)
    if any(missing_files(state)):
        raise PastGone(then.table, at, _seen_since(layout, catalog, then.table, at))
    return state


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAt:
    """All tables of a store at one moment, and why others cannot be seen."""

    states: tuple[TableState, ...]
    refused: Mapping[str, StoreError]


def store_at(layout: StoreLayout, catalog: Catalog, at: datetime) -> StoreAt:
    """Every table that the store has now, as it was then."""
    states: list[TableState] = []
    refused: dict[str, StoreError] = {}
    for name in sorted(path.stem for path in layout.views.glob("*.sql")):
        try:
            states.append(state_at(layout, catalog, TableName(name), at))
        except (NotThere, PastGone) as error:
            refused[name] = error
    return StoreAt(states=tuple(states), refused=refused)


def withdrawn(found: Contents) -> tuple[Landed, ...]:
    """Chunks that a restore has taken the rows of, and that nothing was planned in the place of yet. Pure.

    Of passes those that are not older than all that count.
    """
    newest: dict[tuple[str, str], int] = {}
    for one in found.landed:
        stream = (one.pipeline, one.stream)
        newest[stream] = max(newest.get(stream, 0), one.pass_number or 0)
    return tuple(
        one
        for one in found.forgotten
        if one.superseded_by is None
        and not one.unchanged
        and (one.pass_number is None or one.pass_number >= newest.get((one.pipeline, one.stream), 0))
    )


def missing_files(state: TableState) -> Iterator[str]:
    """The files of a table that are not there any more."""
    paths = [path for some in (state.folded, state.files) for each in some.values() for path in each]
    return (path for path in paths if not Path(path).exists())


def count_rows(state: TableState) -> int:
    """How many rows a reader sees of it."""
    import duckdb

    with duckdb.connect() as reader:
        reader.execute(view_sql(state))
        (found,) = reader.execute(f"SELECT count(*) FROM {quoted(state.table)}").fetchone() or (0,)  # noqa: S608
    return int(found)


def count_readable_rows(state: TableState) -> int | None:
    """The same; None if a damaged file keeps readers from it."""
    import duckdb

    try:
        return count_rows(state)
    except duckdb.Error:
        return None


def snapshot_at(commits: Sequence[tuple[SnapshotId, datetime]], at: datetime) -> SnapshotId | None:
    """The snapshot that readers saw then: of those that were committed by then the last. Pure."""
    return next((snapshot for snapshot, moment in reversed(commits) if moment <= at), None)


def landed_by(every: Iterable[Landed], snapshot: SnapshotManifest | None, at: datetime) -> list[Landed]:
    """Those that had landed by then; what the snapshot of then holds had, whatever the clocks say. Pure."""
    return [
        one
        for one in every
        if (one.landed_at is not None and one.landed_at <= at)
        or (snapshot is not None and snapshot.place_of(one.seq) is Place.SNAPSHOT)
    ]


def key_at(
    log: Sequence[SchemaChange],
    version: int,
    current: tuple[str, ...],
    known: Mapping[int, tuple[str, ...]],
) -> tuple[str, ...]:
    """The primary key of a version, from those of today and of chunks: its history does not tell it. Pure."""
    changed = {step.version for step in log if _OTHER_KEY in step.change_kind.split("+")}
    for later in range(version, len(log) + 1):
        if later > version and later in changed:
            break
        if later in known:
            return known[later]
    else:
        return current
    for earlier in range(version - 1, 0, -1):
        if earlier + 1 in changed:
            break
        if earlier in known:
            return known[earlier]
    return current


def _version_at(
    log: Sequence[SchemaChange], landed: Iterable[Landed], snapshot: SnapshotManifest | None, at: datetime
) -> int:
    """The version of the schema by then; never older than what had landed, whatever the clocks say."""
    by_clock = [step.version for step in log if step.at <= at]
    by_files = [one.schema_version for one in landed] + ([snapshot.schema_version] if snapshot else [])
    return max([*by_clock, *by_files])


def _manifest(catalog: Catalog, snapshot: SnapshotId | None) -> SnapshotManifest | None:
    row = None if snapshot is None else catalog.snapshots.get(snapshot)
    return None if row is None else SnapshotManifest.parse(row.manifest)


def _seen_since(layout: StoreLayout, catalog: Catalog, table: TableName, at: datetime) -> datetime | None:
    """The first snapshot after a moment whose files are all there; what it is made of goes with it."""
    for _, moment in catalog.snapshots.commits(table):
        if moment > at and not any(missing_files(state_of(layout, table_at(catalog, table, moment)))):
            return moment
    return None


def _snapshot_moment(text: str, catalog: Catalog | None) -> datetime | None:
    snapshot = None if catalog is None else catalog.snapshots.get(SnapshotId(text))
    if snapshot is not None and catalog is not None:
        return dict(catalog.snapshots.commits(snapshot.table))[snapshot.snapshot]
    if _SNAPSHOT.fullmatch(text):
        raise BadMoment(text, "is no snapshot that the catalog knows")
    return None


def _said_moment(text: str, now: datetime) -> datetime:
    if _DATE.match(text):
        return parse_moment(text)
    if not _LENGTH.match(text):
        raise BadMoment(text, "is neither a time, nor how long ago it was, nor a snapshot")
    return Duration.parse(text).before(now)
