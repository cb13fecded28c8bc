"""`hakiri context rebuild-catalog`: what it says first, what it leaves alone, and what it refuses."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pyarrow as pa
import pytest
from tests.cli.conftest import Run
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS, PIPELINE, T0, Workshop, open_workshop

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.core.ids import ChunkId, NodeId
from hakiri.store.nodes import known_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
WIDE = SCHEMA.append(pa.field("age", pa.int8()))
SQL = "SELECT * FROM orders ORDER BY ALL"


@pytest.fixture
def root(run: Run, tmp_path: Path) -> Path:
    assert run("init", "--name", "shop", "--quiet").code == 0
    return tmp_path / ".hakiri" / "context" / "shop"


@pytest.fixture
def store(root: Path) -> Path:
    """A table with a snapshot, chunks behind it, a second version, and a chunk that was read again."""
    with open_workshop(root) as workshop:
        fill(workshop)
    return root


def fill(workshop: Workshop) -> None:
    bench = Bench(workshop)
    for number in range(3):
        bench.land([{"id": number, "name": "a"}], SCHEMA)
    workshop.catalog.chunks.supersede(PIPELINE, [ChunkId(2)], "RT-481", T0, by="operator:anna")
    workshop.work([{"id": 1, "name": "b"}], SCHEMA)
    bench.compacted()
    bench.land([{"id": 7, "name": "c", "age": 9}], WIDE)
    workshop.catalog.chunks.plan(PIPELINE, "next", [NewChunk(table=ORDERS, predicate="{}")], T0)


def files_of(root: Path) -> dict[str, bytes]:
    """All files but those that only guard others."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith(("-lock", "-shm"))
    }


def rows(run: Run) -> Any:
    outcome = run("query", SQL, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.data["rows"]


@pytest.mark.spec("HC-027")
def test_what_no_file_tells_is_listed_and_a_rehearsal_changes_nothing(run: Run, store: Path) -> None:
    before = files_of(store)

    outcome = run("context", "rebuild-catalog", "--dry-run")

    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(
        "orders: 5 chunks, 1 snapshot, schema version 2\npipeline shop: 5 runs, 5 chunks, backfilling\n"
    )
    assert "  - leases, rate budgets, trace ids and the audit log\n" in outcome.out
    assert "  - pipeline `shop`: 1 pending chunk\n" in outcome.out
    assert "  - the audit log: 1 entries\n" in outcome.out
    assert files_of(store) == before


@pytest.mark.spec("HC-027")
def test_the_catalog_is_deleted_and_made_anew_and_all_queries_answer_as_before(run: Run, store: Path) -> None:
    before, views = rows(run), (store / "views" / "orders.sql").read_text()
    for file in store.glob("meta.sqlite*"):
        file.unlink()

    outcome = run("context", "rebuild-catalog", "--yes", "--json")

    assert outcome.code == 0, outcome.err
    schema = json.loads((DOCS / "schemas" / "context-rebuild-catalog.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    assert outcome.data["kept"] is None
    assert rows(run) == before
    assert (store / "views" / "orders.sql").read_text() == views
    assert run("catalog", "check").code == 0
    with open_workshop(store) as workshop:
        bench = Bench(workshop, _runs=1)
        assert workshop.chunks()[1].superseded_by == 4
        assert workshop.catalog.lineage.parents(workshop.chunks()[3].run)[0].reason == "RT-481"  # type: ignore[arg-type]
        assert bench.compacted().files
        workshop.publish()
    assert rows(run) == before


def test_the_catalog_that_was_there_is_kept_with_all_that_it_had(run: Run, store: Path) -> None:
    outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 0, outcome.err
    (kept,) = store.glob("meta.sqlite.before-*")
    assert outcome.out.endswith(f"the catalog is made anew; the one before is `{kept}`\n")
    with closing(sqlite3.connect(kept)) as old:
        assert old.execute("SELECT count(*) FROM pipeline_chunks").fetchone() == (6,)
    assert sorted(path.name for path in store.glob("meta.sqlite*") if "-lock" not in path.name) == [
        "meta.sqlite",
        kept.name,
    ]


@pytest.mark.parametrize("damage", [b"", b"not a database at all, but long enough to be one" * 100])
def test_a_damaged_catalog_is_no_hindrance_and_its_journal_does_not_get_into_the_new_one(
    run: Run, store: Path, damage: bytes
) -> None:
    before = rows(run)
    (store / "meta.sqlite").write_bytes(damage)
    (store / "meta.sqlite-wal").write_bytes(b"what is left of a journal")

    outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 0, outcome.err
    assert rows(run) == before
    assert run("catalog", "check").code == 0
    (kept,) = store.glob("meta.sqlite.before-*Z")
    assert kept.read_bytes() == damage


def test_without_anybody_to_ask_nothing_is_done(run: Run, store: Path) -> None:
    before = files_of(store)

    outcome = run("context", "rebuild-catalog")

    assert outcome.code == 2
    assert outcome.err == (
        "error[usage]: this puts a new catalog in the place of the one there is, and there is nobody to ask\n"
        "hint: add `--yes` if it is meant\n"
    )
    assert files_of(store) == before


def test_a_manifest_that_was_changed_is_named_and_nothing_is_done(run: Run, store: Path) -> None:
    manifest = min(store.rglob("chunk-1/attempt-1/_manifest.json"))
    manifest.write_text(manifest.read_text().replace('"seq":', '"sec":'))
    before = files_of(store)

    outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 1
    place = manifest.relative_to(store)
    assert outcome.err.startswith(
        "error[store.tree_broken]: no catalog can be made of the store: "
        f"`{place}` cannot be read: it has no 'seq'\n"
    )
    assert "move what is wrong out of the store" in outcome.err
    assert files_of(store) == before


def test_a_version_that_nothing_tells_any_more_is_named(run: Run, store: Path) -> None:
    with open_workshop(store) as workshop:
        workshop.evolve(SCHEMA.append(pa.field("more", pa.string())))
        workshop.evolve(SCHEMA)
        workshop.publish()
    history = store / "tables" / "orders" / "schema-history.jsonl"
    lines = history.read_text().splitlines(keepends=True)
    history.write_text("".join([*lines[:2], *lines[3:]]))

    outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 1
    assert "`tables/orders/schema-history.jsonl` lacks version 3" in outcome.err


def test_a_version_that_an_attempt_tells_need_not_be_in_the_history(run: Run, store: Path) -> None:
    before = rows(run)
    history = store / "tables" / "orders" / "schema-history.jsonl"
    history.write_text(history.read_text().splitlines(keepends=True)[0])

    assert run("context", "rebuild-catalog", "--yes").code == 0

    assert rows(run) == before
    assert len(history.read_text().splitlines()) == 2


def test_a_file_with_rows_that_is_gone_is_named(run: Run, store: Path) -> None:
    part = min(store.rglob("chunk-5/attempt-1/part-*.parquet"))
    part.unlink()

    outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 1
    assert f"`{part.relative_to(store)}` is missing" in outcome.err


def test_a_store_without_tables_has_nothing_to_make_a_catalog_of(run: Run, root: Path) -> None:
    outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 1
    assert outcome.err.startswith(
        f"error[store.nothing_to_rebuild]: there is nothing to make a catalog of: `{root}` has no tables\n"
    )
    assert not root.exists()


def test_while_somebody_works_on_the_store_it_is_refused(run: Run, store: Path) -> None:
    with known_node(store / "nodes", NodeId("ben-1")):
        outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 1
    assert "is in use: `ben-1` works on this store\nhint: stop `hakiri serve`" in outcome.err


def test_while_somebody_reads_the_catalog_it_is_refused_and_stays(run: Run, store: Path) -> None:
    with closing(sqlite3.connect(store / "meta.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pipeline_chunks").fetchone()
        with closing(sqlite3.connect(store / "meta.sqlite")) as writer, writer:
            writer.execute("UPDATE pipeline_state SET updated_at = '2026-05-12T08:00:00.000000Z'")
        outcome = run("context", "rebuild-catalog", "--yes")

    assert outcome.code == 1
    assert "another program reads or writes it" in outcome.err
    with open_workshop(store) as workshop:
        assert workshop.catalog.chunks.tally(PIPELINE).pending == 1


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    database = postgres_server.create_database()
    yield postgres_server.url(database)
    postgres_server.drop_database(database)


def test_a_catalog_on_postgres_is_filled_while_it_is_empty_and_never_over_another(
    run: Run, store: Path, postgres_url: str
) -> None:
    before = rows(run)
    there = ("--set", f"catalog.url={postgres_url}")

    first = run("context", "rebuild-catalog", "--yes", *there)
    second = run("context", "rebuild-catalog", "--yes", *there)

    assert first.code == 0, first.err
    answer = run("query", SQL, "--json", *there)
    assert answer.data["rows"] == before
    assert run("catalog", "check", *there).code == 0
    assert second.code == 2
    assert "has pipelines already\nhint: rename its schema" in second.err
