"""The class archive: made once, used from then on, by the first server start that finds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hakiri.core.clock import SystemClock
from hakiri.engine import Engine, EngineHome, archive_for, join_server, make_archive, stop_servers
from hakiri.engine.java import Java
from hakiri.engine.launch import Spark

JAVA_17 = Java(executable=Path("/j17/bin/java"), version="17.0.9", modules=frozenset(), origin="PATH")
JAVA_25 = Java(executable=Path("/j25/bin/java"), version="25.0.2", modules=frozenset(), origin="PATH")


def spark_at(home: Path) -> Spark:
    (home / "jars").mkdir(parents=True)
    return Spark(home=home, version="4.3.0", python="python")


def test_an_archive_fits_one_java_and_one_set_of_jars(tmp_path: Path) -> None:
    home = EngineHome(runtime=tmp_path, cache=tmp_path)
    one, two = spark_at(tmp_path / "one"), spark_at(tmp_path / "two")

    paths = {archive_for(java, spark, home).path.name for java in (JAVA_17, JAVA_25) for spark in (one, two)}

    assert len(paths) == 4
    assert archive_for(JAVA_17, one, home) == archive_for(JAVA_17, one, home)
    assert archive_for(JAVA_17, one, home).path.parent == tmp_path / "archives"


def test_each_java_is_told_in_its_own_words(tmp_path: Path) -> None:
    home = EngineHome(runtime=tmp_path, cache=tmp_path)
    spark = spark_at(tmp_path / "spark")
    old, new = archive_for(JAVA_17, spark, home), archive_for(JAVA_25, spark, home)
    draft = tmp_path / "draft"

    assert old.use_flags == (f"-XX:SharedArchiveFile={old.path}",)
    assert old.make_flags(draft) == (f"-XX:ArchiveClassesAtExit={draft}",)
    assert new.use_flags == (f"-XX:AOTCache={new.path}",)
    assert new.make_flags(draft) == (f"-XX:AOTCacheOutput={draft}",)


@pytest.fixture
def empty_home(tmp_path: Path) -> Iterator[EngineHome]:
    """An engine's home in which no archive was made yet."""
    home = EngineHome(runtime=tmp_path / "runtime", cache=tmp_path / "cache")
    yield home
    stop_servers(home, SystemClock(), force=True)


@pytest.mark.spark
def test_a_server_uses_the_archive_that_was_made_and_no_other_is_made(
    spark: object, shared_engine: Engine
) -> None:
    plan, home = shared_engine.plan(), shared_engine.home
    archive = archive_for(plan.java, plan.spark, home)
    made = archive.path.stat()

    again = make_archive(plan.java, plan.spark, home, shared_engine.env, shared_engine.clock)
    record = home.server(plan.key).read_record()

    assert made.st_size > 50_000_000
    assert again == archive
    assert archive.path.stat().st_ino == made.st_ino, "a second call makes nothing anew"
    assert record is not None
    assert record.archive_used
    assert str(archive.path) in Path(f"/proc/{record.pid}/maps").read_text()
    assert [path.suffix for path in archive.path.parent.iterdir() if path.suffix == ".draft"] == []


@pytest.mark.cluster
def test_an_idle_server_has_the_archive_made_and_stopping_it_meanwhile_leaves_no_process(
    empty_home: EngineHome, make_engine: Callable[..., Engine]
) -> None:
    engine = make_engine(empty_home)
    plan = engine.plan()
    joined = join_server(plan, empty_home, engine.clock)
    joined.leave()
    archive = archive_for(plan.java, plan.spark, empty_home)
    (flag,) = archive.make_flags(archive.path.with_suffix(".draft"))
    wait_until(lambda: processes_with(flag) != [])

    stop_servers(empty_home, engine.clock)

    wait_until(lambda: processes_with(flag) == [])
    assert not joined.record.archive_used
    assert not archive.exists()


def processes_with(argument: str) -> list[str]:
    commands = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    return [command.decode() for command in commands if argument.encode() in command]


def wait_until(condition: Callable[[], bool], seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)
