"""Whatever stands in a file, reading it gives a pipeline or problems with a line, and never anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.manifest.load import check_text
from hakiri.manifest.problems import Code
from hakiri.manifest.read import Form, read_text

DOCUMENTS = Path(__file__).parent / "documents"
TEXTS: list[tuple[str, Form, str]] = [
    ("hakiri.toml", "toml", (DOCUMENTS / "hakiri-000.toml").read_text(encoding="utf-8")),
    ("pipelines/a.toml", "toml", (DOCUMENTS / "backfill-000.toml").read_text(encoding="utf-8")),
    ("pipelines/b.json", "json", (DOCUMENTS / "github-issues-000.json").read_text(encoding="utf-8")),
]
WORDS = ["[[", "pipeline", "tables", "1e999", "nan", "null", "true", "\x00", "é", "[x]\n", "2020-01-01"]
PIECES = st.sampled_from([*"[]{}\"'=,.#\\\n:", *WORDS]) | st.text(max_size=3)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "id",
    "source",
    "tables",
    "schedule",
    "transforms",
    "backfill",
    "secrets",
    "destination",
    "$schema",
    "x",
]


@given(st.sampled_from(TEXTS), st.data())
@settings(deadline=None, max_examples=300)
def test_a_damaged_file_gives_problems_with_places(
    document: tuple[str, Form, str], data: st.DataObject
) -> None:
    file, form, text = document
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 6)))
        text = text[:start] + data.draw(PIECES) + text[end:]

    scan = check_text(read_text(file, form, text))

    lines = text.count("\n") + 1
    for problem in scan.problems:
        assert problem.place.file == file
        assert problem.place.line is None or 1 <= problem.place.line <= lines
    assert scan.problems or all(definition.spec for definition in scan.definitions)


@given(st.dictionaries(st.sampled_from(KEYS), JSON_VALUES, max_size=6))
@settings(deadline=None, max_examples=300)
def test_random_values_under_known_keys_give_problems_with_hints(data: dict[str, Any]) -> None:
    scan = check_text(read_text("pipelines/a.json", "json", json.dumps(data)))

    assert all(problem.message and problem.hint for problem in scan.problems)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '{"a": ' * 100_000),
        ("json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        ("json", '{"a": ' * 80 + "1" + "}" * 80),
        ("toml", "a = " + "[" * 5000 + "]" * 5000),
        ("toml", "a = " + "[" * 80 + "]" * 80),
        ("toml", ".".join("a" * 80) + " = 1"),
    ],
)
def test_deep_nesting_is_told(form: Form, text: str) -> None:
    reading = read_text(f"pipelines/a.{form}", form, text)

    assert [problem.code for problem in reading.problems] in ([Code.TOO_DEEP], [Code.SYNTAX])


def test_a_problem_beside_a_spoilt_value_is_told_too() -> None:
    text = '{"id": "a", "source": {"connector": "a"}, "tables": [],\n"incremental": "\\ud800",\n"x": 1e999\n}'

    scan = check_text(read_text("pipelines/a.json", "json", text))

    assert [(str(p.place), p.code) for p in scan.problems] == [
        ("pipelines/a.json:2", Code.TEXT),
        ("pipelines/a.json:3", Code.NUMBER),
        ("pipelines/a.json:1", Code.EMPTY),
    ]
