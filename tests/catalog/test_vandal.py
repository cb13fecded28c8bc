"""The vandal of the SQL backends does harm where nothing guards the store: what is refused is the harm."""

from __future__ import annotations

import inspect
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.testing import SqlVandal, UrlOpener, Vandal
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    KEYS,
    OTHER_TABLE,
    PIPELINE,
    RUN,
    SUCCESS,
    T0,
    TABLE,
    TTL,
    claimed,
    committed,
    edge,
    planned,
    sidecar,
    snapshot_of,
    step,
)
from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Rate
from hakiri.core.ids import SnapshotId

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hakiri.catalog import Catalog

SCOPE = Scope("shop", "acme", "agent")


class Recorder:
    """A vandal who notes what each of his methods touched."""

    def __init__(self, run: Callable[..., int]) -> None:
        self.touched: dict[str, int] = {}
        self._name = ""
        self._vandal = SqlVandal(lambda statement, **values: self._note(run(statement, **values)))

    def do(self, name: str, *args: object) -> None:
        self._name = name
        getattr(self._vandal, name)(*args)

    def _note(self, rows: int) -> None:
        self.touched[self._name] = rows


def do_all_harm(catalog: Catalog, vandal: Recorder) -> None:
    """Every method once, what removes something after what only changes it."""
    planned(catalog, 2, kind=CursorKind.MONOTONIC)
    won, running = committed(catalog), claimed(catalog)
    lease = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
    vandal.do("steal_lease", lease, BEN)
    vandal.do("lower_fence", lease)
    vandal.do("delete_lease", PIPELINE)
    vandal.do("claim_twice", running, BEN)
    vandal.do("claim_early", running, BEN)
    vandal.do("change_winner", won, BEN)
    vandal.do("turn_version_back", TABLE)
    vandal.do("undo_chunk", won)
    vandal.do("delete_chunk", won)

    catalog.runs.start(RUN, PIPELINE, ANNA, T0, ttl=TTL)
    catalog.runs.end(RUN, SUCCESS, T0)
    vandal.do("change_run", RUN)
    vandal.do("delete_run", RUN)
    vandal.do("turn_cursor_back", catalog.cursors.put(PIPELINE, TABLE, "1", run=RUN, now=T0))

    for version in range(3):
        catalog.schemas.record(step(version), PIPELINE, T0)
    vandal.do("rewrite_schema", TABLE, 2)
    vandal.do("turn_schema_back", TABLE, 2)
    vandal.do("skip_schema_version", TABLE, 3)
    vandal.do("delete_schema", TABLE, 1)

    catalog.lineage.add([edge(2, 1)])
    for name in ("change_edge", "replace_edge", "delete_edge"):
        vandal.do(name, edge(2, 1))

    entry = catalog.audit.note("auto", "tidy", T0)
    for name in ("change_entry", "skip_entry", "delete_entry"):
        vandal.do(name, entry)

    catalog.budgets.take("github", wanted=1, most=1, rate=Rate.parse("1/s"), now=T0)
    for name in ("turn_budget_back", "empty_budget", "delete_budget"):
        vandal.do(name, "github")

    catalog.snapshots.note_sidecar(sidecar(KEYS), T0)
    snapshot = snapshot_of(0, indexes=(KEYS,), table=OTHER_TABLE)
    catalog.snapshots.commit(snapshot, T0)
    vandal.do("insert_snapshot", snapshot_of(9, snapshot=SnapshotId("other"), indexes=(KEYS,)))
    for name in ("change_snapshot", "delete_sidecars", "delete_snapshot"):
        vandal.do(name, snapshot)

    catalog.revocations.bump(SCOPE, T0)
    catalog.revocations.bump(SCOPE, T0)
    vandal.do("lower_epoch", SCOPE)
    vandal.do("delete_epoch", SCOPE)


def every_method() -> dict[str, int]:
    """Each method of a vandal, with the one row it is to touch."""
    return {name: 1 for name, _ in inspect.getmembers(Vandal, inspect.isfunction) if name[0] != "_"}


@pytest.mark.spec("AD-004")
def test_on_sqlite_without_guards_every_attack_succeeds(tmp_path: Path) -> None:
    def run(statement: str, **values: object) -> int:
        with closing(sqlite3.connect(tmp_path / "meta.sqlite")) as connection, connection:
            return connection.execute(statement, values).rowcount

    with UrlOpener(url="sqlite:///meta.sqlite", project="shop", base=tmp_path).open() as catalog:
        with closing(sqlite3.connect(tmp_path / "meta.sqlite")) as connection:
            triggers = connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%RAISE(%'"
            ).fetchall()
        for (trigger,) in triggers:
            run(f"DROP TRIGGER {trigger}")
        vandal = Recorder(run)
        do_all_harm(catalog, vandal)

    assert vandal.touched == every_method()


@pytest.mark.spec("AD-004")
def test_on_postgres_with_guards_off_every_attack_succeeds(postgres_url: str, tmp_path: Path) -> None:
    def run(statement: str, **values: object) -> int:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("SET search_path = hakiri_shop; SET session_replication_role = replica")
            return connection.execute(re.sub(r":(\w+)", r"%(\1)s", statement), values).rowcount

    vandal = Recorder(run)
    with UrlOpener(url=postgres_url, project="shop", base=tmp_path).open() as catalog:
        do_all_harm(catalog, vandal)

    assert vandal.touched == every_method()
