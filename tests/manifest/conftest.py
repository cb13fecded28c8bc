"""Small projects to load and change, and random pipelines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeProject = Callable[..., Path]


@pytest.fixture
def make_project(tmp_path: Path) -> MakeProject:
    """Write files by name into an empty project; `hakiri.toml` gets a plain one unless it is given."""

    def make(files: dict[str, str | bytes] | None = None) -> Path:
        for name, content in {"hakiri.toml": '[project]\nname = "shop"\n', **(files or {})}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return make
