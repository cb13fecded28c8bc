"""Names of columns: those that clash, and those that change."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.pipelines.evolution.evolving import columns, evolved, told
from tests.pipelines.evolution.shapes import INT8, INT32, INT64, TEXT, shape, was_called

from hakiri.pipelines.evolution import ChangeKind, ContractMode, TableShape
from hakiri.pipelines.evolution.forms import list_of
from hakiri.pipelines.evolution.shapes import NO_SHAPE

ORDERS = shape("id", id=INT64, amount=INT64, note=TEXT)
TWICE = pa.struct([("x", INT8), ("X", INT8)])
UNION = pa.dense_union([pa.field("x", INT8)])

# Names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(ContractMode))
def test_a_name_that_differs_from_a_stored_one_only_in_case_is_refused(mode: str) -> None:
    made = evolved(shape(Straße=TEXT), shape(STRASSE=TEXT), mode)

    assert told(made.refused) == [
        "add_column: column `STRASSE` added as string (it differs from `Straße` only in case)"
    ]
    assert made.error("t", "p").hint == "give it another name or type in a transform"


@pytest.mark.parametrize(
    ("incoming", "column", "why"),
    [
        (pa.schema([("a", INT64), ("A", INT64)]), "A", "it differs from `a` only in case"),
        (pa.schema([("a", INT64), ("a", INT64)]), "a", "it is there twice"),
        (pa.schema([("s", list_of(TWICE))]), "s[].X", "it differs from `x` only in case"),
        (pa.schema([("a", INT64), ("_SEQ", INT64)]), "_SEQ", "the store keeps that name for itself"),
        (pa.schema([("u", UNION)]), "u", "Spark has no type for dense_union<x: int8=0>"),
    ],
)
@pytest.mark.parametrize("stored", [None, ORDERS], ids=["new table", "stored table"])
def test_columns_that_cannot_be_stored_are_refused(
    stored: TableShape | None, incoming: pa.Schema, column: str, why: str
) -> None:
    made = evolved(stored, TableShape(schema=incoming, primary_key=()))

    refused = [change for change in made.refused if change.kind is ChangeKind.ADD_COLUMN]
    assert [(change.column, change.rule, change.is_acceptable) for change in refused] == [
        (column, why, False)
    ]
    assert made.shape == (stored or NO_SHAPE)


def test_a_column_without_a_value_is_there_when_it_has_one() -> None:
    unknown = shape(a=INT64, b=pa.null(), c=pa.struct([("x", pa.null())]))

    made = evolved(None, unknown)
    later = evolved(made.shape, shape(a=pa.null(), b=TEXT, c=pa.struct([("x", INT8), ("y", pa.null())])))

    assert made.shape == shape(a=INT64)
    assert [change.column for change in made.ignored] == ["b", "c"]
    assert {change.rule for change in made.ignored} == {
        "nothing but NULL was seen of it, so it is not stored yet"
    }
    assert later.shape == shape(a=INT64, b=TEXT, c=pa.struct([("x", INT8)]))


# Renames ----------------------------------------------------------------------------------------------------


def test_a_column_may_be_renamed_and_widened_at_once() -> None:
    made = evolved(shape(a=INT32), shape(b=was_called("a", INT64)))

    assert (columns(made), made.change_kind) == ({"b": INT64}, "widen_type+rename")


def test_a_column_may_be_renamed_again_and_back() -> None:
    first = evolved(shape(a=INT64), shape(b=was_called("a", INT64)))
    second = evolved(first.shape, shape(c=was_called("b", INT64)))
    back = evolved(second.shape, shape(a=was_called("c", INT64)))

    assert second.shape.schema.field("c").metadata == {b"hakiri.was": b'["a","b"]'}
    assert back.shape.schema.field("a").metadata == {b"hakiri.was": b'["b","c"]'}


def test_a_rename_over_two_steps_is_found_by_the_former_names() -> None:
    stored = evolved(shape(a=INT64), shape(b=was_called("a", INT64))).shape

    made = evolved(stored, shape(c=was_called("a", INT64)))

    assert told(made.changes)[0].startswith("rename: column `b` renamed to `c`")


def test_a_rename_may_change_nothing_but_case() -> None:
    made = evolved(shape("Id", Id=INT64), shape("id", id=was_called("Id", INT64)))

    assert (made.shape.schema.names, made.shape.primary_key) == (["id"], ("id",))


def test_a_rename_of_a_column_that_never_was_is_a_new_column() -> None:
    made = evolved(shape(a=INT64), shape(a=INT64, c=was_called("b", INT64)))

    assert (columns(made), made.change_kind) == ({"a": INT64, "c": INT64}, "add_column")


def test_a_rename_that_comes_too_late_is_said_and_does_nothing() -> None:
    stored = shape(a=INT64, b=INT64)

    made = evolved(stored, shape(a=INT64, b=was_called("a", INT64)))

    assert (made.shape, made.changes) == (stored, ())
    assert told(made.ignored) == ["rename: column `a` renamed to `b` (both are columns of the table already)"]


@pytest.mark.parametrize(
    ("incoming", "why"),
    [
        (shape(a=INT64, c=was_called("a", INT64), b=INT64), "`a` is a column of the source still"),
        (shape(B=was_called("a", INT64), b=INT64), "it differs from `b` only in case"),
    ],
)
def test_a_rename_that_cannot_be_is_refused(incoming: TableShape, why: str) -> None:
    stored = shape(a=INT64, b=INT64)

    made = evolved(stored, incoming)

    assert any(change.rule == why and not change.is_acceptable for change in made.refused)
    assert made.shape == stored


def test_a_former_name_is_not_given_to_another_column() -> None:
    stored = evolved(shape(mail=TEXT), shape(email=was_called("mail", TEXT))).shape

    made = evolved(stored, shape(email=TEXT, Mail=TEXT))

    assert told(made.refused) == [
        "add_column: column `Mail` added as string (it is a former name of `email`)"
    ]
