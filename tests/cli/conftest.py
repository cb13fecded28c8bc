"""What the tests of the command line share: the real entry, run inside this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.own_spark import own_spark

from hakiri.cli import main

if TYPE_CHECKING:
    from pathlib import Path

COLOR_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "_HAKIRI_COMPLETE")


@dataclass(frozen=True)
class Outcome:
    """What one command line did: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs `hakiri` with these arguments in an empty folder, without the caller's colours and settings."""
    import os

    for name in os.environ:
        if name in COLOR_VARIABLES or name.startswith("HAKIRI_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run_in_this_process(*args: str) -> Outcome:
        capsys.readouterr()
        code = main(args)
        written = capsys.readouterr()
        return Outcome(code=code, out=written.out, err=written.err)

    return run_in_this_process


@pytest.fixture(scope="session")
def spark_env(tmp_path_factory: pytest.TempPathFactory, spark_cache: Path) -> Iterator[dict[str, str]]:
    """The environment of processes that share a Spark server, which is gone afterwards."""
    with own_spark(tmp_path_factory.mktemp("engine") / "runtime", spark_cache) as env:
        yield env
