"""The archive of loaded classes that halves a server's start (ADR-0003).

A JVM that starts Spark spends most of its time finding, checking and linking some 15,000 classes. It can
write down the result once and map it into memory from then on: as a class-data archive up to Java 24, as
an ahead-of-time cache from Java 25 on. An archive fits one JDK and one set of jars, and the JVM ignores
it quietly where it does not.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event

from hakiri.core.clock import Clock, SystemClock
from hakiri.core.ids import fresh_token
from hakiri.engine.config import EngineConfig
from hakiri.engine.errors import ArchiveNotMade, ServerStartFailed
from hakiri.engine.home import EngineHome, FileLock
from hakiri.engine.java import Java, find_java
from hakiri.engine.launch import (
    TOKEN_VARIABLE,
    ServerPlan,
    Spark,
    installed_spark,
    plan_server,
    server_command,
    write_server_files,
)
from hakiri.engine.process import await_port, start_beside

_FIRST_WITH_AOT_CACHE = 25
_START_SECONDS = 120.0
_DUMP_SECONDS = 300.0
_UNUSED_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    path: Path
    is_aot_cache: bool

    @property
    def use_flags(self) -> tuple[str, ...]:
        return (
            (f"-XX:AOTCache={self.path}",) if self.is_aot_cache else (f"-XX:SharedArchiveFile={self.path}",)
        )

    def make_flags(self, draft: Path) -> tuple[str, ...]:
        return (
            (f"-XX:AOTCacheOutput={draft}",) if self.is_aot_cache else (f"-XX:ArchiveClassesAtExit={draft}",)
        )

    def exists(self) -> bool:
        return self.path.is_file()


def archive_for(java: Java, spark: Spark, home: EngineHome) -> Archive:
    """The archive that fits this JDK and these jars, whether it has been made yet or not."""
    jars = spark.home / "jars"
    identity = f"{java.executable}\n{java.version}\n{jars}\n{jars.stat().st_mtime_ns}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    is_aot_cache = java.feature >= _FIRST_WITH_AOT_CACHE
    name = f"jdk-{java.version}-spark-{spark.version}-{digest}.{'aot' if is_aot_cache else 'jsa'}"
    return Archive(path=home.cache / "archives" / name, is_aot_cache=is_aot_cache)


def make_archive(java: Java, spark: Spark, home: EngineHome, env: Mapping[str, str], clock: Clock) -> Archive:
    """Make the archive by a trial run: a server of its own does a little of everything, then ends.

    Safe to call at any time and from several processes: one makes it, the others wait and find it made.
    """
    archive = archive_for(java, spark, home)
    archive.path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(archive.path.with_suffix(".lock")).held():
        if not archive.exists():
            plan = plan_server(EngineConfig(master="local[2]", heap_mib=1024), java, spark, env)
            draft = archive.path.with_suffix(".draft")
            with tempfile.TemporaryDirectory(prefix="hakiri-archive-") as workplace:
                _trial_run(plan, archive.make_flags(draft), Path(workplace), clock)
            if not draft.is_file():
                raise ArchiveNotMade(java.version)
            draft.replace(archive.path)
            _drop_unused(archive, clock)
    return archive


def archive_command(home: EngineHome) -> tuple[str, ...]:
    """How a keeper has the archive made in the background: this module, as a program."""
    return (sys.executable, "-m", "hakiri.engine.archive", str(home.runtime), str(home.cache))


def mark_used(archive: Archive) -> None:
    os.utime(archive.path)


def _trial_run(plan: ServerPlan, flags: tuple[str, ...], workplace: Path, clock: Clock) -> None:
    log = workplace / "server.log"
    files = write_server_files(plan, workplace)
    token = fresh_token()
    server = start_beside(
        server_command(plan, files, jvm_flags=flags),
        env=dict(plan.environment) | {TOKEN_VARIABLE: token},
        log=log,
    )
    deadline, pause = clock.monotonic() + _START_SECONDS, Event()
    try:
        port = await_port(server, log, lambda seconds: pause.wait(seconds) or clock.monotonic() > deadline)
        if port is None:
            tail = tuple(log.read_text("utf-8", "replace").splitlines()[-5:])
            raise ServerStartFailed("the trial run for the archive ended early", str(log), tail)
        from hakiri.engine.rehearsal import rehearse

        rehearse(f"sc://localhost:{port}/;token={token}", workplace)
        server.send_signal(signal.SIGTERM)  # the archive is written on the way out
        server.wait(_DUMP_SECONDS)
    finally:
        server.kill()  # not gently: it would write an archive of half a trial
        server.wait()


def _drop_unused(kept: Archive, clock: Clock) -> None:
    """An archive takes some 200 MB: those of other Sparks go once nothing has used them for a month."""
    too_old = (clock.now() - _UNUSED_FOR).timestamp()
    for path in kept.path.parent.glob("jdk-*"):
        if path.suffix in {".jsa", ".aot"} and path != kept.path and path.stat().st_mtime < too_old:
            path.unlink(missing_ok=True)


def main(runtime: str, cache: str, env: Mapping[str, str]) -> None:
    spark = installed_spark(sys.executable)
    make_archive(
        find_java(env), spark, EngineHome(runtime=Path(runtime), cache=Path(cache)), env, SystemClock()
    )


if __name__ == "__main__":
    # Its keeper ends it so; leaving by an exception, the trial run takes its server along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main(sys.argv[1], sys.argv[2], dict(os.environ))
