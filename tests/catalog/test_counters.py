"""Details of counters on SQL databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hakiri.catalog.sql.counters import SqlCounters
from hakiri.catalog.sql.database import Database


def test_a_counter_begins_at_one(database: Database) -> None:
    assert SqlCounters(database).number("rows") == 1


def test_numbers_follow_each_other_without_a_gap(database: Database) -> None:
    counters = SqlCounters(database)

    assert [counters.number("rows", count) for count in (3, 1, 10, 1)] == [1, 4, 5, 15]


def test_every_name_counts_for_itself(database: Database) -> None:
    counters = SqlCounters(database)
    counters.number("rows", 100)

    assert counters.number("Rows") == 1


@pytest.mark.parametrize("count", [0, -1])
def test_a_counter_gives_one_number_at_least(database: Database, count: int) -> None:
    with pytest.raises(ValueError, match="one number or more"):
        SqlCounters(database).number("rows", count)


def test_no_number_is_given_twice_however_many_ask(database: Database) -> None:
    counters = SqlCounters(database)

    with ThreadPoolExecutor(8) as workers:
        firsts = list(workers.map(lambda _: counters.number("rows", 3), range(100)))

    assert sorted(firsts) == list(range(1, 301, 3))
