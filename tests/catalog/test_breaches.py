"""What the check finds when somebody has gone round the guards of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import LiteralString, cast

import psycopg
import pytest

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.upkeep import Breach, Invariant
from hakiri.catalog.testing.samples import PIPELINE, T0, TABLE, committed, new_chunks, planned
from hakiri.core.ids import ChunkId

Alter = Callable[[str], None]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/meta.sqlite"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def catalog(url: str, tmp_path: Path) -> Iterator[Catalog]:
    """Chunks 1 and 2 are superseded by 4, and 3 is done; there are three entries in the audit log."""
    with open_catalog(url, project="shop", base=tmp_path, now=T0) as catalog:
        planned(catalog, 3)
        for _ in range(3):
            committed(catalog)
        catalog.chunks.supersede(
            PIPELINE, [ChunkId(1), ChunkId(2)], "join", T0, into=new_chunks(1), by="auto"
        )
        catalog.audit.note("auto", "tidy", T0)
        catalog.audit.note("auto", "tidy", T0)
        yield catalog


@pytest.fixture
def alter(url: str, tmp_path: Path) -> Alter:
    """Does with guards off what nobody should."""

    def on_sqlite(statement: str) -> None:
        with closing(sqlite3.connect(tmp_path / "meta.sqlite")) as file, file:
            guards = file.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%RAISE(%'").fetchall()
            for (guard,) in guards:
                file.execute(f"DROP TRIGGER {guard}")
            file.execute(statement)

    def on_postgres(statement: str) -> None:
        with psycopg.connect(url, options="-c search_path=hakiri_shop") as server:
            server.execute("SET session_replication_role = replica")
            server.execute(cast(LiteralString, statement))

    return on_sqlite if url.startswith("sqlite") else on_postgres


ALTERED = {
    "a version that is too high": (
        "UPDATE table_state SET landed = landed + 1",
        Breach(
            invariant=Invariant.CHUNKS_ONCE,
            where=f"table `{TABLE}`",
            found="the version of what landed in it is not 5",
        ),
    ),
    "a version that is missing": (
        "DELETE FROM table_state",
        Breach(
            invariant=Invariant.CHUNKS_ONCE,
            where=f"table `{TABLE}`",
            found="the version of what landed in it is not 5",
        ),
    ),
    "a successor that knows another": (
        "UPDATE pipeline_chunks SET supersedes = 2 WHERE chunk_id = 4",
        *(
            Breach(
                invariant=Invariant.CHUNKS_ONCE,
                where=f"chunk {chunk} of `{PIPELINE}`",
                found="it is superseded by a chunk that does not know of it",
            )
            for chunk in (1, 2)
        ),
    ),
    "an entry of the audit log that is gone": (
        "DELETE FROM audit WHERE number = 2",
        Breach(
            invariant=Invariant.APPEND_ONLY_LINEAGE,
            where="the audit log",
            found="it has 2 entries, numbered up to 3, and 3 were written",
        ),
    ),
    "the last entry of the audit log that is gone": (
        "DELETE FROM audit WHERE number = 3",
        Breach(
            invariant=Invariant.APPEND_ONLY_LINEAGE,
            where="the audit log",
            found="it has 2 entries, numbered up to 2, and 3 were written",
        ),
    ),
}


@pytest.mark.parametrize("altered", ALTERED.values(), ids=ALTERED)
def test_what_was_altered_behind_the_guards_is_found(
    catalog: Catalog, alter: Alter, altered: tuple[str, *tuple[Breach, ...]]
) -> None:
    assert catalog.check() == ()
    statement, *breaches = altered

    alter(statement)

    found = [breach for breach in catalog.check() if not breach.where.startswith("trigger ")]
    assert found == breaches


def test_guards_that_are_missing_are_told_with_what_they_watch(tmp_path: Path) -> None:
    path = tmp_path / "meta.sqlite"
    with open_catalog(f"sqlite:///{path}", project="shop", base=tmp_path, now=T0) as catalog:
        with closing(sqlite3.connect(path)) as file, file:
            for guard in ("audit_kept", "budget_forward", "pipeline_chunks_landed"):
                file.execute(f"DROP TRIGGER {guard}")

        found = [(breach.invariant, breach.where) for breach in catalog.check()]

    assert found == [
        (Invariant.APPEND_ONLY_LINEAGE, "trigger `audit_kept`"),
        (Invariant.LINEARIZABLE_PIPELINES, "trigger `budget_forward`"),
        (Invariant.CHUNKS_ONCE, "trigger `pipeline_chunks_landed`"),
    ]
