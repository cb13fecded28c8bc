"""A catalog of what the tree tells: what it will hold, what was found, and what nothing tells. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hakiri.catalog.contract.contents import CatalogContents
from hakiri.core.ids import SnapshotId, TableName
from hakiri.store.manifests import FILE_NAME, AttemptManifest
from hakiri.store.rebuild.contents import contents_of
from hakiri.store.rebuild.errors import NothingToRebuild, Problem, TreeBroken
from hakiri.store.rebuild.landing import LeftOut
from hakiri.store.rebuild.settling import Reading, SettledTable, settle_table
from hakiri.store.rebuild.standing import files_beside
from hakiri.store.rebuild.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """A table as it will be. `unseen` chunks count, and no view or snapshot says that they did before."""

    table: TableName
    schema_version: int
    primary_key: tuple[str, ...]
    chunks: int
    superseded: int
    snapshots: int
    snapshot: SnapshotId | None
    unseen: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    unsealed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """All of it. `without_commit` are chunks by table whose manifests are of format 1."""

    contents: CatalogContents
    tables: tuple[FoundTable, ...]
    without_commit: Mapping[TableName, int]


def plan_rebuild(tree: Tree, root: str, reading: Reading) -> Rebuilt:
    """What a catalog made of the tree holds.

    Raises NothingToRebuild, and TreeBroken with everything that is wrong.
    """
    settled = [
        settle_table(each, reading.find_claims) for each in tree.tables if each.history or each.attempts
    ]
    tables = [table for table, _ in settled]
    problems = [*tree.problems, *(problem for _, wrong in settled for problem in wrong)]
    problems += _twice_claimed(tables)
    if problems:
        raise TreeBroken(problems)
    if not tables:
        raise NothingToRebuild(root)
    return Rebuilt(
        contents=contents_of(tables, reading),
        tables=tuple(_found(table) for table in tables),
        without_commit={
            table.name: count
            for table in tables
            if (count := sum(one.commit is None for one in table.landed))
        },
    )


def _twice_claimed(tables: Iterable[SettledTable]) -> Iterator[Problem]:
    """Attempts that share the number of their claim: a store that two others were copied into."""
    first: dict[int, AttemptManifest] = {}
    for table in tables:
        for one in table.landed:
            other = first.setdefault(one.seq, one)
            if other is not one:
                why = f"has claim {one.seq}, and so has `{other.place}`"
                yield Problem(path=f"{one.place}/{FILE_NAME}", why=why)


def _found(table: SettledTable) -> FoundTable:
    beside = files_beside(table.landed, table.snapshot)
    return FoundTable(
        table=table.name,
        schema_version=len(table.versions),
        primary_key=table.key,
        chunks=len(table.landed),
        superseded=len(table.landing.replaced),
        snapshots=len(table.chain),
        snapshot=None if table.snapshot is None else table.snapshot.snapshot,
        unseen=tuple(
            one.place
            for one in beside
            if one.files
            and (one.pipeline, one.chunk) not in table.landing.replaced
            and f"/{one.place}/" not in table.tree.view
        ),
        left_out=table.landing.left_out,
        unsealed=table.tree.unsealed,
    )
