"""Statements in files, for tests that go past the program to the store itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

FOLDER = Path(__file__).parents[1] / "catalog" / "raw"
_HEAD = re.compile(r"^-- (\w+) --$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


class Attempt(NamedTuple):
    """A statement, and the name of its section."""

    name: str
    statement: str

    def __str__(self) -> str:
        return self.statement


def statements(file: str) -> list[str]:
    """The statements of a file without sections."""
    return list(_statements((FOLDER / file).read_text("utf-8")))


def attempts(*files: str) -> list[Attempt]:
    """The statements of files with sections, which begin with a line `-- name --`."""
    found: list[Attempt] = []
    for file in files:
        _, *parts = _HEAD.split((FOLDER / file).read_text("utf-8"))
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            found += (Attempt(name, statement) for statement in _statements(body))
    return found


def about(tried: list[Attempt], *subjects: str) -> list[Attempt]:
    """Those whose section is about one of the subjects, by the beginning of its name."""
    found = [attempt for attempt in tried if attempt.name.startswith(subjects)]
    missing = {subject for subject in subjects if not any(one.name.startswith(subject) for one in found)}
    assert not missing, f"no statement is about {missing}"
    return found


def by_promise(tried: list[Attempt]) -> list[object]:
    """Everything that the store refuses, with the row of the specification that it shows."""
    shown = (
        (pytest.mark.spec("AD-002"), about(tried, "schema_history", "table_schema")),
        (pytest.mark.spec("AD-003"), about(tried, "pipeline_chunks")),
        (pytest.mark.spec("AD-004"), about(tried, "lineage")),
        (pytest.mark.spec("AD-005"), about(tried, "snapshot", "sidecar", "table_state")),
        (pytest.mark.spec("AD-008"), about(tried, "revocation_epochs")),
        (pytest.mark.spec("HC-025"), about(tried, "decided_by")),
        (pytest.mark.spec("HC-105"), about(tried, "pipeline_lease")),
        (pytest.mark.spec("HP-060"), about(tried, "pipeline_cursor")),
        (pytest.mark.spec("HP-064"), about(tried, "pipeline_run")),
    )
    silent = about(tried, "audit", "budget", "counter", "cf_selection", "push_batch")
    marked = [pytest.param(attempt, marks=row) for row, attempts in shown for attempt in attempts]
    return [*marked, *map(pytest.param, silent)]


def _statements(body: str) -> Iterator[str]:
    for statement in _COMMENT.sub("", body).split(";\n"):
        if statement.strip():
            yield statement.strip()
