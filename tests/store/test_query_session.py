"""A person's connection to a store: what it shows, what it refuses, and what it knows of the tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.store.workshop import T0, Workshop, open_workshop

from hakiri.catalog.contract.snapshots import Snapshot
from hakiri.core.ids import NodeId, RunId, SnapshotId, TableName
from hakiri.store.query.connecting import StoreState, connect
from hakiri.store.query.errors import DamagedFile, QueryFailed, SqlRefused, StoreIsReadOnly
from hakiri.store.query.moving import newest_state
from hakiri.store.query.session import Session
from hakiri.store.query.system_tables import counted, make_system_tables, table_facts
from hakiri.store.query.values import Form
from hakiri.store.schemas import fingerprint
from hakiri.store.snapshots import SnapshotFile, SnapshotManifest
from hakiri.store.writing import BadRows

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
EVENTS = TableName("events")


def rows_of(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"row {number}"} for number in numbers]


@contextmanager
def session_of(workshop: Workshop, state: StoreState | None = None) -> Iterator[Session]:
    @contextmanager
    def catalog() -> Iterator[Any]:
        yield workshop.catalog

    def make_tables(connection: Any) -> None:
        make_system_tables(connection, workshop.layout, catalog, T0 + timedelta(hours=1))

    shown = state or StoreState(layout=workshop.layout)
    with Session(workshop.layout, lambda: shown, make_tables) as session:
        yield session


def answer(session: Session, sql: str) -> list[tuple[Any, ...]]:
    """The rows of the last statement, after all others."""
    session.prepare(sql)
    *before, last = session.split(sql)
    for statement in before:
        session.run(statement)
    return session.ask(last, Form.EYES).fetch(1000)


# What it shows ----------------------------------------------------------------------------------------------


@pytest.mark.spec("HC-022")
def test_every_view_of_the_store_is_there(workshop: Workshop) -> None:
    workshop.land(rows_of(1, 2), SCHEMA, "id")
    workshop.land(rows_of(7), SCHEMA, table=EVENTS)
    workshop.publish(TableName("orders"), EVENTS)

    with session_of(workshop) as session:
        assert session.tables() == ("events", "orders")
        assert answer(session, "SELECT count(*) FROM orders, events") == [(2,)]
        assert session.describe("orders") == [("id", "BIGINT"), ("name", "VARCHAR")]


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(b"no database")])
def test_the_texts_of_the_views_serve_where_their_file_does_not(
    workshop: Workshop, spoil: Callable[[Any], object]
) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    spoil(workshop.layout.duck_db)

    with session_of(workshop) as session:
        assert answer(session, "FROM orders") == [(1, "row 1")]
        assert session.tables() == ("orders",)


def test_a_text_that_cannot_be_run_keeps_nobody_from_the_other_tables(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.land(rows_of(7), SCHEMA, table=EVENTS)
    workshop.publish(TableName("orders"), EVENTS)
    workshop.layout.duck_db.unlink()
    next(workshop.layout.table_folder("events").rglob("part-*.parquet")).unlink()
    (workshop.layout.views / "zzz.sql").write_bytes(b"this is \xff no SQL")
    (workshop.layout.views / "folder.sql").mkdir()

    with session_of(workshop) as session:
        assert session.tables() == ("orders",)
        assert answer(session, "FROM orders") == [(1, "row 1")]
        with pytest.raises(DamagedFile, match="it is not there"):
            answer(session, "FROM events")


def test_a_text_of_somebody_else_is_not_run(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    workshop.layout.duck_db.unlink()
    (workshop.layout.views / "mine.sql").write_text("CREATE VIEW mine AS SELECT 1")

    with session_of(workshop) as session:
        assert session.tables() == ("orders",)


def test_views_of_another_moment_come_as_texts(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    earlier = {"orders": workshop.layout.view_file("orders").read_text("utf-8")}
    workshop.land(rows_of(2), SCHEMA, "id")
    workshop.publish()

    with session_of(workshop, StoreState(layout=workshop.layout, texts=earlier, at=T0)) as session:
        assert answer(session, "FROM orders") == [(1, "row 1")]
        assert not session.refresh()


def test_newer_views_are_shown_when_they_are_asked_for(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    with session_of(workshop) as session:
        answer(session, "CREATE TEMP TABLE mine AS FROM orders; SELECT 1")
        assert not session.refresh()
        workshop.land(rows_of(2), SCHEMA, "id")
        workshop.publish()

        before = answer(session, "SELECT count(*) FROM orders")
        is_newer = session.refresh()

        assert (before, is_newer) == ([(1,)], True)
        assert answer(session, "SELECT count(*) FROM orders") == [(2,)]
        assert answer(session, "FROM mine") == [(1, "row 1")]
        assert not session.refresh()


def test_newer_views_of_a_store_that_was_moved_are_shown_too(workshop: Workshop, tmp_path: Path) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    workshop.catalog.close()
    shutil.move(workshop.layout.root, tmp_path / "elsewhere")

    @contextmanager
    def catalog() -> Iterator[Any]:
        yield moved.catalog

    with open_workshop(tmp_path / "elsewhere") as moved:
        moved.plans = iter(range(100, 200))
        with Session(moved.layout, lambda: newest_state(moved.layout, catalog), lambda _: None) as session:
            before = answer(session, "SELECT count(*) FROM orders")
            moved.land(rows_of(2), SCHEMA, "id")
            moved.publish()

            assert (before, session.refresh()) == ([(1,)], True)
            assert answer(session, "SELECT count(*) FROM orders") == [(2,)]
            assert not session.refresh()


def test_a_store_that_gets_its_first_table_shows_it(workshop: Workshop) -> None:
    with session_of(workshop) as session:
        assert session.tables() == ()
        workshop.land(rows_of(1), SCHEMA, "id")
        workshop.publish()

        assert session.refresh()
        assert answer(session, "FROM orders") == [(1, "row 1")]


def test_a_transaction_sees_one_state_until_it_ends(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    with session_of(workshop) as session:
        answer(session, "BEGIN; SELECT count(*) FROM orders")
        workshop.land(rows_of(2), SCHEMA, "id")
        workshop.publish()

        assert not session.refresh()
        assert answer(session, "SELECT count(*) FROM orders") == [(1,)]
        session.run(session.split("COMMIT")[0])
        assert session.refresh()
        assert answer(session, "SELECT count(*) FROM orders") == [(2,)]


def test_the_place_that_somebody_went_to_is_kept(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    with session_of(workshop) as session:
        answer(session, "USE memory; SELECT 1")
        workshop.land(rows_of(2), SCHEMA, "id")
        workshop.publish()

        assert session.refresh()
        assert answer(session, "SELECT current_database()") == [("memory",)]
        assert answer(session, "SELECT count(*) FROM store.orders") == [(2,)]


def test_a_connection_of_a_program_shows_the_same(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()

    with connect(workshop.layout) as connection:
        assert connection.execute("FROM orders").fetchall() == [(1, "row 1")]


# Statements -------------------------------------------------------------------------------------------------


def test_the_kinds_of_statements_are_told_apart(workshop: Workshop) -> None:
    text = (
        "SELECT 1; FROM range(2); PIVOT range(3) ON range; CREATE TEMP TABLE t(i INT); SET threads = 1;"
        "INSERT INTO t VALUES (1); INSERT INTO t VALUES (1) RETURNING i; COPY t TO 'x.csv'; DESCRIBE t;"
        "PRAGMA version"
    )
    with session_of(workshop) as session:
        found = session.split(text)

    assert [(each.has_rows, each.is_query) for each in found] == [
        (True, True),
        (True, True),
        (True, True),
        (False, False),
        (False, False),
        (False, False),
        (True, False),
        (False, False),
        (True, True),
        (True, False),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DATE '2026-01-01' AS d; -- done; really",
        "SELECT DATE '2026-01-01' AS d /* ; */ ; /* done */ ;",
        "SELECT DATE '2026-01-01' AS d WHERE ';' <> $$;'$$ AND E'\\';' <> \"d\"::VARCHAR;",
        "-- first\nSELECT DATE '2026-01-01' AS d -- ;",
    ],
)
def test_comments_and_semicolons_are_no_part_of_a_statement(workshop: Workshop, sql: str) -> None:
    with session_of(workshop) as session:
        assert answer(session, sql) == [("2026-01-01",)]


def test_a_pivot_is_answered_like_any_query(workshop: Workshop) -> None:
    with session_of(workshop) as session:
        rows = answer(session, "PIVOT (FROM range(2) t(n)) ON n USING max(DATE '2026-01-01' + n::INT)")

    assert rows == [("2026-01-01", "2026-01-02")]


@pytest.mark.parametrize(
    ("sql", "error", "line"),
    [
        ("SELECT 1;\n-- two\nSELECT\n  nosuch;", SqlRefused, "LINE 4:   nosuch\n          ^^^^^^"),
        ("SELECT 1; SELECT nosuch", SqlRefused, "LINE 1: SELECT nosuch\n               ^^^^^^"),
        (
            "SELECT 1;\nSELECT DATE '2026-01-01',\n  CAST(name AS INT) FROM orders",
            QueryFailed,
            "LINE 3:   CAST(name AS INT) FROM orders\n          ^",
        ),
        ("\n\nCREATE TABLE\n mine AS SELECT nosuch", SqlRefused, "LINE 4:  mine AS SELECT nosuch\n"),
    ],
)
def test_the_place_of_an_error_is_that_in_the_whole_text(
    workshop: Workshop, sql: str, error: type[Exception], line: str
) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()

    with session_of(workshop) as session, pytest.raises(error) as refused:
        answer(session, sql)

    assert line in str(refused.value)


def test_what_is_temporary_can_be_made_and_what_lasts_cannot(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    with session_of(workshop) as session:
        assert answer(
            session,
            "CREATE TEMP MACRO twice(x) AS 2 * x; CREATE TEMP VIEW v AS FROM orders; SELECT twice(id) FROM v",
        ) == [(2,)]
        for sql in ("CREATE MACRO thrice(x) AS 3 * x; SELECT 1", "CREATE TABLE t(i INT); SELECT 1"):
            with pytest.raises(StoreIsReadOnly):
                answer(session, sql)


def test_rows_that_nobody_reads_are_counted_up_to_a_limit(workshop: Workshop) -> None:
    with session_of(workshop) as session:
        (statement,) = session.split("FROM range(10000)")

        assert session.ask(statement, Form.EYES).count_rest(20_000) == (10_000, True)
        assert session.ask(statement, Form.EYES).count_rest(10_000) == (10_000, True)
        assert session.ask(statement, Form.EYES).count_rest(9_999) == (9_999, False)


# The system tables ------------------------------------------------------------------------------------------


def test_rows_without_a_key_are_known_without_counting(workshop: Workshop) -> None:
    workshop.land(rows_of(1, 2), SCHEMA)
    workshop.land(rows_of(2), SCHEMA)
    workshop.publish()

    (facts,) = table_facts(workshop.layout, workshop.catalog, T0)

    assert (facts.rows, facts.row_versions, facts.chunks, facts.files) == (3, 3, 2, 2)


def test_rows_that_were_read_again_count_once(workshop: Workshop) -> None:
    first = workshop.land(rows_of(1, 2), SCHEMA)
    workshop.catalog.chunks.supersede(workshop.chunks()[0].pipeline, [first], "again", T0)
    workshop.work(rows_of(1, 2, 3), SCHEMA)
    workshop.publish()

    (facts,) = table_facts(workshop.layout, workshop.catalog, T0)

    assert (facts.rows, facts.chunks) == (3, 1)
    with session_of(workshop) as session:
        assert answer(session, "SELECT count(*) FROM orders") == [(facts.rows,)]


def test_rows_of_a_key_are_counted_where_that_is_cheap_and_unknown_elsewhere(workshop: Workshop) -> None:
    workshop.land(rows_of(1, 2, 3), SCHEMA, "id")
    workshop.land([{"id": 1, "_op": "delete"}, {"id": 4, "name": "new"}], SCHEMA, "id")
    workshop.publish()
    (facts,) = table_facts(workshop.layout, workshop.catalog, T0)
    assert (facts.rows, facts.row_versions) == (None, 5)

    with session_of(workshop) as session:
        assert counted(session.connection, [facts], most=5) == [replace(facts, rows=3)]
        assert counted(session.connection, [facts], most=4) == [facts]
        assert answer(session, "SELECT rows FROM hakiri.tables") == [(3,)]


def test_a_table_that_cannot_be_read_has_no_number_of_rows(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    next(workshop.layout.root.rglob("part-*.parquet")).unlink()

    with session_of(workshop) as session:
        assert answer(session, "SELECT table_name, rows FROM hakiri.tables") == [("orders", None)]


def folded(workshop: Workshop, *key: str, rows: int, at: datetime = T0) -> None:
    """Commit a snapshot that has all of what landed so far in one file of so many rows."""
    landed = [chunk.seq for chunk in workshop.chunks() if chunk.seq is not None]
    manifest = SnapshotManifest(
        snapshot=SnapshotId("2026-05-11T09-00-00Z"),
        table=TableName("orders"),
        run=RunId("run-9"),
        node=NodeId("node-anna"),
        created_at=T0,
        base=None,
        schema_version=1,
        schema_fingerprint=fingerprint(SCHEMA),
        primary_key=key,
        cluster_by=key,
        partition_by=None,
        frontier=max(landed) + 1,
        held=((min(landed), max(landed)),),
        left_out=(),
        rows_read=rows,
        files=(SnapshotFile(path="x.parquet", rows=rows, bytes=1000, sha256="0" * 64, schema_version=1),),
    )
    snapshot = Snapshot(
        snapshot=manifest.snapshot,
        table=manifest.table,
        created_at=T0,
        includes_runs=(),
        indexes=(),
        rows=rows,
        based_on=workshop.catalog.snapshots.revision(manifest.table),
        manifest=manifest.text(),
    )
    workshop.catalog.snapshots.commit(snapshot, at)


def test_what_a_snapshot_has_is_known_without_counting(workshop: Workshop) -> None:
    workshop.land(rows_of(1, 2), SCHEMA, "id")
    workshop.land(rows_of(2, 3), SCHEMA, "id")
    workshop.publish()
    folded(workshop, "id", rows=3)

    (whole,) = table_facts(workshop.layout, workshop.catalog, T0)
    workshop.land(rows_of(3, 4), SCHEMA, "id")
    (mixed,) = table_facts(workshop.layout, workshop.catalog, T0)

    assert (whole.rows, whole.row_versions, whole.bytes, whole.files) == (3, 3, 1000, 1)
    assert (whole.runs, whole.chunks, whole.snapshots, whole.last_row_at) == (0, 0, 1, T0)
    assert (mixed.rows, mixed.row_versions, mixed.files, mixed.chunks) == (None, 5, 2, 1)


def test_rows_of_a_snapshot_that_were_read_again_count_once(workshop: Workshop) -> None:
    first = workshop.land(rows_of(1, 2), SCHEMA)
    workshop.land(rows_of(3), SCHEMA)
    workshop.publish()
    folded(workshop, rows=3)
    workshop.catalog.chunks.supersede(workshop.chunks()[0].pipeline, [first], "again", T0)
    workshop.work(rows_of(1), SCHEMA)

    (facts,) = table_facts(workshop.layout, workshop.catalog, T0)

    assert (facts.rows, facts.row_versions) == (2, 4)


def test_quarantined_rows_are_counted(workshop: Workshop) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    workshop.land(
        [{"id": 1, "name": "a"}, {"id": None, "name": "b"}], schema, "id", bad_rows=BadRows.QUARANTINE
    )
    workshop.publish()

    (facts,) = table_facts(workshop.layout, workshop.catalog, T0)

    assert (facts.row_versions, facts.quarantined) == (1, 1)


def test_a_table_without_rows_has_none(workshop: Workshop) -> None:
    workshop.land([], SCHEMA, "id")
    workshop.publish()

    (facts,) = table_facts(workshop.layout, workshop.catalog, T0)

    assert (facts.rows, facts.bytes, facts.last_row_at, facts.freshness) == (0, 0, None, None)


def test_the_list_is_that_of_the_moment_also_within_a_transaction(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA)
    workshop.publish()
    with session_of(workshop) as session:
        assert answer(session, "BEGIN; CREATE TEMP TABLE t AS SELECT 1; FROM t") == [(1,)]
        assert answer(session, "SELECT rows FROM hakiri.tables") == [(1,)]
        session.run(session.split("COMMIT")[0])
        workshop.land(rows_of(2), SCHEMA)

        assert answer(session, "SELECT rows, freshness FROM hakiri.tables") == [(2, "01:00:00")]
