"""Statements in files, for tests that go past the program to the store itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "catalog" / "raw"
_HEAD = re.compile(r"^-- (.+) --$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_SPEC = re.compile(r"[A-Z]{2}-\d{3}")


class Attempt(NamedTuple):
    """A statement, with the name and the row of the feature list that its section's head gives, or none."""

    name: str
    spec: str
    statement: str


def statements(file: str) -> list[str]:
    """The statements of a file, which end with a line that ends with `;`."""
    return [attempt.statement for attempt in _attempts("", "", (FOLDER / file).read_text("utf-8"))]


def attempts(file: str) -> list[Attempt]:
    """The statements of a file with sections that begin with `-- name SPEC-ID --`."""
    _, *parts = _HEAD.split((FOLDER / file).read_text("utf-8"))
    found: list[Attempt] = []
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        spec = " ".join(_SPEC.findall(head))
        found += _attempts(head.removesuffix(spec).strip(), spec, body)
    return found


def _attempts(name: str, spec: str, body: str) -> Iterator[Attempt]:
    for statement in re.split(r";\n", _COMMENT.sub("", body)):
        if statement.strip():
            yield Attempt(name, spec, statement.strip())
