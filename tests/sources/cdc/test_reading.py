"""Tables read by the log of a real server: the snapshot, then every change, from one cursor to the next."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from tests.sources.cdc.helpers import Replica, begun, connector_to, make_pages, slots_of, table_now

from hakiri.core.cursors import CursorKind
from hakiri.sources.cdc.positions import parse_lsn
from hakiri.sources.contract import Hint, Read

Sql = psycopg.Connection[tuple[Any, ...]]
ORDERS = "CREATE TABLE orders (id bigint PRIMARY KEY, item text NOT NULL, price numeric(10, 2))"


@pytest.fixture
def orders(sql: Sql) -> None:
    sql.execute(ORDERS)
    sql.execute("INSERT INTO orders VALUES (1, 'pen', 1.50), (2, 'ink', NULL), (3, '', 0)")


@pytest.mark.spec("HP-024")
def test_tables_are_discovered_with_their_columns_keys_and_the_kind_of_change(
    url: str, sql: Sql, orders: None
) -> None:
    sql.execute("COMMENT ON TABLE orders IS 'what was bought'")
    sql.execute("CREATE TABLE lines (n int, word text)")
    sql.execute("CREATE UNLOGGED TABLE scratch (id int PRIMARY KEY)")
    sql.execute("CREATE VIEW seen AS SELECT * FROM orders")

    lines, orders_table = connector_to(url).discover()

    assert (lines.name, lines.primary_key) == ("lines", ())
    assert (orders_table.name, orders_table.primary_key) == ("orders", ("id",))
    assert orders_table.description == "what was bought"
    assert orders_table.schema == pa.schema(
        [
            ("id", pa.int64()),
            ("item", pa.string()),
            ("price", pa.decimal128(10, 2)),
            ("_op", pa.string()),
        ]
    )


@pytest.mark.spec("HP-111")
def test_the_hint_says_that_a_table_is_walked_in_order(url: str) -> None:
    assert connector_to(url).backfill_hint("orders") == Hint(cursor_kind=CursorKind.SNAPSHOT_ID)


@pytest.mark.spec("HP-109")
@pytest.mark.spec("HP-025")
def test_a_table_begins_with_a_snapshot(url: str, orders: None) -> None:
    replica = Replica("orders")

    came = replica.read(connector_to(url))

    assert came == [
        {"id": 1, "item": "pen", "price": Decimal("1.50"), "_op": "upsert"},
        {"id": 2, "item": "ink", "price": None, "_op": "upsert"},
        {"id": 3, "item": "", "price": Decimal("0.00"), "_op": "upsert"},
    ]


@pytest.mark.spec("HP-109")
@pytest.mark.spec("HP-027")
def test_changes_come_in_the_order_of_the_log_deletes_included(url: str, sql: Sql, orders: None) -> None:
    replica = begun(connector_to(url), "orders")
    sql.execute("UPDATE orders SET price = 2 WHERE id = 2")
    sql.execute("INSERT INTO orders VALUES (4, 'nib', NULL)")
    sql.execute("DELETE FROM orders WHERE id = 1")
    sql.execute("UPDATE orders SET id = 30 WHERE id = 3")

    came = replica.read(connector_to(url))

    assert came == [
        {"id": 2, "item": "ink", "price": Decimal("2.00"), "_op": "upsert"},
        {"id": 4, "item": "nib", "price": None, "_op": "upsert"},
        {"id": 1, "item": None, "price": None, "_op": "delete"},
        {"id": 3, "item": None, "price": None, "_op": "delete"},
        {"id": 30, "item": "", "price": Decimal("0.00"), "_op": "upsert"},
    ]
    assert replica.rows == table_now(url, "orders")


def test_what_was_rolled_back_never_comes(url: str, sql: Sql, orders: None) -> None:
    replica = begun(connector_to(url), "orders")
    sql.execute("BEGIN")
    sql.execute("DELETE FROM orders")
    sql.execute("ROLLBACK")
    sql.execute("BEGIN")
    sql.execute("UPDATE orders SET item = 'kept' WHERE id = 1")
    sql.execute("SAVEPOINT here")
    sql.execute("UPDATE orders SET item = 'lost' WHERE id = 1")
    sql.execute("ROLLBACK TO here")
    sql.execute("COMMIT")

    assert [row["item"] for row in replica.read(connector_to(url))] == ["kept"]


def test_a_transaction_comes_when_it_is_committed_and_not_when_it_began(
    url: str, sql: Sql, orders: None
) -> None:
    replica = begun(connector_to(url), "orders")
    with psycopg.connect(url) as other:
        other.execute("DELETE FROM orders WHERE id = 1")
        sql.execute("INSERT INTO orders VALUES (8, 'before', NULL)")
        early = [row["id"] for row in replica.read(connector_to(url))]
        other.commit()

    late = [row["id"] for row in replica.read(connector_to(url))]

    assert (early, late) == ([8], [1])
    assert replica.rows == table_now(url, "orders")


@pytest.mark.spec("HP-026")
def test_a_quiet_table_moves_its_cursor_so_that_the_log_can_be_let_go(
    url: str, sql: Sql, orders: None
) -> None:
    replica = begun(connector_to(url), "orders")
    assert replica.cursor is not None
    before = parse_lsn(replica.cursor["lsn"])
    sql.execute("CREATE TABLE noise AS SELECT n, repeat('x', 500) FROM generate_series(1, 2000) n")

    batches = list(connector_to(url).open(Read(table="orders", cursor=replica.cursor)))

    (batch,) = batches
    assert batch.rows.num_rows == 0
    assert batch.cursor is not None
    assert parse_lsn(batch.cursor["lsn"]) > before + 1_000_000


def test_a_read_ends_where_the_log_ended_when_it_began(url: str, sql: Sql, orders: None) -> None:
    replica = begun(connector_to(url), "orders")
    sql.execute("UPDATE orders SET price = 7")

    reading = connector_to(url).open(Read(table="orders", cursor=replica.cursor))
    first = next(reading)
    sql.execute("UPDATE orders SET price = 8")
    rest = list(reading)

    assert [row["price"] for row in first.rows.to_pylist()] == [Decimal("7.00")] * 3
    assert rest == []


def test_a_slot_stands_only_where_a_later_read_began(url: str, sql: Sql, orders: None) -> None:
    replica = begun(connector_to(url), "orders")
    ((slot, at_start),) = slots_of(url).items()
    seen = []
    for price in range(4):
        sql.execute("UPDATE orders SET price = %s", [price])
        given = replica.cursor
        assert given is not None
        read = Read(table="orders", cursor=given)
        seen += [slots_of(url)[slot] == given["lsn"] for _ in connector_to(url).open(read)]
        replica.read(connector_to(url))
        seen.append(slots_of(url)[slot] == given["lsn"])

    assert slot.startswith("hakiri_test_")
    assert parse_lsn(at_start) > 0
    assert seen
    assert all(seen)


def test_the_same_changes_come_again_until_their_cursor_is_stored(url: str, sql: Sql, orders: None) -> None:
    replica = begun(connector_to(url), "orders")
    sql.execute("UPDATE orders SET price = 9 WHERE id = 1")
    read = Read(table="orders", cursor=replica.cursor)

    first, again = ([batch.rows.to_pylist() for batch in connector_to(url).open(read)] for _ in range(2))

    assert first == again


def test_large_transactions_come_in_parts_with_a_cursor_only_at_the_end(
    url: str, sql: Sql, orders: None
) -> None:
    replica = begun(connector_to(url), "orders")
    sql.execute("UPDATE orders SET price = 1")
    with sql.transaction():
        sql.execute("INSERT INTO orders SELECT n, 'many', n FROM generate_series(100, 30099) n")
        sql.execute("DELETE FROM orders WHERE id BETWEEN 100 AND 5099")
    sql.execute("UPDATE orders SET price = 2 WHERE id = 1")

    batches = list(connector_to(url).open(Read(table="orders", cursor=replica.cursor)))

    assert [batch.cursor is None for batch in batches] == [False, True, True, True, True, False]
    assert [batch.rows.num_rows for batch in batches] == [3, 8192, 8192, 8192, 8192, 2232 + 1]
    for batch in batches:
        replica.take(batch)
    assert replica.rows == table_now(url, "orders")


def test_a_large_value_that_did_not_change_is_never_lost(url: str, sql: Sql) -> None:
    make_pages(sql, 9)
    replica = begun(connector_to(url), "pages")
    sql.execute("UPDATE pages SET title = 'new' WHERE id <= 3")
    sql.execute("UPDATE pages SET id = 40 WHERE id = 4")
    sql.execute("UPDATE pages SET title = 'soon gone' WHERE id = 5")
    sql.execute("DELETE FROM pages WHERE id = 5")
    sql.execute("UPDATE pages SET title = 'first' WHERE id = 6")
    sql.execute("UPDATE pages SET body = 'small now' WHERE id = 6")

    came = replica.read(connector_to(url))

    assert all(row["body"] for row in came if row["_op"] == "upsert")
    assert replica.rows == table_now(url, "pages")


def test_a_full_identity_brings_large_values_along(url: str, sql: Sql) -> None:
    make_pages(sql, 3)
    sql.execute("ALTER TABLE pages REPLICA IDENTITY FULL")
    replica = begun(connector_to(url), "pages")
    sql.execute("UPDATE pages SET title = 'once' WHERE id = 1")
    sql.execute("UPDATE pages SET body = 'small now' WHERE id = 1")
    sql.execute("UPDATE pages SET id = 20 WHERE id = 2")
    sql.execute("DELETE FROM pages WHERE id = 3")

    came = replica.read(connector_to(url))

    assert [(row["id"], row["title"], (row["body"] or "")[:3], row["_op"]) for row in came] == [
        (1, "once", "111", "upsert"),
        (1, "once", "sma", "upsert"),
        (2, None, "", "delete"),
        (20, "old", "222", "upsert"),
        (3, None, "", "delete"),
    ]


def test_a_unique_index_can_stand_in_for_a_primary_key(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE seats (hall text NOT NULL, seat int NOT NULL, who text)")
    sql.execute("CREATE UNIQUE INDEX seats_key ON seats (seat, hall)")
    sql.execute("ALTER TABLE seats REPLICA IDENTITY USING INDEX seats_key")
    sql.execute("INSERT INTO seats VALUES ('a', 1, 'x'), ('b', 1, 'y')")
    replica = Replica("seats", key=("seat", "hall"))
    (table,) = connector_to(url).discover(["seats"])
    replica.read(connector_to(url))
    sql.execute("DELETE FROM seats WHERE hall = 'a'")
    sql.execute("UPDATE seats SET who = 'z'")

    replica.read(connector_to(url))

    assert table.primary_key == ("seat", "hall")
    assert replica.rows == {(1, "b"): {"hall": "b", "seat": 1, "who": "z"}}


def test_names_may_be_anything_that_postgres_allows(url: str, sql: Sql) -> None:
    sql.execute('CREATE SCHEMA "My ""Schema"')
    table = 'Odd "name", with % and \' in it, much longer than a slot'
    quoted = '"' + table.replace('"', '""') + '"'
    sql.execute(
        f'CREATE TABLE "My ""Schema".{quoted} ("Ke%y""" int PRIMARY KEY, "select" text, "body" text)'.encode()
    )
    sql.execute(f'INSERT INTO "My ""Schema".{quoted} VALUES (1, \'a\')'.encode())
    connector = connector_to(url, schema='My "Schema')
    replica = begun(connector, table, key=('Ke%y"',))
    sql.execute(
        f'UPDATE "My ""Schema".{quoted} SET body = (SELECT string_agg(md5(n::text), \'\') '
        "FROM generate_series(1, 1000) n)".encode()
    )
    sql.execute(f'UPDATE "My ""Schema".{quoted} SET "select" = \'b\''.encode())

    came = replica.read(connector)

    assert [(row["select"], len(row["body"])) for row in came] == [("a", 32_000), ("b", 32_000)]


def test_a_look_at_some_rows_makes_nothing_on_the_server(url: str, sql: Sql, orders: None) -> None:
    batches = list(connector_to(url).open(Read(table="orders", limit=2)))

    assert [(batch.rows.num_rows, batch.cursor) for batch in batches] == [(2, None)]
    assert slots_of(url) == {}
    assert sql.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)


def test_a_new_column_without_values_is_taken_in(url: str, sql: Sql, orders: None) -> None:
    replica = begun(connector_to(url), "orders")
    sql.execute("UPDATE orders SET price = 5 WHERE id = 1")
    sql.execute("ALTER TABLE orders ADD COLUMN note text")
    sql.execute("UPDATE orders SET note = 'seen' WHERE id = 2")
    sql.execute("ALTER TABLE orders DROP COLUMN item")

    came = replica.read(connector_to(url))

    assert came == [
        {"id": 1, "price": Decimal("5.00"), "note": None, "_op": "upsert"},
        {"id": 2, "price": None, "note": "seen", "_op": "upsert"},
    ]


def test_a_column_may_grow_while_changes_wait(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, n smallint, v varchar(5), d numeric(5, 2))")
    replica = begun(connector_to(url), "t")
    sql.execute("INSERT INTO t VALUES (1, 7, 'abc', 1.25)")
    sql.execute("ALTER TABLE t ALTER n TYPE bigint, ALTER v TYPE text, ALTER d TYPE numeric(9, 2)")

    replica.read(connector_to(url))

    assert replica.rows == table_now(url, "t")


def test_generated_columns_are_left_out_and_children_are_tables_of_their_own(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)")
    sql.execute("CREATE TABLE child (PRIMARY KEY (id)) INHERITS (t)")
    sql.execute("INSERT INTO t VALUES (1)")
    sql.execute("INSERT INTO child VALUES (2)")
    parent, child = begun(connector_to(url), "t"), begun(connector_to(url), "child")
    sql.execute("UPDATE t SET id = id + 10")  # of both

    parent.read(connector_to(url))
    child.read(connector_to(url))

    assert parent.rows == {(11,): {"id": 11}}
    assert child.rows == {(12,): {"id": 12}}


def test_two_tables_have_slots_of_their_own_and_go_on_independently(url: str, sql: Sql, orders: None) -> None:
    sql.execute("CREATE TABLE other (id int PRIMARY KEY)")
    first, second = Replica("orders"), Replica("other")
    connector = connector_to(url, slot="mine")
    first.read(connector)
    second.read(connector)
    for number in range(5):
        sql.execute("INSERT INTO other VALUES (%s)", [number])
        sql.execute("UPDATE orders SET price = %s", [number])
        second.read(connector)

    first.read(connector)

    assert slots_of(url).keys() == {"mine_orders", "mine_other"}
    assert first.rows == table_now(url, "orders")
    assert second.rows == table_now(url, "other")


def test_a_publication_that_exists_is_used_and_none_is_made(url: str, sql: Sql, orders: None) -> None:
    sql.execute("CREATE TABLE other (id int PRIMARY KEY)")
    sql.execute('CREATE PUBLICATION "All of it" FOR ALL TABLES')
    connector = connector_to(url, publication="All of it")
    replica = begun(connector, "orders")
    sql.execute("INSERT INTO other VALUES (1)")
    sql.execute("TRUNCATE other")
    sql.execute("DELETE FROM orders WHERE id = 1")

    came = replica.read(connector)

    assert [row["id"] for row in came] == [1]
    assert sql.execute("SELECT pubname FROM pg_publication").fetchall() == [("All of it",)]
