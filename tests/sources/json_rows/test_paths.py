from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.sources.json_rows.paths import field_path, item_path, names_in


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("", ()),
        ("data", ("data",)),
        ("data.items", ("data", "items")),
        (r"a\.b.c", ("a.b", "c")),
        (r"a\\.b", ("a\\", "b")),
        ("a.", ("a", "")),
        ("a\\", ("a\\",)),
    ],
)
def test_a_path_is_split_into_its_names(path: str, names: tuple[str, ...]) -> None:
    assert names_in(path) == names


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4))
def test_names_that_were_joined_are_found_again(names: list[str]) -> None:
    path = None
    for name in names:
        path = field_path(path, name)

    assert names_in(path or "") == (tuple(names) if names != [""] else ())


def test_the_path_of_an_item_is_not_that_of_a_field() -> None:
    assert item_path(field_path(None, "a"), 0) == "a[0]"
    assert field_path(None, "a[0]") == "a\\[0]"
