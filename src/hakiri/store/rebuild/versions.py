"""The versions of a table's schema, from its history and from the attempts that changed it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise

from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.core.canonical import sha256_of
from hakiri.core.ids import TableName
from hakiri.store.manifests import AttemptManifest
from hakiri.store.rebuild.errors import Problem
from hakiri.store.rebuild.tree import TableTree
from hakiri.store.snapshots import SnapshotManifest


def versions_of(tree: TableTree) -> tuple[tuple[SchemaChange, ...], list[Problem]]:
    """Every version in order, and what is missing or told in two ways.

    The file of the history is written after a commit: who died in between left the step in the manifest of
    the attempt that took it.
    """
    known = {change.version: change for change in tree.history}
    for version, change in _steps(tree.attempts, tree.table).items():
        known.setdefault(version, change)
    wanted = {*known, *(one.schema_version for one in _written(tree))}
    path = f"tables/{tree.table}/schema-history.jsonl"
    problems = [
        Problem(path=path, why=f"lacks version {version}")
        for version in range(1, max(wanted, default=0) + 1)
        if version not in known
    ]
    if len(known) < len(tree.history):
        problems.append(Problem(path=path, why="tells one version twice"))
    versions = tuple(known[version] for version in sorted(known))
    for earlier, later in pairwise(versions):
        if later.version == earlier.version + 1 and later.before not in (earlier.after, None):
            why = f"has a version {later.version} that does not begin where version {earlier.version} ended"
            problems.append(Problem(path=path, why=why))
    return versions, problems


def fingerprints_of(versions: Iterable[SchemaChange]) -> Mapping[int, str]:
    """The fingerprint of each version."""
    return {change.version: sha256_of(json.loads(change.after)) for change in versions}


def key_now(tree: TableTree, versions: tuple[SchemaChange, ...]) -> tuple[str, ...]:
    """The primary key that the table has: that of its newest files, unless `schema.json` tells."""
    newest = max(_written(tree), key=lambda one: one.schema_version, default=None)
    is_behind = not tree.history or len(tree.history) < len(versions)
    if tree.key is not None and not is_behind:
        return tree.key
    return () if newest is None else newest.primary_key


def _written(tree: TableTree) -> list[AttemptManifest | SnapshotManifest]:
    return [*tree.attempts, *tree.snapshots]


def _steps(attempts: Iterable[AttemptManifest], table: TableName) -> dict[int, SchemaChange]:
    """The steps that attempts took, the earliest claim first."""
    steps: dict[int, SchemaChange] = {}
    for one in sorted(attempts, key=lambda each: each.seq):
        if one.commit is not None and one.commit.step is not None:
            step = one.commit.step
            change = SchemaChange(
                table=table,
                version=one.schema_version,
                pipeline=one.pipeline,
                change_kind=step.change_kind,
                before=None,
                after=step.after,
                decided_by=step.decided_by,
                at=one.commit.sealed_at,
            )
            steps.setdefault(one.schema_version, change)
    return steps
