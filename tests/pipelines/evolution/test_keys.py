"""Another key for a table."""

from __future__ import annotations

import pytest
from tests.pipelines.evolution.shapes import INT64, TEXT, shape

from hakiri.pipelines.evolution import KeyImpossible, migrated_key
from hakiri.pipelines.evolution.forms import list_of

ORDERS = shape("id", id=INT64, region=TEXT, tags=list_of(TEXT))


@pytest.mark.spec("HP-073")
@pytest.mark.parametrize("key", [("id", "region"), ("region",), ()])
def test_a_table_takes_another_key_or_none(key: tuple[str, ...]) -> None:
    migrated = migrated_key(ORDERS, key)

    assert (migrated.primary_key, migrated.schema) == (key, ORDERS.schema)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (("id", "place"), "there is no column `place`"),
        (("id", "id"), "a column is named twice"),
        (("tags",), "`tags` is a list<string>"),
    ],
)
def test_a_key_that_cannot_be_is_refused(key: tuple[str, ...], problem: str) -> None:
    with pytest.raises(KeyImpossible) as told:
        migrated_key(ORDERS, key)

    assert str(told.value) == f"these columns cannot be a primary key: {problem}"
    assert told.value.hint == "choose among id, region, tags"
