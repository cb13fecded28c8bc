"""The class archive: made once, used from then on, by the first server start that finds it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hakiri.engine import Engine, EngineHome, archive_for, join_server, make_archive, stop_servers
from hakiri.engine.archive import Archive
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


def is_mapped(archive: Archive, pid: int) -> bool:
    return str(archive.path) in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_an_idle_server_has_the_archive_made_and_the_next_one_uses_it(
    home: EngineHome, make_engine: Callable[..., Engine]
) -> None:
    engine = make_engine(home, archive=True)
    plan = engine.plan()
    archive = archive_for(plan.java, plan.spark, home)
    first = join_server(plan, home, engine.clock)
    first.leave()

    deadline = time.monotonic() + 240
    while not archive.exists():
        assert time.monotonic() < deadline, (home.server(plan.key).path / "archive.log").read_text()
        time.sleep(0.2)
    made = archive.path.stat()
    again = make_archive(plan.java, plan.spark, home, engine.env, engine.clock)
    stop_servers(home, engine.clock)
    second = join_server(plan, home, engine.clock)

    assert not first.record.archive_used
    assert made.st_size > 50_000_000
    assert again == archive
    assert archive.path.stat().st_ino == made.st_ino, "a second call makes nothing anew"
    assert second.record.archive_used
    assert is_mapped(archive, second.record.pid)
    assert [path.suffix for path in archive.path.parent.iterdir() if path.suffix == ".draft"] == []
    second.leave()


@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_stopping_a_server_while_the_archive_is_made_leaves_no_process(
    home: EngineHome, make_engine: Callable[..., Engine]
) -> None:
    engine = make_engine(home, archive=True)
    plan = engine.plan()
    join_server(plan, home, engine.clock).leave()
    archive = archive_for(plan.java, plan.spark, home)
    (flag,) = archive.make_flags(archive.path.with_suffix(".draft"))
    wait_until(lambda: processes_with(flag) != [])

    stop_servers(home, engine.clock)

    wait_until(lambda: processes_with(flag) == [])
    assert not archive.exists()


def processes_with(argument: str) -> list[str]:
    commands = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    return [command.decode() for command in commands if argument.encode() in command]


def wait_until(condition: Callable[[], bool], seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)
