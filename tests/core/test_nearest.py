from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.nearest import nearest

KEYS = ["id", "source", "tables", "schedule", "incremental", "primary_key", "default_destination", "secrets"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("shcedule", "schedule"),
        ("schedul", "schedule"),
        ("scheddule", "schedule"),
        ("sched", "schedule"),
        ("Schedule", "schedule"),
        ("table", "tables"),
        ("secret", "secrets"),
        ("primary-key", "primary_key"),
        ("primaryKey", "primary_key"),
        ("primary_keys", "primary_key"),
        ("destination_default", "default_destination"),
        ("suorce", "source"),
        ("incr", "incremental"),
        ("schedule_every", "schedule"),
        ("ID", "id"),
    ],
)
def test_a_mistyped_word_finds_the_one_that_was_meant(word: str, meant: str) -> None:
    assert nearest(word, KEYS) == meant


@pytest.mark.parametrize("word", ["", "x", "owner", "retries", "it", "zzzzzzzz", "s" * 1000])
def test_a_word_that_is_near_to_nothing_finds_nothing(word: str) -> None:
    assert nearest(word, KEYS) is None


def test_a_plural_in_ies_finds_its_singular() -> None:
    assert nearest("queries", ["query", "quarry"]) == "query"
    assert nearest("indexes", ["index", "incremental"]) == "index"


def test_a_forgotten_section_is_found() -> None:
    assert nearest("master", ["engine.master", "sync.mode"]) == "engine.master"


def test_nothing_is_near_when_nothing_is_known() -> None:
    assert nearest("anything", []) is None


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=6))
def test_the_answer_is_a_known_word_and_does_not_depend_on_their_order(word: str, known: list[str]) -> None:
    answer = nearest(word, known)

    assert answer is None or answer in known
    assert answer == nearest(word, reversed(known))


@given(st.text(alphabet="abcdefghij_", min_size=4, max_size=12), st.data())
def test_two_swapped_neighbours_are_always_forgiven(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    assert nearest(swapped, [word]) == word
