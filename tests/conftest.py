"""What all tests share: their order, the one Spark session, and the one Postgres."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from tests.support.memory_disk import memory_disk
from tests.support.workers import (  # noqa: F401 - hooks
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_configure_node,
    pytest_runtest_setup,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
)

from hakiri.core.clock import SystemClock
from hakiri.core.errors import HakiriError
from hakiri.engine import Engine, EngineConfig, EngineHome, make_archive, session, stop_servers

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

# A shell that starts the tests in the background has them ignore Ctrl-C, and every process they start
# would inherit that. Some of those are sent one.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_in_silence() -> None:
    """DuckDB's binding counts what it has not freed when Python ends, below the runner's closing line."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


atexit.register(_end_in_silence)

# How long an example takes says nothing where other programs run. `make nightly` asks for more of them.
settings.register_profile(
    "busy",
    settings.default,
    deadline=None,
    max_examples=int(os.environ.get("HAKIRI_EXAMPLES", "50")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("busy")

if disk := memory_disk():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(disk))  # where `tmp_path` is


_SPARK_CACHE = pytest.StashKey[Path]()


class Unwatched:
    """A watcher for tests that look at results only."""

    def starting(self) -> None: ...
    def ready(self, record: object, *, was_started: bool) -> None: ...
    def progress(self, look: object) -> None: ...


def small_engine(home: EngineHome, **config: object) -> Engine:
    settings = {"master": "local[2]", "heap_mib": 1024} | config
    return Engine(
        config=EngineConfig(**settings),  # type: ignore[arg-type]
        home=home,
        env=dict(os.environ),
        python=sys.executable,
        clock=SystemClock(),
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Whatever is made for all tests of Spark is made before the time of the first one runs."""
    if "spark_cache" in getattr(item, "fixturenames", ()):
        with suppress(HakiriError):  # the fixture fails with the same, and the test with it
            made_spark_cache(item.config)
    return (yield)


def made_spark_cache(config: pytest.Config) -> Path:
    """The folder with the archive that halves every start of Spark, and is kept for the tests to come."""
    if _SPARK_CACHE not in config.stash:
        assert config.cache is not None
        cache = config.cache.mkdir("spark")
        engine = small_engine(EngineHome(runtime=cache, cache=cache))
        plan = engine.plan()
        make_archive(plan.java, plan.spark, engine.home, engine.env, engine.clock)
        config.stash[_SPARK_CACHE] = cache
    return config.stash[_SPARK_CACHE]


@pytest.fixture(scope="session")
def spark_cache(pytestconfig: pytest.Config) -> Path:
    return made_spark_cache(pytestconfig)


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory, spark_cache: Path) -> Iterator[EngineHome]:
    home = EngineHome(runtime=tmp_path_factory.mktemp("engine") / "runtime", cache=spark_cache)
    yield home
    stop_servers(home, SystemClock(), force=True)


@pytest.fixture(scope="session")
def shared_engine(shared_home: EngineHome) -> Engine:
    return small_engine(shared_home)


@pytest.fixture(scope="session")
def spark(shared_engine: Engine) -> Iterator[object]:
    with session(shared_engine, Unwatched()) as spark:
        yield spark


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The one real Postgres of a test run, started when the first test asks for it."""
    from tests.support.postgres import PostgresServer

    with PostgresServer.start() as server:
        yield server


@pytest.fixture
def unwatched() -> Unwatched:
    return Unwatched()


@pytest.fixture
def make_engine() -> Callable[..., Engine]:
    """Makes a small engine with any part of its configuration changed."""
    return small_engine


@pytest.fixture
def home(tmp_path: Path, spark_cache: Path) -> Iterator[EngineHome]:
    """An engine's home of one test; whatever server it started is gone afterwards."""
    home = EngineHome(runtime=tmp_path / "runtime", cache=spark_cache)
    yield home
    stop_servers(home, SystemClock(), force=True)
