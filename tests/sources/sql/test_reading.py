"""Cursors, windows, orders and columns: what holds in each of the three databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, pairwise
from typing import Any

import pyarrow as pa
import pytest
from tests.sources.sql.lab import Lab, duckdb_lab, postgres_lab, sqlite_lab
from tests.support.postgres import PostgresServer

from hakiri.core.cursors import CursorKind
from hakiri.sources.contract import Batch, Cursor, Hint, Read, Window
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible
from hakiri.sources.sql import duck, postgres, sqlite
from hakiri.sources.sql.ranges import key_ranges

# 3,000 rows; `n` has ten values of 300 rows each, and `v` is NULL in every seventh row.
ROWS = """
CREATE TABLE {name} (id {key}, n integer NOT NULL, v integer, name text);
INSERT INTO {name}
WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 3000)
SELECT i, (i - 1 - (i - 1) % 300) / 300, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 50 END, 'name ' || i FROM g;
"""
EVERY_ID = list(range(1, 3001))


def ids(batches: list[Batch]) -> list[int]:
    return sorted(row["id"] for batch in batches for row in batch.rows.to_pylist())


def cursors(batches: list[Batch]) -> list[Cursor | None]:
    return [batch.cursor for batch in batches]


@pytest.fixture(scope="module", params=["postgres", "sqlite", "duckdb"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer
) -> Iterator[Lab]:
    """Tables that come in many batches."""
    with ExitStack() as stack:
        root = tmp_path_factory.mktemp("filled")
        match request.param:
            case "postgres":
                lab = stack.enter_context(postgres_lab(postgres_server, root))
            case "sqlite":
                lab = sqlite_lab(root)
            case _:
                lab = duckdb_lab(root)
        tables = {"things": "integer PRIMARY KEY", "growing": "integer PRIMARY KEY", "keyless": "integer"}
        lab.run("".join(ROWS.format(name=name, key=key) for name, key in tables.items()) + "ANALYZE")
        yield lab


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "BATCH_BYTES", 8_192)
    monkeypatch.setattr(sqlite, "BATCH_BYTES", 8_192)
    monkeypatch.setattr(duck, "BATCH_ROWS", 256)


@pytest.mark.spec("HP-025")
@pytest.mark.spec("HP-026")
def test_a_table_is_read_as_a_whole_in_several_batches_without_a_cursor(filled: Lab) -> None:
    batches = filled.batches("things")

    assert len(batches) > 3
    assert ids(batches) == EVERY_ID
    assert set(cursors(batches)) == {None}


@pytest.mark.spec("HP-027")
@pytest.mark.parametrize("table", ["things", "keyless"])
@pytest.mark.parametrize("column", ["id", "n", "v", "name"])
def test_a_read_that_goes_on_after_any_cursor_gives_every_row_once(
    filled: Lab, table: str, column: str
) -> None:
    batches = filled.batches(table, incremental=column)
    whole = ids(batches)
    held = [number for number, batch in enumerate(batches) if batch.cursor is not None]

    assert whole == EVERY_ID
    assert held[-1] == len(batches) - 1
    for number in {*held[:3], *held[-3:]}:
        rest = filled.batches(table, incremental=column, cursor=batches[number].cursor)
        assert sorted(ids(batches[: number + 1]) + ids(rest)) == EVERY_ID


def test_the_cursor_stands_only_where_the_value_changes(filled: Lab) -> None:
    batches = filled.batches("keyless", incremental="n")

    seen = [batch.cursor["n"] for batch in batches if batch.cursor is not None]
    counts = [batch.rows.num_rows for batch in batches]
    assert seen == sorted(set(seen))
    assert seen[-1] == 9
    for cursor, read in zip(
        cursors(batches), [sum(counts[: end + 1]) for end in range(len(counts))], strict=True
    ):
        assert cursor is None or read == 300 * (cursor["n"] + 1)


def test_the_last_cursor_gives_nothing_until_rows_come(filled: Lab) -> None:
    last = filled.batches("growing", incremental="id")[-1].cursor
    nothing = filled.batches("growing", incremental="id", cursor=last)
    filled.run("INSERT INTO growing VALUES (3001, 10, NULL, 'new')")

    fresh = filled.batches("growing", incremental="id", cursor=last)

    assert last == {"id": 3000}
    assert nothing == []
    assert ids(fresh) == [3001]
    assert fresh[-1].cursor == {"id": 3001}


def test_windows_hold_every_row_once_and_know_their_highest_value(filled: Lab) -> None:
    windows = key_ranges(filled.connector().extent("things", "id"), 4, field="id")

    read = [filled.batches("things", window=window) for window in windows]

    assert sorted(chain(*map(ids, read))) == EVERY_ID
    assert [batches[-1].cursor for batches in read] == [{"id": end} for end in (750, 1500, 2250, 3000)]
    assert {cursor for batches in read for cursor in map(str, cursors(batches[:-1]))} == {"None"}


def test_rows_without_a_value_are_in_the_window_that_takes_them(filled: Lab) -> None:
    low, rest = Window(field="v", until=25, has_nulls=True), Window(field="v", since=25)

    taken, others = filled.batches("things", window=low), filled.batches("things", window=rest)

    assert sorted(ids(taken) + ids(others)) == EVERY_ID
    assert sum(row["v"] is None for batch in taken for row in batch.rows.to_pylist()) == 428
    assert taken[-1].cursor == {"v": 24}
    assert ids(filled.batches("things", window=Window(field="v", has_nulls=True))) == EVERY_ID
    assert len(ids(filled.batches("things", window=Window(field="v")))) == 3000 - 428


def test_a_window_is_gone_on_with_after_a_cursor(filled: Lab) -> None:
    window = Window(field="id", since=100, until=200)

    rest = filled.batches("things", window=window, cursor={"id": 150})

    assert ids(rest) == list(range(151, 200))
    assert rest[-1].cursor == {"id": 199}


def test_a_limit_ends_the_read_and_leaves_no_false_cursor(filled: Lab) -> None:
    batches = filled.batches("things", incremental="n", limit=450)
    nulls = filled.batches("things", incremental="v", limit=10)
    window = filled.batches("things", window=Window(field="id"), limit=10)

    assert len(ids(batches)) == 450
    assert [cursor for cursor in cursors(batches) if cursor] in ([], [{"n": 0}])
    assert len(ids(nulls)) == len(ids(window)) == 10
    assert set(cursors(nulls)) == set(cursors(window)) == {None}


def test_only_the_columns_of_the_wanted_schema_are_read_and_in_its_types(filled: Lab) -> None:
    wanted = pa.schema([("name", pa.large_string()), ("id", pa.int64())])

    batches = filled.batches("things", schema=wanted, incremental="n")

    assert all(batch.rows.schema.equals(wanted) for batch in batches)
    assert ids(batches) == EVERY_ID
    assert batches[-1].cursor == {"n": 9}


def test_a_column_that_is_gone_or_does_not_fit_is_told(filled: Lab) -> None:
    gone = pa.schema([("id", pa.int64()), ("colour", pa.string())])
    small = pa.schema([("id", pa.int8())])

    with pytest.raises(SchemaIncompatible, match="table `things` has no column `colour` any more"):
        filled.batches("things", schema=gone)
    with pytest.raises(SchemaIncompatible, match=r"cannot be brought to int8"):
        filled.batches("things", schema=small)


@pytest.mark.parametrize(
    ("read", "problem", "hint"),
    [
        (
            {"incremental": "idd"},
            "table `things` has no column `idd`",
            "did you mean `id`?",
        ),
        (
            {"incremental": "n", "cursor": {"id": 5}},
            "the cursor of table `things` is one of `id`, and `n` is to be followed",
            "read the table from the start with `hakiri cursor reset`, or name the column it is of",
        ),
        (
            {"incremental": "id", "cursor": {"id": "five"}},
            "column `id` holds whole numbers and cannot be compared with `five`",
            "give a bound of the column's kind, or forget the cursor if it is one of another column",
        ),
        (
            {"window": Window(field="name", since=5)},
            "column `name` holds texts and cannot be compared with `5`",
            "give a bound of the column's kind, or forget the cursor if it is one of another column",
        ),
    ],
)
def test_a_read_that_makes_no_sense_is_refused(
    filled: Lab, read: dict[str, Any], problem: str, hint: str
) -> None:
    with pytest.raises(PermanentFailure) as refused:
        filled.batches("things", **read)

    assert (str(refused.value), refused.value.hint) == (problem, hint)


def test_a_table_that_is_not_there_is_told_with_the_one_that_may_be_meant(filled: Lab) -> None:
    with pytest.raises(PermanentFailure) as refused:
        filled.connector().discover(["things", "thngs"])

    assert (str(refused.value), refused.value.hint) == (
        "the database has no table `thngs`",
        "did you mean `things`?",
    )


@pytest.mark.spec("HP-111")
def test_a_table_with_a_key_of_numbers_can_be_cut_by_it(filled: Lab) -> None:
    connector = filled.connector()

    assert connector.backfill_hint("things") == Hint(
        cursor_kind=CursorKind.MONOTONIC, cursor_field="id", is_cursor=False
    )
    assert connector.backfill_hint("keyless") == Hint()
    assert connector.partitions("things") == ({},)


def test_an_extent_is_where_a_column_begins_and_ends(filled: Lab) -> None:
    connector = filled.connector()

    identity, value = connector.extent("things", "id"), connector.extent("things", "v")

    assert (identity.lowest, identity.highest, identity.rows, identity.has_nulls) == (1, 3000, 3000, False)
    assert (value.lowest, value.highest, value.has_nulls) == (0, 49, True)


def test_names_and_values_with_quotes_are_what_they_are(lab: Lab) -> None:
    odd, text = 'it\'s "a" table.', "it''s \\'; DROP TABLE x; --"
    quoted = '"' + odd.replace('"', '""') + '"'
    lab.run(f"CREATE TABLE {quoted} ({quoted} text, id integer)")
    for value in ("a", text, "z"):
        lab.run(f"INSERT INTO {quoted} VALUES ('{value.replace(chr(39), chr(39) * 2)}', 1)")

    rows = lab.rows(odd, window=Window(field=odd, since=text, until=text + "!"))
    after = lab.rows(odd, incremental=odd, cursor={odd: text})

    assert [row[odd] for row in rows] == [text]
    assert [row[odd] for row in after] == ["z"]


def test_a_read_that_is_given_up_ends_at_once(filled: Lab) -> None:
    reading = filled.connector().open(Read(table="things"))
    first = next(reading)
    reading.close()  # type: ignore[attr-defined]

    assert first.rows.num_rows > 0
    assert ids(filled.batches("things")) == EVERY_ID


def test_the_rows_of_ordered_reads_are_in_order(filled: Lab) -> None:
    values = [
        row["v"] for batch in filled.batches("things", incremental="v") for row in batch.rows.to_pylist()
    ]

    assert values[:428] == [None] * 428
    assert all(low <= high for low, high in pairwise(values[428:]))
