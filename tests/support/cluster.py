"""A real standalone cluster: a master and two workers as processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hakiri.engine import find_java, installed_spark
from hakiri.engine.java import VECTOR_MODULE, Java

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # for processes that live for seconds


@dataclass
class Cluster:
    url: str
    workers: list[subprocess.Popen[bytes]]


def java_home_for_executors(java: Java, folder: Path) -> Path:
    """A Java home whose `java` runs executors. A worker asks for the vector module, which the wheel lacks."""
    if VECTOR_MODULE in java.modules:
        return java.home
    program = folder / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/bash\n"
        "args=()\n"
        f'for arg in "$@"; do [[ "$arg" == --add-modules={VECTOR_MODULE} ]] || args+=("$arg"); done\n'
        f'exec {java.executable} "${{args[@]}}"\n'
    )
    program.chmod(0o755)
    return folder / "jdk"


def wait_for(log: Path, pattern: str, seconds: float = 60.0) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text("utf-8", "replace")):
            return found.group(1)
        time.sleep(0.05)
    raise AssertionError(f"no {pattern!r} in {log.read_text()[-2000:]}")


@contextmanager
def standalone_cluster(tmp_path: Path, env_of_workers: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A master and two workers of one core each, all of them gone when the block ends."""
    java, spark = find_java(dict(os.environ)), installed_spark(sys.executable)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SPARK_HOME": str(spark.home),
        "JAVA_HOME": str(java_home_for_executors(java, tmp_path)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",  # what Spark's own scripts set for a worker
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        **(env_of_workers or {}),
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = tmp_path / f"{name}.log"
        command = [str(java.executable), *QUICK, "-Xmx256m", "-cp", f"{spark.home}/jars/*", *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        started.append(process)
        return log

    try:
        master_log = start("master", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        url = wait_for(master_log, r"Starting Spark master at (spark://\S+)")
        logs = [
            start(
                f"worker-{number}", WORKER, "--host", "127.0.0.1", "--cores", "1", "--memory", "1g",
                "--webui-port", "0", url,
            )
            for number in (1, 2)
        ]  # fmt: skip
        for log in logs:
            wait_for(log, r"(Successfully registered with master)")
        yield Cluster(url=url, workers=started[1:])
    finally:
        for process in started:
            with suppress(ProcessLookupError):  # one was killed by the test itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
