"""Two histories of one table, made one again."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.pipelines.evolution.evolving import evolved
from tests.pipelines.evolution.shapes import BINARY, INT32, INT64, TEXT, shape, was_called

from hakiri.pipelines.evolution import Divergence, Side, TableShape, accepted, migrated_key, reconciled
from hakiri.pipelines.evolution.forms import list_of

BASE = shape("id", id=INT64, mail=TEXT)


def after(*steps: TableShape) -> TableShape:
    stored = BASE
    for step in steps:
        made = evolved(stored, step)
        assert not made.is_refused
        stored = made.shape
    return stored


def problems(found: TableShape | Divergence) -> list[tuple[str, bool]]:
    assert isinstance(found, Divergence)
    return [(conflict.problem, conflict.is_choice) for conflict in found.conflicts]


def test_identical_schemas_merge_silently() -> None:
    assert reconciled(BASE, shape("id", id=INT64, mail=TEXT)) == BASE


def test_schemas_that_differ_in_their_order_alone_are_identical() -> None:
    assert reconciled(BASE, shape("id", mail=TEXT, id=INT64)) == BASE


def test_columns_of_either_side_are_in_both() -> None:
    ours = after(shape("id", id=INT64, mail=TEXT, a=pa.struct([("x", INT32)]), _extra=TEXT))
    theirs = after(shape("id", id=INT64, mail=TEXT, a=pa.struct([("y", TEXT)]), b=INT32, _extra=TEXT))

    assert reconciled(ours, theirs) == shape(
        "id", id=INT64, mail=TEXT, a=pa.struct([("x", INT32), ("y", TEXT)]), b=INT32, _extra=TEXT
    )


def test_a_conflict_of_types_becomes_the_type_that_holds_both() -> None:
    found = reconciled(shape(a=INT32, b=INT64, c=list_of(INT32)), shape(a=INT64, b=TEXT, c=list_of(INT64)))

    assert isinstance(found, TableShape)
    assert found.schema == shape(a=INT64, b=TEXT, c=list_of(INT64)).schema
    assert found.schema.field("b").metadata == {b"hakiri.accepts": b'["int64"]'}


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_rename_on_one_side_counts_for_both(is_ours: bool) -> None:
    renamed = after(shape("id", id=INT64, email=was_called("mail", TEXT)))
    widened = after(shape("id", id=INT64, mail=TEXT, note=TEXT))

    found = reconciled(renamed, widened) if is_ours else reconciled(widened, renamed)

    assert isinstance(found, TableShape)
    assert found.schema.names == ["id", "email", "note"]
    assert found.schema.field("email").metadata == {b"hakiri.was": b'["mail"]'}


def test_two_renames_of_one_column_need_a_choice() -> None:
    ours = after(shape("id", id=INT64, email=was_called("mail", TEXT)))
    theirs = after(shape("id", id=INT64, address=was_called("mail", TEXT)))

    found = reconciled(ours, theirs)
    chosen = [reconciled(ours, theirs, take=side) for side in Side]

    assert problems(found) == [("one column was renamed to `email` here and to `address` there", True)]
    assert isinstance(found, Divergence)
    error = found.error("people")
    assert str(error) == (
        "the two schemas of table `people` do not go together: "
        "one column was renamed to `email` here and to `address` there"
    )
    assert error.hint == "choose with `--take ours` or `--take theirs`"
    assert [
        [(field.name, field.metadata) for field in each.schema][1]
        for each in chosen
        if isinstance(each, TableShape)
    ] == [
        ("email", {b"hakiri.was": b'["mail","address"]'}),
        ("address", {b"hakiri.was": b'["mail","email"]'}),
    ]


def test_a_renamed_key_is_the_same_key() -> None:
    ours = after(shape("number", number=was_called("id", INT64), mail=TEXT))

    found = reconciled(ours, after(shape("id", id=INT64, mail=TEXT, note=TEXT)))

    assert isinstance(found, TableShape)
    assert found.primary_key == ("number",)


def test_two_keys_need_a_choice() -> None:
    theirs = migrated_key(BASE, ("id", "mail"))

    assert problems(reconciled(BASE, theirs)) == [
        ("the primary key is `id` here and `id`, `mail` there", True)
    ]
    assert reconciled(BASE, theirs, take=Side.OURS) == BASE
    assert reconciled(BASE, theirs, take=Side.THEIRS) == theirs


@pytest.mark.parametrize(
    ("ours", "theirs", "problem"),
    [
        (shape(a=TEXT), shape(a=list_of(BINARY)), "`a` is string here and list<binary> there"),
        (shape(a=TEXT), shape(A=TEXT), "`A` cannot be added: it differs from `a` only in case"),
        (
            shape(s=pa.struct([("x", TEXT)])),
            shape(s=pa.struct([("X", TEXT)])),
            "names inside of `s` differ only in case: x",
        ),
        (
            evolved(shape(a=TEXT), shape(b=was_called("a", TEXT))).shape,
            shape(a=TEXT, b=TEXT),
            "`b` was called both `a` and `b`",
        ),
    ],
)
def test_some_conflicts_no_choice_can_settle(ours: TableShape, theirs: TableShape, problem: str) -> None:
    found = reconciled(ours, theirs, take=Side.OURS)

    assert problems(found) == [(problem, False)]
    assert isinstance(found, Divergence)
    assert found.error("t").hint == (
        "rename one of the two columns where it comes from, and run that pipeline first"
    )


def test_the_notes_of_both_are_kept() -> None:
    ours = accepted(BASE, shape("id", id=INT32, mail=TEXT))
    theirs = after(shape("id", id=INT64))

    found = reconciled(ours, theirs)

    assert isinstance(found, TableShape)
    assert found.schema.field("id").metadata == {b"hakiri.accepts": b'["int32"]'}
    assert found.schema.field("mail").metadata == {b"hakiri.missing": b"true"}
