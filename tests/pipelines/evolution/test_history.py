"""What happened between two versions of a table."""

from __future__ import annotations

import pyarrow as pa
from tests.pipelines.evolution.evolving import evolved
from tests.pipelines.evolution.shapes import DATE, DOUBLE, INT32, INT64, MOMENT, TEXT, shape, was_called

from hakiri.pipelines.evolution import ChangeKind, changes_between, kinds_text, migrated_key
from hakiri.pipelines.evolution.forms import list_of


def test_a_history_is_told_step_by_step() -> None:
    steps = [
        shape("id", id=INT32, mail=TEXT),
        shape("id", id=INT64, mail=TEXT, tags=list_of(INT32)),
        shape("id", id=INT64, email=was_called("mail", TEXT), tags=list_of(INT64)),
        shape("id", id=INT64, email=TEXT),
    ]
    told, stored = [], None

    for incoming in steps:
        made = evolved(stored, incoming)
        told.append([str(change) for change in changes_between(stored, made.shape)])
        stored = made.shape

    assert told == [
        ["table created with 2 columns"],
        ["column `id` changed from int32 to int64", "column `tags` added as list<int32>"],
        ["column `mail` renamed to `email`", "column `tags[]` changed from int32 to int64"],
        ["column `tags` dropped at the source"],
    ]


def test_a_change_of_key_is_told_and_a_renamed_key_is_none() -> None:
    stored = shape("a", a=INT64, b=INT64)
    migrated = migrated_key(stored, ("a", "b"))
    renamed = evolved(stored, shape("c", c=was_called("a", INT64), b=INT64)).shape

    assert [str(change) for change in changes_between(stored, migrated)] == [
        "primary key changed from a to a, b"
    ]
    assert [change.kind for change in changes_between(stored, renamed)] == [ChangeKind.RENAME]


def test_whole_numbers_that_became_doubles_were_widened() -> None:
    assert [change.kind for change in changes_between(shape(a=INT64), shape(a=DOUBLE))] == [
        ChangeKind.WIDEN_TYPE
    ]


def test_a_column_that_another_program_took_away_is_told_too() -> None:
    found = changes_between(
        shape(a=INT64, b=pa.struct([("x", DATE), ("y", DATE)])), shape(b=pa.struct([("x", DATE)]))
    )

    assert [change.column for change in found] == ["b.y", "a"]


def test_the_kinds_of_a_step_have_a_fixed_order() -> None:
    before = shape("a", a=INT64, b=INT32, c=TEXT)
    after = migrated_key(evolved(before, shape("a", a=INT64, b=MOMENT, d=TEXT)).shape, ("b",))
    changes = changes_between(before, after)

    assert kinds_text(changes) == kinds_text(reversed(changes))
    assert kinds_text(()) == ""
