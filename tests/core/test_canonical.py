from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.canonical import NotCanonical, canonical_json, sha256_of

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_keys_are_sorted_and_nothing_is_escaped_that_need_not_be() -> None:
    assert canonical_json({"b": [1, 2.5, True, None], "a": "Grüße\n", "B": ()}) == (
        '{"B":[],"a":"Grüße\\n","b":[1,2.5,true,null]}'
    )


def test_equal_moments_are_equal_texts_whatever_their_offset() -> None:
    in_utc = datetime(2025, 1, 1, 10, 30, tzinfo=UTC)
    in_two_hours_east = in_utc.astimezone(timezone(timedelta(hours=2)))

    assert canonical_json(in_utc) == canonical_json(in_two_hours_east) == '"2025-01-01T10:30:00Z"'


def test_dates_times_and_moments_without_an_offset_are_written_as_they_are() -> None:
    local = datetime.fromisoformat("2025-01-01T10:30:00")

    assert (
        canonical_json([date(2010, 1, 1), time(7, 32), local])
        == '["2010-01-01","07:32:00","2025-01-01T10:30:00"]'
    )


def test_a_hash_names_its_algorithm_and_does_not_depend_on_order() -> None:
    assert sha256_of({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert sha256_of({"a": 1, "b": 2}) == sha256_of({"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"a": [0, float("nan")]},
            "the value at `$.a[1]` has no canonical JSON: `nan` is not a number in JSON",
        ),
        (float("-inf"), "the value at `$` has no canonical JSON: `-inf` is not a number in JSON"),
        ({"a": {1: 2}}, "the value at `$.a` has no canonical JSON: the key `1` is not a text"),
        ({"a": {1}}, "the value at `$.a` has no canonical JSON: `set` is not a JSON type"),
        (b"a", "the value at `$` has no canonical JSON: `bytes` is not a JSON type"),
        (["\ud800"], "the value at `$[0]` has no canonical JSON: the text is not valid Unicode"),
    ],
)
def test_a_value_without_one_text_is_refused_with_its_path(value: object, message: str) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical_json(value)

    assert str(caught.value) == message


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(NotCanonical, match="nested too deeply or holds itself"):
        canonical_json(endless)


@given(PLAIN)
def test_a_canonical_text_reads_back_and_stays_the_same(value: object) -> None:
    text = canonical_json(value)

    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text
