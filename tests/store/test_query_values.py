"""Values leave DuckDB whole, whatever Python can hold of their type."""

from __future__ import annotations

import duckdb
import pytest

from hakiri.store.query.types import Member, members_of
from hakiri.store.query.values import Column, Form, select_list


def test_values_that_python_holds_are_taken_as_they_are() -> None:
    kinds = (
        "BIGINT",
        "HUGEINT",
        "DOUBLE",
        "DECIMAL(18,3)",
        "VARCHAR",
        "BOOLEAN",
        "UUID",
        "ENUM('a', 'b')",
        "JSON",
    )

    assert select_list([Column("x", kind) for kind in kinds], Form.EYES) is None
    assert select_list([Column("x", kind) for kind in kinds], Form.JSON) is None


@pytest.mark.parametrize(
    "kind", ["DATE", "TIMESTAMP", "INTERVAL", "STRUCT(a INTEGER)", "INTEGER[]", "BLOB", "FLOAT"]
)
def test_a_person_reads_what_duckdb_writes(kind: str) -> None:
    assert select_list([Column("a", "INTEGER"), Column("b", kind)], Form.EYES) == "#1, CAST(#2 AS VARCHAR)"


@pytest.mark.parametrize(
    "kind",
    [
        "INTEGER[]",
        "DECIMAL(4,1)[3][]",
        "STRUCT(a INTEGER, \"b \"\"c\" ENUM('a', 'b)'))",
        "TUPLE(INTEGER, BLOB)",
        "MAP(VARCHAR, STRUCT(a INTEGER)[])",
        "MAP(BIGINT, INTEGER)",
        "BLOB",
    ],
)
def test_a_program_gets_nested_values_and_bytes_as_they_are(kind: str) -> None:
    assert select_list([Column("a", kind)], Form.JSON) is None


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("[DATE 'infinity', NULL]", ["infinity", None]),
        ("[[TIMESTAMP 'infinity'], NULL]", [["infinity"], None]),
        ("array_value(INTERVAL 14 MONTH, NULL)", ["1 year 2 months", None]),
        (
            "{'a': TIMESTAMP_NS '2026-01-01 00:00:00.123456789', 'b\"': [TIMESTAMPTZ '2026-01-01 02:00+02']}",
            {"a": "2026-01-01T00:00:00.123456789", 'b"': ["2026-01-01T00:00:00Z"]},
        ),
        ("[NULL, {'a': DATE '2026-01-01'}]", [None, {"a": "2026-01-01"}]),
        ("row(1, DATE '-infinity')", (1, "-infinity")),
        ("MAP {{'a': 1, 'b': DATE '2026-01-01'}: 2}", {"{'a': 1, 'b': 2026-01-01}": 2}),
        ("MAP {true: TIME '08:00:00', false: NULL}", {"true": "08:00:00", "false": None}),
        (
            "MAP {TIMESTAMP '2026-01-01 00:00:00': [MAP {1.50: 'x'}]}",
            {"2026-01-01T00:00:00": [{"1.50": "x"}]},
        ),
        ("NULL::MAP(BOOLEAN, DATE)", None),
    ],
)
def test_a_program_gets_nested_values_without_loss(sql: str, value: object) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        described = connection.execute(f"DESCRIBE SELECT {sql} AS x").fetchall()
        selected = select_list([Column(name, kind) for name, kind, *_ in described], Form.JSON)

        ((found,),) = connection.execute(f"SELECT {selected} FROM (SELECT {sql} AS x)").fetchall()

    assert found == value


def test_a_struct_without_names_is_taken_apart_by_its_places() -> None:
    kinds = ("INTEGER", "DECIMAL(4,1)", "DATE[]", "TIME WITH TIME ZONE")

    for base in ("STRUCT", "TUPLE"):
        assert members_of(f"{base}({', '.join(kinds)})") == tuple(Member("", kind) for kind in kinds)


@pytest.mark.parametrize(
    ("kind", "is_number"),
    [
        ("DECIMAL(18,3)", True),
        ("UBIGINT", True),
        ("DECIMAL(4,1)[]", False),
        ("INTERVAL", False),
        ("DATE", False),
    ],
)
def test_numbers_are_told_from_what_only_holds_some(kind: str, is_number: bool) -> None:
    assert Column("a", kind).is_number is is_number
