"""The command line inside this process, on the Spark server that the tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import Outcome, Run, run

if TYPE_CHECKING:
    from hakiri.engine import EngineHome

__all__ = ["Outcome", "run"]

SHARED = ("--set", "engine.master=local[2]", "--set", "engine.driver_memory=1GiB")


@pytest.fixture
def hakiri(run: Run, spark: Any, shared_home: EngineHome, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `hakiri` on the server that is up."""
    monkeypatch.setenv("HAKIRI_RUNTIME_DIR", str(shared_home.runtime))
    monkeypatch.setenv("HAKIRI_CACHE_DIR", str(shared_home.cache))
    monkeypatch.setenv("USER", "ada")
    return lambda *args: run(*args, *(SHARED if args[0] in ("apply", "run") else ()))
