"""Python that sessions with code of their own leave on a server, on the one Spark that the tests share."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Unwatched
from tests.support.postgres import is_soon, running_processes

from hakiri.core.clock import FixedClock
from hakiri.engine import Engine, server_states, session
from hakiri.engine.left_python import LeftPython

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are seen in /proc"),
]
TEN_MINUTES = timedelta(minutes=10)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "crm.py").write_text("NAME = 'own'\n")
    return tmp_path


@pytest.fixture
def engine(spark: Any, shared_engine: Engine) -> Engine:
    """The engine of the shared session, whose server is up by now."""
    return shared_engine


def left_on(engine: Engine, *, in_use: bool) -> tuple[LeftPython, FixedClock]:
    (state,) = server_states(engine.home)
    assert state.record is not None
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    return LeftPython(server=state.record.pid, is_in_use=lambda: in_use, clock=clock), clock


def processes(spark: Any) -> tuple[int, int]:
    """A Python worker of this session, and who forked it."""

    def told(batches: Any) -> Any:
        import os

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"own": [os.getpid()], "parent": [os.getppid()]})

    row = spark.range(0, 1, 1, 1).mapInArrow(told, "own bigint, parent bigint").collect()[0]
    return row["own"], row["parent"]


def is_gone(pid: int) -> bool:
    return pid not in running_processes()


def test_what_sessions_left_is_ended_once_nobody_uses_the_server(
    engine: Engine, spark: Any, project: Path
) -> None:
    with session(engine, Unwatched(), project=project) as own:
        worker, forking = processes(own)
    _, shared = processes(spark)
    left, _ = left_on(engine, in_use=False)

    left.end_it()

    assert is_soon(lambda: is_gone(worker) and is_gone(forking))
    assert processes(spark)[1] == shared


def test_while_others_use_the_server_it_is_ended_when_it_had_no_workers_for_long(
    engine: Engine, spark: Any, project: Path
) -> None:
    left, clock = left_on(engine, in_use=True)

    def is_ended() -> list[bool]:
        ended = []
        for _ in range(3):
            left.end_it()
            ended.append(is_gone(forking))
            clock.advance(TEN_MINUTES)
        return ended

    with session(engine, Unwatched(), project=project) as own:
        worker, forking = processes(own)
    with_worker = is_ended()
    with suppress(ProcessLookupError):
        os.kill(worker, signal.SIGKILL)  # Spark does, after a minute
    assert is_soon(lambda: is_gone(worker))
    left.end_it()
    at_once = is_gone(forking)
    left.end_it()  # it has just looked
    clock.advance(TEN_MINUTES)
    left.end_it()

    assert with_worker == [False] * 3
    assert not at_once
    assert is_soon(lambda: is_gone(forking))
    assert processes(spark)
