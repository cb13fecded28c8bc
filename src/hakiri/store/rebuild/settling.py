"""What was decided about one table: its versions, its snapshots, and what landed in it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.core.ids import PipelineId, TableName
from hakiri.store.manifests import FILE_NAME, AttemptManifest
from hakiri.store.rebuild.errors import Problem
from hakiri.store.rebuild.landing import FindClaims, Landing, landing_of, winners_of
from hakiri.store.rebuild.standing import chain_of
from hakiri.store.rebuild.tree import TableTree
from hakiri.store.rebuild.versions import fingerprints_of, key_now, versions_of
from hakiri.store.snapshots import SnapshotManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFacts:
    """What the chunks of a pipeline tell of its plans, to those who know what a predicate means.

    `plans` are made and need not be made again, `counters` have the last number that each gave.
    """

    phase: Phase
    plans: tuple[str, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)


FactsOf: TypeAlias = Callable[[PipelineId, Sequence[AttemptManifest]], PipelineFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is needed to read the tree: the time, and those who know what other rooms have written."""

    now: datetime
    keep: Callable[[TableName], timedelta]
    facts_of: FactsOf
    find_claims: FindClaims


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledTable:
    """A table as it will be, with the snapshot in force last in its `chain`."""

    tree: TableTree
    versions: tuple[SchemaChange, ...]
    key: tuple[str, ...]
    chain: tuple[SnapshotManifest, ...]
    landing: Landing

    @property
    def name(self) -> TableName:
        return self.tree.table

    @property
    def snapshot(self) -> SnapshotManifest | None:
        return self.chain[-1] if self.chain else None

    @property
    def landed(self) -> tuple[AttemptManifest, ...]:
        return self.landing.landed


def settle_table(tree: TableTree, find_claims: FindClaims) -> tuple[SettledTable, list[Problem]]:
    """The table, and everything that is wrong with its files."""
    versions, wrong = versions_of(tree)
    winners, misfits = winners_of(tree.attempts, fingerprints_of(versions))
    fitting = {one.schema_version for one in winners}
    wrong += [
        Problem(path=f"{each.attempt.place}/{FILE_NAME}", why=f"does not fit: {each.why}")
        for each in misfits
        if each.attempt.schema_version not in fitting
    ]
    chain, missing = chain_of(tree, winners)
    key = key_now(tree, versions)
    landing = landing_of(
        winners,
        chain[-1] if chain else None,
        has_key=bool(key),
        find_claims=find_claims,
        withdrawn={seq for one in chain for each in one.withdrawals for seq in each.seqs},
    )
    table = SettledTable(
        tree=tree,
        versions=versions,
        key=key,
        chain=chain,
        landing=replace(landing, left_out=(*misfits, *landing.left_out)),
    )
    return table, wrong or missing  # without its versions nothing of a table can be told
