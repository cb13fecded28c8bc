"""`hakiri.tables`: what the store holds, as the catalog knows it, without reading a row of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hakiri.core.ids import TableName
from hakiri.store.names import quoted
from hakiri.store.query.connecting import STORE

if TYPE_CHECKING:
    import duckdb

    from hakiri.catalog.contract import Catalog
    from hakiri.store.known_tables import KnownTable
    from hakiri.store.layout import StoreLayout
    from hakiri.store.manifests import AttemptManifest
    from hakiri.store.visible import Landed

OpenCatalog = Callable[[], "AbstractContextManager[Catalog | None]"]
# So many versions of rows are told apart by their keys in the time that a person does not notice.
MOST_VERSIONS_COUNTED = 1_000_000
_COLUMNS = (
    "table_name VARCHAR, rows BIGINT, row_versions BIGINT, bytes BIGINT, columns INTEGER,"
    " primary_key VARCHAR[], pipelines VARCHAR[], runs BIGINT, chunks BIGINT, files BIGINT,"
    " snapshots BIGINT, quarantined BIGINT, last_row_at TIMESTAMPTZ, freshness INTERVAL"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One row of `hakiri.tables`, in the order of its columns.

    `rows` is what `count(*)` answers, or None where only counting would tell; `row_versions` are the rows in
    the files, which of a table with a primary key hold older versions and deletes too. `runs` and `chunks`
    are those that no snapshot has yet. `last_row_at` is when the newest rows were taken in, and `freshness`
    how long ago that is.
    """

    table_name: str
    rows: int | None
    row_versions: int
    bytes: int
    columns: int
    primary_key: list[str]
    pipelines: list[str]
    runs: int
    chunks: int
    files: int
    snapshots: int
    quarantined: int
    last_row_at: datetime | None
    freshness: timedelta | None


def table_facts(
    layout: StoreLayout, catalog: Catalog, now: datetime, *, is_past: bool = False
) -> list[TableFacts]:
    """What there is to know of every table that has a view; at a moment of the past, what there was."""
    names = sorted(path.stem for path in layout.views.glob("*.sql"))
    tables = (_known(catalog, TableName(name), now, is_past=is_past) for name in names)
    return [_facts(catalog, known, now) for known in tables if known is not None]


def make_system_tables(
    connection: duckdb.DuckDBPyConnection,
    layout: StoreLayout,
    open_catalog: OpenCatalog,
    now: datetime,
    *,
    is_past: bool = False,
) -> None:
    """Make `hakiri.tables` on the connection, in place of what it was before. Nothing reaches the disk."""
    with open_catalog() as catalog:
        facts = [] if catalog is None else table_facts(layout, catalog, now, is_past=is_past)
    # On a cursor, so that a transaction which a person has opened neither sees it nor is in its way.
    with connection.cursor() as own:
        own.execute("ATTACH IF NOT EXISTS ':memory:' AS hakiri")
        own.execute(f"CREATE OR REPLACE TABLE hakiri.tables ({_COLUMNS})")
        if facts:
            marks = ", ".join("?" * len(astuple(facts[0])))
            own.executemany(
                f"INSERT INTO hakiri.tables VALUES ({marks})",  # noqa: S608 - only question marks
                [list(astuple(one)) for one in counted(own, facts)],
            )


def counted(
    connection: duckdb.DuckDBPyConnection, facts: Sequence[TableFacts], most: int = MOST_VERSIONS_COUNTED
) -> list[TableFacts]:
    """The facts with the rows of those tables counted that are small, the smallest first.

    No more than so many versions of rows are read for that in all.
    """
    import duckdb

    budget = most
    known: dict[str, TableFacts] = {one.table_name: one for one in facts}
    for one in sorted(facts, key=lambda each: each.row_versions):
        if one.rows is not None or one.row_versions > budget:
            continue
        budget -= one.row_versions
        try:
            counting = f"SELECT count(*) FROM {STORE}.{quoted(one.table_name)}"  # noqa: S608 - quoted
            ((rows,),) = connection.execute(counting).fetchall()
        except duckdb.Error:
            continue  # a file is damaged; whoever reads the table is told
        known[one.table_name] = replace(one, rows=rows)
    return list(known.values())


def _known(catalog: Catalog, table: TableName, now: datetime, *, is_past: bool) -> KnownTable | None:
    if not is_past:
        from hakiri.store.known_tables import known_table

        return known_table(catalog, table)
    from hakiri.store.errors import NotThere
    from hakiri.store.past import table_at

    try:
        return table_at(catalog, table, now)
    except NotThere:
        return None


def _facts(catalog: Catalog, known: KnownTable, now: datetime) -> TableFacts:
    from hakiri.store.known_tables import set_aside

    found = known.contents
    recent = [file for one in found.chunks for file in one.files]
    folded = () if found.snapshot is None else found.snapshot.files
    replaced = [file for one in found.landed if one.seq in found.excluded for file in one.files]
    recent_rows, replaced_rows = sum(file.rows for file in recent), sum(file.rows for file in replaced)
    versions = sum(file.rows for file in folded) + recent_rows
    brought = [one for one in found.landed if one.files]
    newest = max(brought, key=lambda one: one.seq, default=None)
    last_row_at = None if newest is None else _manifest(catalog, newest).ingested_at
    aside = [_manifest(catalog, one) for one in set_aside(found)]
    return TableFacts(
        table_name=known.table,
        # A snapshot has every key once. What is newer may hold the same keys.
        rows=None if known.primary_key and recent_rows else versions - replaced_rows,
        row_versions=versions,
        bytes=sum(file.bytes for file in folded) + sum(file.bytes for file in recent),
        columns=len(json.loads(known.log[-1].after)["fields"]),
        primary_key=list(known.primary_key),
        pipelines=sorted({one.pipeline for one in brought}),
        runs=len({one.run for one in found.chunks}),
        chunks=len(found.chunks),
        files=len(folded) + len(recent),
        snapshots=sum(at <= now for _, at in catalog.snapshots.commits(known.table)),
        quarantined=sum(file.rows for manifest in aside for file in manifest.quarantine),
        last_row_at=last_row_at,
        freshness=None if last_row_at is None else now - last_row_at,
    )


def _manifest(catalog: Catalog, one: Landed) -> AttemptManifest:
    from hakiri.store.errors import UnreadableManifest
    from hakiri.store.manifests import AttemptManifest

    chunk = catalog.chunks.get(one.pipeline, one.chunk)
    if chunk is None or chunk.manifest is None:
        raise UnreadableManifest(f"chunk {one.chunk} of pipeline `{one.pipeline}` landed without one")
    return AttemptManifest.parse(chunk.manifest)
