"""Looking for broken promises in everything that is stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from hakiri.catalog.contract.upkeep import Breach, Invariant
from hakiri.catalog.sql.database import Database, Transaction

_TRIGGER = re.compile(r"^CREATE TRIGGER (\w+)", re.MULTILINE)
_DROPPED = re.compile(r"^DROP TRIGGER (\w+)", re.MULTILINE)

_LOOKS: tuple[tuple[str, Invariant | None, tuple[str, ...]], ...] = (
    ("the database itself", None, ("check_damage",)),
    (
        "pipelines, runs and cursors",
        Invariant.LINEARIZABLE_PIPELINES,
        ("check_counts", "check_unknown_pipelines", "check_cursors", "check_runs"),
    ),
    (
        "schema history",
        Invariant.MONOTONIC_SCHEMAS,
        ("check_schema_versions", "check_current_schemas", "check_schema_steps"),
    ),
    (
        "chunks",
        Invariant.CHUNKS_ONCE,
        ("check_claims", "check_claim_numbers", "check_superseded", "check_landed"),
    ),
    ("the audit log", Invariant.APPEND_ONLY_LINEAGE, ("check_audit",)),
    ("snapshots", Invariant.ATOMIC_SNAPSHOTS, ("check_sidecars", "check_revisions")),
    ("revocation epochs", Invariant.BOUNDED_REVOCATION, ("check_epochs",)),
)
# What a trigger watches over, by the beginning of its name.
_WATCHED: tuple[tuple[str, Invariant], ...] = (
    ("lineage", Invariant.APPEND_ONLY_LINEAGE),
    ("audit", Invariant.APPEND_ONLY_LINEAGE),
    ("schema_history", Invariant.MONOTONIC_SCHEMAS),
    ("table_schema", Invariant.MONOTONIC_SCHEMAS),
    ("pipeline_chunks", Invariant.CHUNKS_ONCE),
    ("revocation_epochs", Invariant.BOUNDED_REVOCATION),
    ("snapshot", Invariant.ATOMIC_SNAPSHOTS),
    ("sidecar", Invariant.ATOMIC_SNAPSHOTS),
)


def guards_of(scripts: Iterable[str]) -> frozenset[str]:
    """The triggers that stand after all the scripts have run."""
    standing: set[str] = set()
    for script in scripts:
        standing = (standing - set(_DROPPED.findall(script))) | set(_TRIGGER.findall(script))
    return frozenset(standing)


def find_breaches(
    database: Database, guards: frozenset[str], progress: Callable[[str], None]
) -> tuple[Breach, ...]:
    """Every broken promise, as of one moment. Calls `progress` with the name of each kind before the look."""

    def work(tx: Transaction) -> tuple[Breach, ...]:
        claims = (tx.one("claims") or {"claims": 0})["claims"]
        breaches: list[Breach] = []
        for what, invariant, statements in _LOOKS:
            progress(what)
            for statement in statements:
                breaches += [
                    Breach(invariant=invariant, where=row["place"], found=row["found"])
                    for row in tx.all(statement, claims=claims)
                ]
        progress("the guards of the store")
        standing = {row["guard"] for row in tx.all("guards")}
        return (*breaches, *(_unguarded(guard) for guard in sorted(guards - standing)))

    return database.read(work)


def _unguarded(guard: str) -> Breach:
    watched = next((invariant for prefix, invariant in _WATCHED if guard.startswith(prefix)), None)
    return Breach(
        invariant=watched or Invariant.LINEARIZABLE_PIPELINES,
        where=f"trigger `{guard}`",
        found="it is missing or switched off, so the store refuses nothing there",
    )
