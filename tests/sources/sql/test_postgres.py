"""Postgres: what is found, what is refused and by which code, and one state for many readers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pyarrow as pa
import pytest
from tests.sources.sql.lab import Lab
from tests.support.postgres import PostgresServer
from tests.support.proxy import FaultyProxy

from hakiri.sources.contract import Read, Window
from hakiri.sources.errors import AuthExpired, PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.sql import postgres as postgres_module
from hakiri.sources.sql.postgres_probe import Server, server_of
from hakiri.sources.sql.postgres_types import column_of
from hakiri.sources.sql.postgres_wire import with_options
from hakiri.sources.sql.ranges import key_ranges
from hakiri.sources.sql.relations import Grain

SHOP = """
CREATE TABLE orders (
  id bigint PRIMARY KEY, customer int NOT NULL, total numeric(10, 2), created_at timestamptz NOT NULL,
  updated_at timestamptz, note text);
COMMENT ON TABLE orders IS 'What was sold';
CREATE INDEX ON orders (customer);
CREATE TABLE order_lines (number int, order_id bigint, PRIMARY KEY (order_id, number));
CREATE VIEW big_orders AS SELECT * FROM orders WHERE total > 100;
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(total) AS total FROM orders GROUP BY customer;
CREATE TABLE measured (at timestamptz NOT NULL, v float8) PARTITION BY RANGE (at);
CREATE TABLE measured_2026 PARTITION OF measured FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE SCHEMA sales;
CREATE TABLE sales.leads (id int);
INSERT INTO orders SELECT g, g % 10, g, '2026-01-01'::timestamptz + g * interval '1 hour', NULL, 'n'
  FROM generate_series(1, 1000) g;
INSERT INTO measured SELECT '2026-01-01'::timestamptz + g * interval '1 hour', g
  FROM generate_series(0, 99) g;
"""


@pytest.fixture
def shop(postgres: Lab) -> Lab:
    postgres.run(SHOP)
    return postgres


@pytest.mark.spec("HP-024")
def test_tables_views_and_partitioned_tables_are_found_with_keys_and_columns(shop: Lab) -> None:
    shop.run("ANALYZE")

    found = {table.name: table for table in shop.connector().discover()}

    assert list(found) == ["big_orders", "measured", "order_lines", "orders", "totals"]
    orders = found["orders"]
    assert orders.primary_key == ("id",)
    assert orders.cursor_fields == ("updated_at", "created_at", "id", "customer")
    assert orders.estimated_rows == 1000
    assert orders.description == "What was sold"
    assert [field.nullable for field in orders.schema] == [False, False, True, False, True, True]
    assert found["order_lines"].primary_key == ("order_id", "number")
    assert found["measured"].estimated_rows == 100
    assert found["big_orders"].estimated_rows is None
    assert found["totals"].schema.field("total").type == pa.string()


def test_a_table_of_another_schema_goes_by_both_names(shop: Lab) -> None:
    assert shop.table("sales.leads").name == "sales.leads"
    assert [table.name for table in shop.connector(schema="sales").discover()] == ["leads"]
    assert shop.table("measured_2026").name == "measured_2026"


def test_estimates_follow_the_size_of_a_table_and_are_left_out_when_there_are_none(postgres: Lab) -> None:
    postgres.run(
        "CREATE TABLE t (id int) WITH (autovacuum_enabled = false);INSERT INTO t SELECT generate_series(1, 9)"
    )
    unknown = postgres.table("t").estimated_rows
    postgres.run("INSERT INTO t SELECT generate_series(1, 10000); ANALYZE t")
    postgres.run("INSERT INTO t SELECT generate_series(1, 10000)")

    known = postgres.table("t").estimated_rows

    assert unknown is None
    assert known is not None
    assert 18_000 < known < 22_000


def test_windows_of_time_are_cut_by_the_kind_of_the_column(postgres: Lab) -> None:
    postgres.run(
        "CREATE TABLE t (id int PRIMARY KEY, zoned timestamptz, local timestamp, day date);"
        "INSERT INTO t SELECT g, m, m AT TIME ZONE 'UTC', (m AT TIME ZONE 'UTC')::date FROM ("
        "SELECT g, '2026-01-01 00:00Z'::timestamptz + g * interval '6 hours' AS m "
        "FROM generate_series(0, 11) g) AS s"
    )

    def ids(**window: str) -> list[int]:
        return sorted(row["id"] for row in postgres.rows("t", window=Window(**window)))  # type: ignore[arg-type]

    assert ids(field="zoned", since="2026-01-02T00:00:00Z", until="2026-01-02T12:00:00Z") == [4, 5]
    assert ids(field="zoned", since="2026-01-02T02:00:00+02:00", until="2026-01-02T12:00:00") == [4, 5]
    assert ids(field="local", since="2026-01-02T02:00:00+02:00", until="2026-01-02T12:00:00Z") == [4, 5]
    assert ids(field="day", since="2026-01-02", until="2026-01-03T00:00:00Z") == [4, 5, 6, 7]
    assert ids(field="day", since="2026-01-01T08:00:00Z", until="2026-01-02T08:00:00Z") == [4, 5, 6, 7]


@pytest.mark.spec("HP-027")
def test_cursors_of_times_are_texts_with_all_their_digits(postgres: Lab) -> None:
    postgres.run(
        "CREATE TABLE t (zoned timestamptz, local timestamp, day date, u uuid, big numeric(25), c char(3));"
        "INSERT INTO t VALUES ('2026-05-11 08:00:00.000001+02', '2026-05-11 08:00:00.5', '2026-05-11',"
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 9999999999999999999999999, 'abc')"
    )

    cursors = {
        name: postgres.batches("t", incremental=name)[-1].cursor
        for name in ("zoned", "local", "day", "u", "big", "c")
    }

    assert cursors == {
        "zoned": {"zoned": "2026-05-11T06:00:00.000001Z"},
        "local": {"local": "2026-05-11T08:00:00.500000"},
        "day": {"day": "2026-05-11"},
        "u": {"u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
        "big": {"big": 9999999999999999999999999},
        "c": {"c": "abc"},
    }
    for name, cursor in cursors.items():
        assert postgres.batches("t", incremental=name, cursor=cursor) == []


def test_a_column_whose_order_is_not_that_of_its_values_is_no_cursor(postgres: Lab) -> None:
    postgres.run("CREATE TABLE t (v float8, id int PRIMARY KEY)")

    with pytest.raises(PermanentFailure) as refused:
        postgres.batches("t", incremental="v")

    assert (str(refused.value), refused.value.hint) == (
        "column `v` of table `t` cannot be a cursor: it holds no whole numbers, moments, days or plain texts",
        "use one of `id`",
    )


def test_a_text_that_is_ordered_without_regard_to_case_is_no_cursor() -> None:
    row = {
        "column": "name",
        "element": None,
        "type": "text",
        "type_sql": "text",
        "kind": "b",
        "modifier": -1,
        "is_builtin": True,
        "is_required": False,
        "is_indexed": False,
    }

    assert column_of({**row, "is_deterministic": True}, is_text=False).grain is Grain.TEXT
    assert column_of({**row, "is_deterministic": False}, is_text=False).grain is None


def test_readers_of_one_state_do_not_see_what_comes_meanwhile(shop: Lab) -> None:
    connector = shop.connector()
    with connector.still() as snapshot:
        shop.run("INSERT INTO orders SELECT g, 0, 0, now(), NULL, '' FROM generate_series(1001, 2000) g")
        shop.run("DELETE FROM orders WHERE id <= 10")
        windows = key_ranges(connector.extent("orders", "id"), 4, field="id")
        reads = [Read(table="orders", window=window, snapshot=snapshot) for window in windows]
        with ThreadPoolExecutor(4) as readers:
            parts = list(readers.map(lambda read: list(connector.open(read)), reads))
        now = shop.rows("orders")

    seen = sorted(row["id"] for part in parts for batch in part for row in batch.rows.to_pylist())
    assert seen == list(range(1, 1001))
    assert len(now) == 1990
    with pytest.raises(PermanentFailure, match=r"Postgres does not hold the state `.*` any more"):
        list(connector.open(reads[0]))


def test_nothing_can_be_written_by_a_read(postgres: Lab) -> None:
    postgres.run(
        "CREATE TABLE log (at timestamptz);"
        "CREATE FUNCTION noted() RETURNS int LANGUAGE sql "
        "AS $$ INSERT INTO log VALUES (now()) RETURNING 1 $$;"
        "CREATE VIEW sly AS SELECT noted() AS n"
    )

    with pytest.raises(PermanentFailure) as refused:
        postgres.rows("sly")

    assert "(SQLSTATE 25006)" in str(refused.value)


def test_a_check_says_what_was_reached_and_no_secret(postgres: Lab) -> None:
    said = (
        replace(
            postgres,
            url=postgres.url.replace("postgres@", "postgres:${PASSWORD}@"),
            secrets={"PASSWORD": "hunter2"},
        )
        .connector()
        .check()
    )

    assert said.startswith("Postgres 1")
    assert said.endswith(", as `postgres`")
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        ("postgresql://postgres@127.0.0.1:1/x", TransientFailure, "Postgres cannot be reached: "),
        ("postgresql://nobody@{address}/{base}", AuthExpired, 'role "nobody" does not exist'),
        ("postgresql://postgres@{address}/nowhere", PermanentFailure, 'database "nowhere" does not exist'),
        ("postgresql://postgres@{address}/{base}?sslmode=require", PermanentFailure, "SSL"),
        ("postgresql://postgres@{address}/{base}?colour=red", PermanentFailure, "colour"),
    ],
)
def test_a_way_that_is_closed_is_told_by_what_closes_it(
    postgres: Lab, postgres_server: PostgresServer, url: str, kind: type[ReadFailed], words: str
) -> None:
    address = "{}:{}".format(*postgres_server.tcp_address)
    base = postgres.url.rpartition("/")[2].partition("?")[0]
    there = replace(postgres, url=url.format(address=address, base=base))

    with pytest.raises(kind) as refused:
        there.connector().check()

    assert type(refused.value) is kind
    assert words in str(refused.value)
    assert refused.value.hint


def test_a_wrong_password_is_told_and_not_shown(postgres: Lab, postgres_server: PostgresServer) -> None:
    rules = postgres_server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    postgres.run("CREATE ROLE clerk LOGIN PASSWORD 'right'")
    rules.write_text(f"host all clerk 127.0.0.1/32 scram-sha-256\n{before}")
    postgres.run("SELECT pg_reload_conf()")
    url = postgres.url.replace("postgres@", "clerk:${PASSWORD}@")

    try:
        with pytest.raises(AuthExpired) as refused:
            replace(postgres, url=url, secrets={"PASSWORD": "wrong-marker"}).connector().check()
        said = replace(postgres, url=url, secrets={"PASSWORD": "right"}).connector().check()
    finally:
        rules.write_text(before)
        postgres.run("SELECT pg_reload_conf(); DROP ROLE clerk")

    assert "wrong-marker" not in str(refused.value)
    assert refused.value.hint == "check the user, the password and the database in `url`"
    assert said.endswith(", as `clerk`")


def test_a_table_that_may_not_be_read_is_told_and_not_listed(
    shop: Lab, postgres_server: PostgresServer
) -> None:
    shop.run("DROP ROLE IF EXISTS guest")
    shop.run(
        "CREATE ROLE guest LOGIN; GRANT SELECT ON orders TO guest; GRANT SELECT (at) ON measured TO guest"
    )
    guest = replace(shop, url=shop.url.replace("postgres@", "guest@"))

    listed = [table.name for table in guest.connector().discover()]
    with pytest.raises(PermanentFailure, match="the user in `url` may not read table `totals`"):
        guest.rows("totals")
    with pytest.raises(PermanentFailure) as refused:
        guest.rows("measured")
    shop.run("DROP OWNED BY guest; DROP ROLE guest")

    assert listed == ["measured", "orders"]
    assert "(SQLSTATE 42501)" in str(refused.value)
    assert refused.value.hint == "grant SELECT on the table to the user in `url`"


@pytest.fixture
def wide(postgres: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A table that is larger than what the network holds back on its own."""
    monkeypatch.setattr(postgres_module, "BATCH_BYTES", 100_000)
    postgres.run(
        "CREATE TABLE wide AS SELECT g AS id, repeat(md5(g::text), 40) AS v FROM generate_series(1, 40000) g"
    )
    return postgres


def test_a_server_that_ends_the_read_may_be_asked_again(wide: Lab) -> None:
    reading = wide.connector().open(Read(table="wide"))
    next(reading)
    wide.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'hakiri' AND datname = current_database()"
    )

    with pytest.raises(TransientFailure):
        list(reading)


@pytest.mark.parametrize("passed_bytes", [2_000, 1_000_000])
def test_a_network_that_breaks_may_be_asked_again(
    wide: Lab, postgres_server: PostgresServer, passed_bytes: int
) -> None:
    with FaultyProxy(postgres_server.tcp_address) as proxy:
        host, port = proxy.address
        url = wide.url.replace("{}:{}".format(*postgres_server.tcp_address), f"{host}:{port}")
        connector = replace(wide, url=url).connector()
        connector.check()
        proxy.reset_after(bytes_from_server=passed_bytes)

        with pytest.raises(TransientFailure):
            list(connector.open(Read(table="wide")))

        rows = sum(batch.rows.num_rows for batch in connector.open(Read(table="wide")))
    assert rows == 40_000


def test_a_network_that_breaks_while_connecting_is_tried_once_more(
    wide: Lab, postgres_server: PostgresServer
) -> None:
    with FaultyProxy(postgres_server.tcp_address) as proxy:
        host, port = proxy.address
        url = wide.url.replace("{}:{}".format(*postgres_server.tcp_address), f"{host}:{port}")
        proxy.reset_after(bytes_from_server=1)

        said = replace(wide, url=url).connector().check()

    assert proxy.faults_fired == 1
    assert said.startswith("Postgres ")


def test_a_read_that_is_given_up_leaves_no_query_behind(wide: Lab, postgres_server: PostgresServer) -> None:
    reading = wide.connector().open(Read(table="wide"))
    next(reading)
    reading.close()  # type: ignore[attr-defined]

    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        left = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = 'hakiri'"
        ).fetchone()
    assert left == (0,)


def test_a_server_is_read_off_its_url() -> None:
    assert server_of("postgresql://u:p%40@db.example:6543/shop?sslmode=require") == Server(
        host="db.example", port="6543", user="u", database="shop"
    )
    assert server_of("postgres://u@[::1]/shop").host == "::1"
    assert server_of("postgresql://u@/shop?host=/run/pg&port=6000") == Server(
        host="/run/pg", port="6000", user="u", database="shop"
    )
    assert server_of("postgresql://u@a:1,b:2/").host == "a"


def test_what_the_url_says_of_a_connection_is_left_alone() -> None:
    url = with_options("postgresql:///shop?connect_timeout=2&application_name=mine")

    assert url.startswith("postgresql:///shop?connect_timeout=2&application_name=mine&keepalives_idle=15")
    assert url.count("connect_timeout") == 1


def test_moments_are_in_utc_whatever_the_server_prefers(postgres: Lab) -> None:
    postgres.run("CREATE TABLE t (id int PRIMARY KEY, at timestamptz, v interval, b bytea)")
    postgres.run("INSERT INTO t VALUES (1, '2026-07-01 12:00+02', '1 day', 'a')")
    postgres.run(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''Asia/Tokyo''', current_database());"
        "EXECUTE format('ALTER DATABASE %I SET datestyle = ''German''', current_database());"
        "EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database());"
        "END $$"
    )

    (row,) = postgres.rows("t", window=Window(field="at", since="2026-07-01T10:00:00Z"))
    (text,) = postgres.rows("t", {"as_text": ["t.at"]})

    assert row == {"id": 1, "at": datetime(2026, 7, 1, 10, tzinfo=UTC), "v": "P1D", "b": b"a"}
    assert text["at"] == "2026-07-01 10:00:00+00"
