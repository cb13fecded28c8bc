"""Values leave DuckDB whole, whatever Python can hold of their type."""

from __future__ import annotations

import pytest

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
    "kind", ["INTEGER[]", "INTEGER[3]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "BLOB"]
)
def test_a_program_gets_nested_values_and_bytes_as_they_are(kind: str) -> None:
    assert select_list([Column("a", kind)], Form.JSON) is None


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
