"""What cannot be read without loss is refused, in words that say what to do; and nothing is made before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from tests.sources.cdc.helpers import Replica, begun, connected, connector_to, drop_slots, slots_of
from tests.support.postgres import PostgresServer

from hakiri.core.errors import HakiriError
from hakiri.sources.contract import Read, Window
from hakiri.sources.errors import (
    AuthExpired,
    PermanentFailure,
    ReadFailed,
    SchemaIncompatible,
    TransientFailure,
)

Sql = psycopg.Connection[tuple[Any, ...]]
REWIND = "rewind the table: its next read takes a new snapshot"


def refusal(work: Callable[[], object], kind: type[HakiriError]) -> tuple[str, str]:
    """The words and the hint with which it fails."""
    with pytest.raises(kind) as caught:
        work()
    assert type(caught.value) is kind
    return str(caught.value), caught.value.hint


def reading(url: str, table: str = "t", **config: Any) -> Callable[[], object]:
    return lambda: list(connector_to(url, **config).open(Read(table=table)))


@pytest.fixture
def replica(url: str, sql: Sql) -> Replica:
    """A table `t (id, v)` with two rows that was read once."""
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    sql.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return begun(connector_to(url), "t")


def test_a_table_that_was_emptied_is_refused_until_it_is_read_anew(
    url: str, sql: Sql, replica: Replica
) -> None:
    sql.execute("TRUNCATE t")
    sql.execute("INSERT INTO t VALUES (3, 'c')")

    for _ in range(2):
        assert refusal(lambda: replica.read(connector_to(url)), PermanentFailure) == (
            "table `t` was emptied with TRUNCATE, which names no rows",
            REWIND,
        )
    anew = begun(connector_to(url), "t")

    assert anew.rows == {(3,): {"id": 3, "v": "c"}}
    assert anew.read(connector_to(url)) == []


@pytest.mark.parametrize(
    "definition",
    [
        "id int, v text",
        "id int PRIMARY KEY DEFERRABLE, v text",
        "id int UNIQUE, v text",
    ],
)
def test_a_table_without_a_usable_key_is_refused_and_stays_as_it_is(
    url: str, sql: Sql, definition: str
) -> None:
    sql.execute(f"CREATE TABLE t ({definition})".encode())
    sql.execute("INSERT INTO t VALUES (1, 'a')")

    assert refusal(reading(url), SchemaIncompatible) == (
        "table `t` has no key by which a change can name its row",
        (
            "add a primary key, or a unique index over columns that are NOT NULL with "
            'ALTER TABLE "public"."t" REPLICA IDENTITY USING INDEX'
        ),
    )
    sql.execute("UPDATE t SET v = 'b'")  # a publication for it would have forbidden this
    assert sql.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)
    assert slots_of(url) == {}


def test_a_full_identity_is_no_key(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int)")
    sql.execute("ALTER TABLE t REPLICA IDENTITY FULL")

    refusal(reading(url), SchemaIncompatible)


def test_a_table_without_identity_is_refused_in_spite_of_its_key(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY)")
    sql.execute("ALTER TABLE t REPLICA IDENTITY NOTHING")

    refusal(reading(url), SchemaIncompatible)


def test_a_partitioned_table_is_read_by_its_partitions(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)")
    sql.execute("CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (10)")
    sql.execute("CREATE TABLE high PARTITION OF t FOR VALUES FROM (10) TO (20)")
    sql.execute("INSERT INTO t VALUES (1, 'a'), (11, 'b')")

    assert refusal(reading(url), PermanentFailure) == (
        "table `t` is partitioned: what happens to a whole partition is not logged for it",
        "read its partitions, each by its own name",
    )
    low, high = begun(connector_to(url), "low"), begun(connector_to(url), "high")
    sql.execute("UPDATE t SET id = 12 WHERE id = 1")
    low.read(connector_to(url))
    high.read(connector_to(url))
    assert (low.rows.keys(), high.rows.keys()) == (set(), {(11,), (12,)})


def test_a_table_that_is_not_there_is_refused_with_one_that_is_near(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE orders (id int PRIMARY KEY)")

    assert refusal(reading(url, "order"), PermanentFailure) == (
        "there is no table `order` in schema `public` whose changes are logged",
        "did you mean `orders`?",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "ALTER TABLE t ADD COLUMN state text DEFAULT 'new'",
            "column `state` was added to table `t` and may have values in rows that were read before",
        ),
        (
            "ALTER TABLE t ADD COLUMN serial bigint GENERATED ALWAYS AS IDENTITY",
            "column `serial` was added to table `t` and may have values in rows that were read before",
        ),
        ("ALTER TABLE t RENAME v TO w", "column `v` of table `t` was renamed to `w`"),
        (
            "ALTER TABLE t ALTER v TYPE int USING 7",
            (
                "column `v` of table `t` is integer now, and changes that were not read yet were made with "
                "another type"
            ),
        ),
        (
            "ALTER TABLE t DROP CONSTRAINT t_pkey, ALTER v SET NOT NULL, ADD PRIMARY KEY (id, v)",
            "the key of table `t` has changed: changes do not tell `v`",
        ),
    ],
)
def test_a_change_of_form_that_would_lose_values_is_refused(
    url: str, sql: Sql, replica: Replica, change: str, words: str
) -> None:
    sql.execute("UPDATE t SET v = 'x'")
    sql.execute(change.encode())

    assert refusal(lambda: replica.read(connector_to(url)), SchemaIncompatible) == (words, REWIND)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ALTER TABLE t ADD COLUMN note text", "table `t` has a new column `note`"),
        ("ALTER TABLE t DROP COLUMN v", "column `v` of table `t` is gone"),
        ("ALTER TABLE t ALTER id TYPE bigint", "column `id` of table `t` is int64 now and was int32"),
    ],
)
def test_a_reader_that_expects_another_form_is_told_to_look_again(
    url: str, sql: Sql, replica: Replica, change: str, words: str
) -> None:
    (known,) = connector_to(url).discover(["t"])
    sql.execute(change.encode())

    for cursor in (None, replica.cursor):
        read = Read(table="t", cursor=cursor, schema=known.schema)
        assert refusal(lambda read=read: list(connector_to(url).open(read)), SchemaIncompatible) == (
            words,
            "run it again: the table has changed since it was looked at",
        )


def test_a_reader_may_expect_the_columns_in_another_order(url: str, sql: Sql, replica: Replica) -> None:
    (known,) = connector_to(url).discover(["t"])
    turned = pa.schema([known.schema.field(name) for name in ("v", "id", "_op")])
    sql.execute("UPDATE t SET v = 'x' WHERE id = 1")

    first = list(connector_to(url).open(Read(table="t", schema=turned)))
    later = list(connector_to(url).open(Read(table="t", schema=turned, cursor=replica.cursor)))

    assert [batch.rows.schema for batch in first + later] == [turned, turned]
    assert later[0].rows.to_pylist() == [{"v": "x", "id": 1, "_op": "upsert"}]


def test_a_table_made_anew_is_another_one(url: str, sql: Sql, replica: Replica) -> None:
    sql.execute("DROP TABLE t")
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")

    assert refusal(lambda: replica.read(connector_to(url)), PermanentFailure) == (
        "table `t` was dropped and made anew since it was last read",
        REWIND,
    )
    anew = begun(connector_to(url), "t")
    sql.execute("INSERT INTO t VALUES (5, 'e')")
    assert [row["id"] for row in anew.read(connector_to(url))] == [5]


def test_a_slot_that_is_gone_is_a_loss(url: str, sql: Sql, database: str, replica: Replica) -> None:
    assert replica.cursor is not None
    drop_slots(url)

    assert refusal(lambda: replica.read(connector_to(url)), PermanentFailure) == (
        f"slot `hakiri_{database}_t` is gone, and with it the changes after {replica.cursor['lsn']}",
        REWIND,
    )


def test_a_slot_that_somebody_else_moved_is_a_loss(url: str, sql: Sql, replica: Replica) -> None:
    other = begun(connector_to(url), "t")
    sql.execute("INSERT INTO t VALUES (3, 'c')")
    other.read(connector_to(url))
    other.read(connector_to(url))

    words, hint = refusal(lambda: replica.read(connector_to(url)), PermanentFailure)

    assert "after the cursor at" in words
    assert hint == f"give every pipeline a `slot` of its own; then {REWIND}"


def test_a_publication_made_anew_may_have_missed_changes(
    url: str, sql: Sql, database: str, replica: Replica
) -> None:
    name = f"hakiri_{database}_t"
    sql.execute(f"DROP PUBLICATION {name}".encode())
    sql.execute("INSERT INTO t VALUES (3, 'c')")

    assert refusal(lambda: replica.read(connector_to(url)), PermanentFailure) == (
        f"there is no publication `{name}`",
        f'CREATE PUBLICATION "{name}" FOR TABLE ONLY "public"."t"',
    )
    sql.execute(f"CREATE PUBLICATION {name} FOR TABLE t".encode())
    assert refusal(lambda: replica.read(connector_to(url)), PermanentFailure) == (
        f"publication `{name}` was dropped or made anew, and changes since then may be missing",
        REWIND,
    )


@pytest.mark.parametrize(
    ("publication", "words"),
    [
        ("FOR TABLE other", "publication `p` is not for table `t`"),
        (
            "FOR TABLE t WITH (publish = 'insert, update')",
            "publication `p` leaves out some of the changes to table `t`",
        ),
        ("FOR TABLE t WHERE (id > 1)", "publication `p` leaves out some of the changes to table `t`"),
        ("FOR TABLE t (id)", "publication `p` leaves out some of the changes to table `t`"),
    ],
)
def test_a_publication_that_leaves_something_out_is_refused(
    url: str, sql: Sql, publication: str, words: str
) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    sql.execute("CREATE TABLE other (id int PRIMARY KEY)")
    sql.execute(f"CREATE PUBLICATION p {publication}".encode())

    assert refusal(reading(url, publication="p"), PermanentFailure)[0] == words


def test_nothing_is_made_where_nothing_may_be_made(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY)")

    words, hint = refusal(reading(url, create=False, slot="mine"), PermanentFailure)
    assert (words, hint) == (
        "there is no publication `mine_t`",
        'CREATE PUBLICATION "mine_t" FOR TABLE ONLY "public"."t"',
    )
    sql.execute(hint.encode())
    words, hint = refusal(reading(url, create=False, slot="mine"), PermanentFailure)
    assert (words, hint) == (
        "there is no slot `mine_t`",
        "SELECT pg_create_logical_replication_slot('mine_t', 'pgoutput')",
    )
    sql.execute(hint.encode())
    Replica("t").read(connector_to(url, create=False, slot="mine"))


def test_a_value_that_has_no_place_is_refused_by_its_column(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, until timestamptz)")
    sql.execute("INSERT INTO t VALUES (1, 'infinity')")

    assert refusal(reading(url), SchemaIncompatible) == (
        "column `until` of table `t` holds `infinity`, which type timestamp[us, tz=UTC] cannot hold",
        "change the value at the source, or the column to text",
    )


def test_a_column_with_the_name_of_the_kind_of_change_is_refused(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, _op text)")

    assert "has a column `_op`" in refusal(reading(url), SchemaIncompatible)[0]


def test_rows_that_a_policy_hides_are_an_error_and_not_a_smaller_table(
    url: str, sql: Sql, logical_server: PostgresServer, database: str
) -> None:
    role = f"limited_{database}"
    sql.execute("CREATE TABLE t (id int PRIMARY KEY)")
    sql.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    sql.execute("CREATE PUBLICATION p FOR TABLE t")
    sql.execute(f"CREATE ROLE {role} LOGIN REPLICATION".encode())
    sql.execute(f"GRANT SELECT ON t TO {role}".encode())
    try:
        as_role = logical_server.url(database, user=role)
        words, _ = refusal(reading(as_role, publication="p"), PermanentFailure)
        assert "row-level security" in words
    finally:
        sql.execute(f"DROP OWNED BY {role}".encode())
        sql.execute(f"DROP ROLE {role}".encode())


def test_a_role_without_rights_is_told_which_it_needs(
    url: str, sql: Sql, logical_server: PostgresServer, database: str
) -> None:
    role = f"poor_{database}"
    sql.execute("CREATE TABLE t (id int PRIMARY KEY)")
    sql.execute(f"CREATE ROLE {role} LOGIN".encode())
    try:
        as_role = logical_server.url(database, user=role)
        for work in (reading(as_role), connector_to(as_role).check):
            words, hint = refusal(work, PermanentFailure)
            assert "permission denied" in words
            assert hint.startswith("give the user of `url` the attribute REPLICATION, SELECT on the table")
    finally:
        sql.execute(f"DROP ROLE {role}".encode())


def test_a_server_that_logs_too_little_is_refused_with_the_setting(postgres_server: PostgresServer) -> None:
    url = postgres_server.url()
    with connected(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS cdc_t (id int PRIMARY KEY)")

    for work in (reading(url, "cdc_t"), connector_to(url).check):
        assert refusal(work, PermanentFailure) == (
            "the server's log is not made for reading: `wal_level` is `replica`",
            "set `wal_level = logical` and restart the server",
        )


def test_a_slot_that_is_being_read_is_waited_for_and_then_tried_again_later(
    url: str, sql: Sql, replica: Replica
) -> None:
    sql.execute("INSERT INTO t SELECT n, 'many' FROM generate_series(10, 30000) n")
    held = connector_to(url).open(Read(table="t", cursor=replica.cursor))
    next(held)
    impatient = connector_to(url)
    object.__setattr__(impatient.context, "wait", lambda seconds: None)

    words, _ = refusal(lambda: list(impatient.open(Read(table="t", cursor=replica.cursor))), TransientFailure)
    list(held)
    came = replica.read(connector_to(url))

    assert "is being read by somebody else" in words
    assert len(came) == 29_991


def test_a_table_is_not_cut_into_pieces(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY)")
    read = Read(table="t", window=Window(field="id", since=1, until=2))

    assert refusal(lambda: list(connector_to(url).open(read)), PermanentFailure)[0] == (
        "table `t` cannot be read in pieces by the log"
    )


def test_a_cursor_of_another_connector_is_refused(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY)")
    read = Read(table="t", cursor={"updated_at": "2026-05-11"})

    assert refusal(lambda: list(connector_to(url).open(read)), PermanentFailure) == (
        "the cursor of table `t` is none of this connector",
        REWIND,
    )


def test_a_cursor_beyond_the_log_is_of_another_server(url: str, sql: Sql, replica: Replica) -> None:
    assert replica.cursor is not None
    replica.cursor = {**replica.cursor, "lsn": "FFFF/0"}

    words, hint = refusal(lambda: replica.read(connector_to(url)), PermanentFailure)

    assert words == "the cursor at FFFF/0 is after the end of the server's log, which is another one"
    assert hint == REWIND


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("postgresql://nobody:${PASSWORD}@127.0.0.1:1/none", TransientFailure),
        ("postgresql://postgres:${PASSWORD}@{server}/no_such_database", PermanentFailure),
        ("postgresql://no_such_role:${PASSWORD}@{server}/postgres", AuthExpired),
        ("postgresql://u:${PASSWORD}@{server}:x/postgres", PermanentFailure),
    ],
)
def test_a_server_that_does_not_let_us_in_is_named_without_the_secret(
    logical_server: PostgresServer, address: str, kind: type[ReadFailed]
) -> None:
    host, port = logical_server.tcp_address
    url = address.replace("{server}", f"{host}:{port}")
    connector = connector_to(url, secrets={"PASSWORD": "s3cret-marker"})

    for work in (connector.discover, connector.check, lambda: list(connector.open(Read(table="t")))):
        words, hint = refusal(work, kind)
        assert "s3cret-marker" not in words + hint


def test_a_check_tells_of_slots_and_of_tables_without_a_key(url: str, sql: Sql, replica: Replica) -> None:
    sql.execute("CREATE TABLE keyless (n int)")

    said = connector_to(url).check()

    assert said.startswith("Postgres 1")
    assert "; 2 tables in schema `public`, 1 without a key; slot `hakiri_test_" in said
    assert "bytes of the log; " in said
    assert said.endswith(" slots free")
