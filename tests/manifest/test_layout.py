"""The scanners find every key of every text, and the editors change nothing else."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.manifest.changes import REMOVE, changed, without_empty
from hakiri.manifest.json_edit import json_remove, json_set
from hakiri.manifest.json_layout import scan_json
from hakiri.manifest.layout import KeyPath, SpotKind, dotted, line_of
from hakiri.manifest.toml_edit import toml_comments, toml_comments_of, toml_remove, toml_set
from hakiri.manifest.toml_layout import scan_toml
from hakiri.manifest.toml_text import toml_key, toml_value

KEYS = st.sampled_from(["a", "b", "id", "x-y", "a b", "x.y", "é", 'q"q', "1", ""])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    TEXTS
    | st.integers(-(2**63), 2**63 - 1)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
)
TABLES = st.recursive(
    st.dictionaries(KEYS, SCALARS, max_size=3),
    lambda inner: st.dictionaries(
        KEYS,
        SCALARS | inner | st.lists(SCALARS, max_size=3) | st.lists(inner, min_size=1, max_size=2),
        max_size=4,
    ),
    max_leaves=12,
)


class Writer:
    """Writes a table as TOML in any of the ways in which a person could have written it."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def table(self, data: dict[str, Any], header: tuple[str, ...]) -> str:
        body, later = "", ""
        for key, value in data.items():
            style = self._draw(st.sampled_from(["inline", "header", "dotted"]))
            if isinstance(value, dict) and value and style == "header":
                head = f"{self._noise()}[{toml_key(*header, key)}]{self._comment()}\n"
                later += head + self.table(value, (*header, key))
            elif isinstance(value, dict) and value and style == "dotted":
                for name, item in value.items():
                    body += self._line(f"{toml_key(key)} . {toml_key(name)}", item)
            elif (
                isinstance(value, list)
                and value
                and all(isinstance(v, dict) for v in value)
                and style == "header"
            ):
                for item in value:
                    head = f"{self._noise()}[[ {toml_key(*header, key)} ]]{self._comment()}\n"
                    later += head + self.table(item, (*header, key))
            else:
                body += self._line(toml_key(key), value)
        return body + later

    def _line(self, key: str, value: Any) -> str:
        return f"{self._noise()}{key} = {self._value(value)}{self._comment()}\n"

    def _value(self, value: Any) -> str:
        if isinstance(value, list) and self._draw(st.booleans()):
            return (
                "[ # [ not a list\n"
                + "".join(f"  {self._value(item)}, # ] , {{ ' \"\n" for item in value)
                + "]"
            )
        if isinstance(value, str) and "'" not in value and value.isprintable() and self._draw(st.booleans()):
            return f"'''\n{value}'''"
        return toml_value(value)

    def _noise(self) -> str:
        return self._draw(st.sampled_from(["", "", "\n", "# a = 1 'quote\n", "  ", "\n# [table]\n\n"]))

    def _comment(self) -> str:
        return self._draw(st.sampled_from(["", "", ' # why "not"', "\t#x = 1"]))


@st.composite
def toml_texts(draw: Any) -> tuple[dict[str, Any], str]:
    data = draw(TABLES)
    text = Writer(draw).table(data, ())
    return data, text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def paths(data: Any, path: KeyPath = ()) -> list[tuple[KeyPath, Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [pair for key, item in items for pair in [((*path, key), item), *paths(item, (*path, key))]]


@given(toml_texts())
@settings(deadline=None)
def test_every_key_of_a_toml_text_is_found_where_its_value_stands(
    written: tuple[dict[str, Any], str],
) -> None:
    data, text = written
    assert tomllib.loads(text) == data

    spots = scan_toml(text).spots

    assert set(spots) == {(), *(path for path, _ in paths(data))}
    for path, value in paths(data):
        spot = spots[path]
        if spot.kind in {SpotKind.ENTRY, SpotKind.MEMBER, SpotKind.ITEM}:
            assert tomllib.loads(f"k = {text[spot.value_start : spot.value_end]}")["k"] == value


@given(toml_texts(), st.data())
@settings(deadline=None)
def test_a_toml_value_is_set_and_no_comment_is_lost(
    written: tuple[dict[str, Any], str], data: st.DataObject
) -> None:
    old, text = written
    scalars = [path for path, value in paths(old) if not isinstance(value, dict | list)]
    path = data.draw(st.sampled_from([*scalars, ("new",)]))
    value = data.draw(SCALARS)

    new = toml_set(text, path, value)

    assert tomllib.loads(new) == changed(old, path, value)
    assert toml_comments(new) == toml_comments(text)


@given(toml_texts(), st.data())
@settings(deadline=None)
def test_a_key_is_added_to_any_toml_table(written: tuple[dict[str, Any], str], data: st.DataObject) -> None:
    old, text = written
    tables = [path for path, value in paths(old) if isinstance(value, dict)]
    parent = data.draw(st.sampled_from([(), *tables]))

    new = toml_set(text, (*parent, "new"), {"k": 1})

    assert tomllib.loads(new) == changed(old, (*parent, "new"), {"k": 1})
    assert toml_comments(new) == toml_comments(text)


@given(toml_texts(), st.data())
@settings(deadline=None)
def test_a_toml_key_is_removed_with_the_comments_that_were_told(
    written: tuple[dict[str, Any], str], data: st.DataObject
) -> None:
    old, text = written
    if not old:
        return
    path = data.draw(st.sampled_from([path for path, _ in paths(old)]))

    new = toml_remove(text, path)

    assert without_empty(tomllib.loads(new)) == without_empty(changed(old, path, REMOVE))
    lost = toml_comments_of(text, path)
    assert sorted([*toml_comments(new), *lost]) == sorted(toml_comments(text))


@given(TABLES, st.sampled_from([None, 1, "\t"]), st.data())
@settings(deadline=None)
def test_every_key_of_a_json_text_is_found_changed_and_removed(
    old: dict[str, Any], indent: Any, data: st.DataObject
) -> None:
    text = json.dumps(old, indent=indent)
    spots = scan_json(text).spots
    assert set(spots) == {(), *(path for path, _ in paths(old))}
    assert all(
        json.loads(text[spots[p].value_start : spots[p].value_end]) == value for p, value in paths(old)
    )
    path = data.draw(st.sampled_from([*(path for path, _ in paths(old)), ("new",)]))
    value = data.draw(SCALARS | TABLES)

    assert json.loads(json_set(text, path, value)) == changed(old, path, value)
    if path in spots:
        assert json.loads(json_remove(text, path)) == changed(old, path, REMOVE)


def test_lines_are_found_in_every_way_of_writing_toml() -> None:
    text = '''# top
title = """
many
lines"""
a."b.c" = 1
list = [
  "x", # one
  { name = "y" },
]

[server]
[server.inner] # header
k = 2

[[pipeline]]
[[pipeline]]
id = "two"
[[pipeline.tables]]
name = "t"
'''
    spots = scan_toml(text).spots

    lines = {dotted(path): line_of(text, spot.start) for path, spot in spots.items() if path}

    assert lines == {
        "title": 2,
        "a": 5,
        'a."b.c"': 5,
        "list": 6,
        "list[0]": 7,
        "list[1]": 8,
        "list[1].name": 8,
        "server": 11,
        "server.inner": 12,
        "server.inner.k": 13,
        "pipeline": 15,
        "pipeline[0]": 15,
        "pipeline[1]": 16,
        "pipeline[1].id": 17,
        "pipeline[1].tables": 18,
        "pipeline[1].tables[0]": 18,
        "pipeline[1].tables[0].name": 19,
    }


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a = 1 # c\n", ("b",), "a = 1 # c\nb = 2\n"),
        ("a = 1", ("b",), "a = 1\nb = 2"),
        ("[t]\n", ("t", "b"), "[t]\nb = 2\n"),
        ("[t]\n  a = 1\n\n# next\n[u]\n", ("t", "b"), "[t]\n  a = 1\n  b = 2\n\n# next\n[u]\n"),
        ("t = {}\n", ("t", "b"), "t = { b = 2 }\n"),
        ("t = { a = 1 }\n", ("t", "b"), "t = { a = 1, b = 2 }\n"),
        ("t.a = 1\nz = 1\n", ("t", "b"), "t.a = 1\nt.b = 2\nz = 1\n"),
        ("a = 1\r\n", ("b",), "a = 1\r\nb = 2\r\n"),
        ("# only a comment\n", ("b",), "b = 2\n# only a comment\n"),
        ("a = [1, 9, 3]\n", ("a", 1), "a = [1, 2, 3]\n"),
    ],
)
def test_a_toml_key_is_written_where_a_person_would_write_it(text: str, path: KeyPath, expected: str) -> None:
    assert toml_set(text, path, 2) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a = 1 # c\nb = 2\n", ("a",), "b = 2\n"),
        ("t = { a = 1, b = 2 }\n", ("t", "a"), "t = { b = 2 }\n"),
        ("t = { a = 1, b = 2 }\n", ("t", "b"), "t = { a = 1 }\n"),
        ("t = { a = 1 }\n", ("t", "a"), "t = {}\n"),
        ("l = [\n  1, # one\n  2, # two\n]\n", ("l", 0), "l = [\n  2, # two\n]\n"),
        ("[a]\nx = 1\n\n# about b\n[b]\ny = 1\n\n[c]\n", ("b",), "[a]\nx = 1\n\n[c]\n"),
        ("[a]\nx = 1\n# of a or of b?\n[b]\ny = 1\n", ("b",), "[a]\nx = 1\n# of a or of b?\n"),
        ("[a]\nx = 1\n\n# about b\n[b]\n", ("a",), "# about b\n[b]\n"),
        ("[[p]]\ni = 1\n[p.s]\n[[p]]\ni = 2\n[p.s]\n", ("p", 0), "[[p]]\ni = 2\n[p.s]\n"),
    ],
)
def test_a_toml_key_is_removed_as_a_person_would_remove_it(text: str, path: KeyPath, expected: str) -> None:
    assert toml_remove(text, path) == expected
