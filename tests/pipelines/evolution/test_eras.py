"""Rows of every era of a table, read as the table is now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.pipelines.evolution.shapes import (
    BINARY,
    DATE,
    DOUBLE,
    INT32,
    INT64,
    MOMENT,
    TEXT,
    shape,
    was_called,
)
from tests.store.workshop import ORDERS, Workshop, open_workshop

from hakiri.pipelines.evolution import ContractMode, TableShape, accept, evolve, exact_columns, shape_of
from hakiri.pipelines.evolution.forms import list_of
from hakiri.store.reading import visible_files

Come = Callable[[TableShape, Sequence[Mapping[str, Any]]], None]


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with open_workshop(tmp_path / "store") as made:
        yield made


@pytest.fixture
def come(workshop: Workshop) -> Come:
    """Lets rows come in: the table evolves, or an operator accepts what it refuses, and they are stored."""

    def let_come(incoming: TableShape, rows: Sequence[Mapping[str, Any]]) -> None:
        current = workshop.catalog.schemas.current(ORDERS)
        stored = None if current is None else shape_of(current)
        exact = exact_columns(stored, incoming, files(workshop)) if stored is not None else frozenset()
        made = evolve(stored, incoming, mode=ContractMode.EVOLVE, is_open=False, exact=exact)
        if made.is_refused and stored is not None:
            accepted = accept(stored, incoming).shape
            made = evolve(accepted, incoming, mode=ContractMode.EVOLVE, is_open=False)
        assert not made.is_refused
        # The writer fits what comes in to the schema; here the rows are given as they are stored.
        workshop.land(rows, made.shape.schema, *made.shape.primary_key)
        workshop.publish()

    return let_come


def files(workshop: Workshop) -> list[Path]:
    found = visible_files(workshop.layout, workshop.catalog, ORDERS)
    return [] if found is None else [path for paths in found.files.values() for path in paths]


@pytest.mark.spec("HP-066")
@pytest.mark.spec("HP-067")
def test_columns_come_and_go_and_every_row_has_all_of_them(workshop: Workshop, come: Come) -> None:
    come(shape(id=INT64, note=TEXT), [{"id": 1, "note": "a"}])
    come(shape(id=INT64, note=TEXT, amount=INT64), [{"id": 2, "note": "b", "amount": 7}])
    come(shape(id=INT64, amount=INT64), [{"id": 3, "amount": 8}])

    assert workshop.query("SELECT id, note, amount FROM orders ORDER BY id") == [
        (1, "a", None),
        (2, "b", 7),
        (3, None, 8),
    ]


@pytest.mark.spec("HP-068")
def test_a_wider_type_reads_right_and_rewrites_no_file(workshop: Workshop, come: Come) -> None:
    come(shape(id=INT32, day=DATE, price=INT64), [{"id": 1, "day": date(2026, 1, 31), "price": 2**53}])
    before = {path: path.read_bytes() for path in files(workshop)}

    moment = datetime(2026, 2, 1, 12, tzinfo=UTC)
    come(shape(id=INT64, day=MOMENT, price=DOUBLE), [{"id": 2**31, "day": moment, "price": 0.5}])

    assert {path: path.read_bytes() for path in before} == before
    assert workshop.query("SELECT id, epoch_us(day), price, typeof(id) FROM orders ORDER BY id") == [
        (1, 1_769_817_600_000_000, 2.0**53, "BIGINT"),
        (2**31, 1_769_947_200_000_000, 0.5, "BIGINT"),
    ]


@pytest.mark.spec("HP-070")
def test_whole_numbers_that_are_no_doubles_become_text_and_none_is_lost(
    workshop: Workshop, come: Come
) -> None:
    come(shape(id=INT64), [{"id": 2**53 + 1}])

    come(shape(id=DOUBLE), [{"id": "0.5"}])

    assert workshop.query("SELECT id FROM orders ORDER BY id") == [("0.5",), ("9007199254740993",)]


@pytest.mark.spec("HP-071")
def test_rows_from_before_a_declared_rename_have_the_new_name(workshop: Workshop, come: Come) -> None:
    come(shape("id", id=INT64, mail=TEXT), [{"id": 1, "mail": "a@b"}])

    come(shape("id", id=INT64, email=was_called("mail", TEXT)), [{"id": 2, "email": "c@d"}])

    assert workshop.query("SELECT * FROM orders ORDER BY id") == [(1, "a@b"), (2, "c@d")]
    assert workshop.query("SELECT email FROM orders WHERE id = 1") == [("a@b",)]


@pytest.mark.spec("HP-072")
def test_rows_from_before_an_undeclared_rename_keep_the_old_column(workshop: Workshop, come: Come) -> None:
    come(shape("id", id=INT64, mail=TEXT), [{"id": 1, "mail": "a@b"}])

    come(shape("id", id=INT64, email=TEXT), [{"id": 2, "email": "c@d"}])

    assert workshop.query("SELECT id, mail, email FROM orders ORDER BY id") == [
        (1, "a@b", None),
        (2, None, "c@d"),
    ]


def test_nested_values_of_every_era_are_read_as_they_are_now(workshop: Workshop, come: Come) -> None:
    before = pa.struct([("zip", INT32), ("city", TEXT)])
    after = pa.struct([("zip", INT64), ("street", TEXT)])
    come(
        shape(id=INT64, home=before, n=list_of(INT32)), [{"id": 1, "home": {"zip": 1, "city": "a"}, "n": [1]}]
    )

    come(
        shape(id=INT64, home=after, n=list_of(INT64)),
        [{"id": 2, "home": {"zip": 2**40, "street": "b"}, "n": [2**40]}],
    )

    assert workshop.query("SELECT home, n FROM orders ORDER BY id") == [
        ({"zip": 1, "city": "a", "street": None}, [1]),
        ({"zip": 2**40, "city": None, "street": "b"}, [2**40]),
    ]


@pytest.mark.spec("HP-070")
@pytest.mark.parametrize(
    ("new", "there", "read"),
    [
        (TEXT, "x", ["-5", "0.1", "true", "2026-01-31", "1.50", "[1,2]", "ä"]),
        (BINARY, b"\xff", [b"-5", b"0.1", b"true", b"2026-01-31", b"1.50", b"[1,2]", "ä".encode()]),
    ],
    ids=["text", "bytes"],
)
def test_what_an_operator_accepts_is_read_with_every_value_from_before(
    workshop: Workshop, come: Come, new: pa.DataType, there: Any, read: list[Any]
) -> None:
    before = {
        "whole": (INT64, -5),
        "number": (DOUBLE, 0.1),
        "flag": (pa.bool_(), True),
        "day": (DATE, date(2026, 1, 31)),
        "price": (pa.decimal128(5, 2), Decimal("1.50")),
        "list": (list_of(INT64), [1, 2]),
        "text": (TEXT, "ä"),
    }
    old = {name: kind for name, (kind, _) in before.items()}
    come(shape(id=INT64, **old), [{"id": 1} | {name: value for name, (_, value) in before.items()}])

    come(shape(id=INT64, **dict.fromkeys(old, new)), [{"id": 2} | dict.fromkeys(old, there)])

    assert workshop.query("SELECT * EXCLUDE (id) FROM orders ORDER BY id") == [
        tuple(read),
        (there,) * len(old),
    ]
