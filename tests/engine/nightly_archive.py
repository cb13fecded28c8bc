"""The class archive as an idle server has it made: a minute or two, at the lowest priority."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hakiri.core.clock import SystemClock
from hakiri.engine import Engine, EngineHome, archive_for, join_server, stop_servers


@pytest.fixture
def empty_home(tmp_path: Path) -> Iterator[EngineHome]:
    """An engine's home in which no archive was made yet."""
    home = EngineHome(runtime=tmp_path / "runtime", cache=tmp_path / "cache")
    yield home
    stop_servers(home, SystemClock(), force=True)


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_an_idle_server_has_the_archive_made_and_the_next_one_uses_it(
    empty_home: EngineHome, make_engine: Callable[..., Engine]
) -> None:
    engine = make_engine(empty_home)
    plan = engine.plan()
    archive = archive_for(plan.java, plan.spark, empty_home)
    first = join_server(plan, empty_home, engine.clock)
    first.leave()

    deadline = time.monotonic() + 480
    while not archive.exists():
        assert time.monotonic() < deadline, (empty_home.server(plan.key).path / "archive.log").read_text()
        time.sleep(0.2)
    stop_servers(empty_home, engine.clock)
    second = join_server(plan, empty_home, engine.clock)

    assert not first.record.archive_used
    assert second.record.archive_used
    assert str(archive.path) in Path(f"/proc/{second.record.pid}/maps").read_text()
    second.leave()
