"""The decisions of `postgres-cdc`: names, places, visibility, rows out of messages, and the config."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.errors import Place
from hakiri.sources.cdc.connector import PostgresCdcConfig
from hakiri.sources.cdc.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Delete,
    Insert,
    Relation,
    RelationColumn,
    Update,
    Values,
)
from hakiri.sources.cdc.positions import Position, lsn_text, parse_lsn
from hakiri.sources.cdc.replay import is_visible
from hakiri.sources.cdc.rows import Assembler
from hakiri.sources.cdc.slots import slot_name
from hakiri.sources.cdc.tables import Column, SourceTable
from hakiri.sources.cdc.texts import array_elements
from hakiri.sources.config import read_config
from hakiri.sources.errors import BadSourceConfig

TABLE_OID = 16385


def column(name: str, number: int) -> Column:
    return Column(
        name=name,
        number=number,
        type_oid=25,
        modifier=-1,
        type_text="text",
        kind=pa.string(),
        is_filled=False,
    )


def assembler() -> Assembler:
    """Of a table with a key `id` and a large column `body`, whose form was told already."""
    columns = (column("id", 1), column("title", 2), column("body", 3))
    table = SourceTable(
        schema="public",
        name="t",
        oid=TABLE_OID,
        file=1,
        columns=columns,
        key=("id",),
        is_partitioned=False,
        estimated_rows=None,
        description="",
    )
    made = Assembler(table, columns)
    told = [
        RelationColumn(name=each.name, type_oid=25, modifier=-1, is_in_identity=each.name == "id")
        for each in columns
    ]
    made.take(Relation(oid=TABLE_OID, columns=tuple(told)), 0)
    return made


def rows_of(*changes: Insert | Update | Delete) -> list[tuple[str, Values]]:
    made = assembler()
    made.take(Begin(commit_lsn=1, xid=7), 0)
    for change in changes:
        made.take(change, 10)
    made.take(Commit(end_lsn=2), 0)
    return list(zip(made.whole.ops, made.whole.values, strict=True))


@given(st.integers(0, 2**64 - 1))
def test_a_place_in_the_log_is_written_as_postgres_does_and_read_back(lsn: int) -> None:
    assert parse_lsn(lsn_text(lsn)) == lsn
    assert lsn_text(0x16B3748) == "0/16B3748"


def test_a_position_is_what_its_cursor_says() -> None:
    position = Position(lsn=5, table=1, publication=2, columns={"id": 1})

    assert Position.parse(position.at(9), "t") == Position(lsn=9, table=1, publication=2, columns={"id": 1})


@given(st.text(min_size=1, max_size=63), st.text(min_size=1, max_size=63))
def test_slots_of_two_tables_never_have_one_name(first: str, second: str) -> None:
    names = [slot_name("hakiri_shop", "public", table) for table in (first, second)]

    assert (names[0] == names[1]) == (first == second)
    assert all(1 <= len(name) <= 63 for name in names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_") for name in names)


def test_a_slot_is_named_after_its_table() -> None:
    assert slot_name("hakiri_shop", "public", "orders") == "hakiri_shop_orders"
    assert slot_name("hakiri_shop", "sales", "orders").startswith("hakiri_shop_sales_orders_")
    assert slot_name("hakiri_shop", "public", "Orders").startswith("hakiri_shop_orders_")
    assert slot_name("hakiri_shop", "a", "b_c") != slot_name("hakiri_shop", "a_b", "c")


@pytest.mark.parametrize(
    ("xid", "snapshot", "is_seen"),
    [
        (99, "100:100:", True),
        (100, "100:100:", False),
        (101, "100:105:101,103", False),
        (102, "100:105:101,103", True),
        (5, f"{2**32 + 9}:{2**32 + 10}:", True),  # the count has begun anew
        (2**32 - 1, f"{2**32 + 9}:{2**32 + 10}:", True),  # from before it did
        (3, f"{2**33 - 5}:{2**33 - 4}:", False),  # the snapshot is from before it did
        (8, f"{2**32 + 7}:{2**32 + 10}:{2**32 + 8}", False),
    ],
)
def test_a_transaction_is_visible_by_its_short_number(xid: int, snapshot: str, is_seen: bool) -> None:
    assert is_visible(xid, snapshot) is is_seen


def test_an_update_of_the_key_is_a_delete_and_an_upsert() -> None:
    change = Update(relation=TABLE_OID, new=[b"2", b"a", b"x"], old=[b"1", None, None])

    assert rows_of(change) == [("delete", [b"1", None, None]), ("upsert", [b"2", b"a", b"x"])]


def test_a_large_value_is_taken_from_the_old_row_if_that_is_whole() -> None:
    new: Values = [b"1", b"b", UNCHANGED]
    whole = Update(relation=TABLE_OID, new=list(new), old=[b"1", b"a", b"x"], is_old_whole=True)
    key_only = Update(relation=TABLE_OID, new=list(new), old=[b"1", None, None])

    assert rows_of(whole) == [("upsert", [b"1", b"b", b"x"])]
    assert rows_of(key_only) == [("upsert", [b"1", b"b", UNCHANGED])]


def test_a_delete_tells_the_key_alone() -> None:
    assert rows_of(Delete(relation=TABLE_OID, old=[b"1", b"a", b"x"])) == [("delete", [b"1", None, None])]


def test_changes_of_other_tables_are_passed_over() -> None:
    assert rows_of(Insert(relation=1, new=[b"1"]), Delete(relation=2, old=[b"1"])) == []


def test_rows_of_a_transaction_are_whole_when_it_is_committed() -> None:
    made = assembler()
    made.take(Begin(commit_lsn=1, xid=7), 0)
    made.take(Insert(relation=TABLE_OID, new=[b"1", None, UNCHANGED]), 10)
    before = (len(made.whole), len(made.begun), made.is_between_transactions)
    made.take(Commit(end_lsn=2), 0)

    assert before == (0, 1, False)
    assert (len(made.whole), len(made.begun), made.is_between_transactions) == (1, 0, True)
    assert (made.whole.unknown, made.whole.xids, made.whole.size_bytes) == ([0], {7}, 10)


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("{}", []),
        ("{1,NULL,3}", ["1", None, "3"]),
        ('{"a,b","",NULL,"NULL"}', ["a,b", "", None, "NULL"]),
        (r'{"q\"\\","{}"}', ['q"\\', "{}"]),
        ("[0:1]={7,8}", ["7", "8"]),
        ('{"(1,\\"a b\\")"}', ['(1,"a b")']),
    ],
)
def test_an_array_is_taken_apart(text: str, elements: list[str | None]) -> None:
    assert array_elements(text) == elements


def test_an_array_of_several_dimensions_is_no_list() -> None:
    with pytest.raises(ValueError, match="several dimensions"):
        array_elements("{{1,2},{3,4}}")


@pytest.mark.parametrize(
    ("config", "words", "hint"),
    [
        (
            {"url": "mysql://root@host/db"},
            "`url` is no URL of a Postgres",
            "write it as in `postgresql://user:${PASSWORD}@host/database`",
        ),
        (
            {"url": "postgresql://u:written@host/db"},
            "`url` holds a password that is written out",
            "write `${NAME}` in its place, and NAME in the pipeline's `secrets`",
        ),
        (
            {"url": "postgresql://u@host/db?password=written"},
            "`url` holds a password that is written out",
            "write `${NAME}` in its place, and NAME in the pipeline's `secrets`",
        ),
        (
            {"url": "postgresql://u@host/db", "slot": "My-Slot"},
            "`slot` is no name for a slot",
            "use up to 40 small letters, digits and underscores, as Postgres does",
        ),
        ({"url": "postgresql://u@host/db", "shema": "x"}, "unknown key `shema`", "did you mean `schema`?"),
    ],
)
def test_a_wrong_config_is_refused_with_the_way_to_mend_it(
    config: dict[str, Any], words: str, hint: str
) -> None:
    with pytest.raises(BadSourceConfig) as caught:
        read_config(
            PostgresCdcConfig, config, connector="postgres-cdc", place=Place("hakiri.toml", 4), secrets=()
        )

    assert str(caught.value) == f"the config of connector `postgres-cdc` is wrong: {words}"
    assert caught.value.hint == hint


def test_a_config_has_defaults_for_all_but_the_url() -> None:
    config = read_config(
        PostgresCdcConfig,
        {"url": "${DATABASE_URL}"},
        connector="postgres-cdc",
        place=Place("hakiri.toml", 4),
        secrets=("DATABASE_URL",),
    )

    assert (config.schema_name, config.slot, config.publication, config.create) == (
        "public",
        None,
        None,
        True,
    )


WITHOUT_DRIVER = """
import sys
sys.modules["psycopg"] = None  # as if it were not installed
from pathlib import Path
from hakiri.core.clock import SystemClock
from hakiri.core.errors import MissingExtra
from hakiri.sources.budget import NoBudget
from hakiri.sources.cdc import PostgresCdcConnector
from hakiri.sources.contract import Context, Read
from hakiri.sources.testing import maker
context = Context(root=Path(), secrets={}, budget=NoBudget(), clock=SystemClock(), wait=print)
connector = maker(PostgresCdcConnector, {"url": "postgresql://u@host/db"})(context)
for work in (connector.discover, connector.check, lambda: list(connector.open(Read(table="t")))):
    try:
        work()
    except MissingExtra as error:
        print(error, error.hint, sep="; ")
"""


def test_without_the_driver_the_way_to_install_it_is_told() -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT_DRIVER], capture_output=True, text=True, check=True
    ).stdout

    line = "connector `postgres-cdc` needs an optional part; pip install 'hakiri[postgres]'"
    assert said.splitlines() == [line] * 3
