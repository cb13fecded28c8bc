"""Python that sessions leave on a server, at the pace of the keeper and of Spark: some minutes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Unwatched
from tests.engine.test_left_python import is_gone, processes, project
from tests.support.postgres import is_soon

from hakiri.engine import Engine, EngineHome, session

__all__ = ["project"]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
# Spark looks for workers to end once a minute, the keeper for what they leave twice.
PATIENCE_SECONDS = 200.0


def test_the_keeper_ends_what_a_session_left(
    home: EngineHome, make_engine: Callable[..., Engine], project: Path
) -> None:
    with session(make_engine(home), Unwatched(), project=project) as own:
        worker, forking = processes(own)

    assert is_soon(lambda: is_gone(worker) and is_gone(forking), PATIENCE_SECONDS)


def test_a_session_that_rested_gets_python_again(
    home: EngineHome, make_engine: Callable[..., Engine], project: Path
) -> None:
    with session(make_engine(home), Unwatched(), project=project) as own:
        worker, forking = processes(own)
        assert is_soon(lambda: is_gone(worker), PATIENCE_SECONDS)
        still_there = not is_gone(forking)
        os.kill(forking, signal.SIGTERM)
        assert is_soon(lambda: is_gone(forking))

        _, again = processes(own)

    assert still_there
    assert again != forking
