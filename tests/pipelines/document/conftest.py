"""The command line inside this process, on the Spark server that the tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import Run, run

from hakiri.store.layout import StoreLayout
from hakiri.store.reading import open_reader

if TYPE_CHECKING:
    from hakiri.engine import EngineHome

__all__ = ["run"]

SHARED = ("--set", "engine.master=local[2]", "--set", "engine.driver_memory=1GiB")
ON_SPARK = ("apply", "compile", "preview", "run")

Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def hakiri(run: Run, spark: Any, shared_home: EngineHome, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `hakiri` on the Spark server that is up."""
    monkeypatch.setenv("HAKIRI_RUNTIME_DIR", str(shared_home.runtime))
    monkeypatch.setenv("HAKIRI_CACHE_DIR", str(shared_home.cache))
    return lambda *args: run(*args, *(SHARED if args[0] in ON_SPARK else ()))


@pytest.fixture
def query(tmp_path: Path) -> Query:
    """What stock DuckDB reads through the views of the project's store, where the manifest has it by default."""

    def rows(sql: str) -> list[tuple[Any, ...]]:
        (store,) = (tmp_path / ".hakiri" / "context").iterdir()
        with open_reader(StoreLayout(store)) as reader:
            return reader.execute(sql).fetchall()

    return rows
