"""A real standalone cluster: a master and two workers as processes of their own, one of them killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hakiri.engine import Engine, EngineHome, Watcher, find_java, installed_spark, session
from hakiri.engine.java import VECTOR_MODULE, Java

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


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


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    java, spark = find_java(dict(os.environ)), installed_spark(sys.executable)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SPARK_HOME": str(spark.home),
        "JAVA_HOME": str(java_home_for_executors(java, tmp_path)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",  # what Spark's own scripts set for a worker
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = tmp_path / f"{name}.log"
        command = [str(java.executable), "-Xmx256m", "-cp", f"{spark.home}/jars/*", *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        started.append(process)
        return log

    try:
        master_log = start("master", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        url = wait_for(master_log, r"Starting Spark master at (spark://\S+)")
        for number in (1, 2):
            log = start(
                f"worker-{number}", WORKER, "--host", "127.0.0.1", "--cores", "1", "--memory", "1g",
                "--webui-port", "0", url,
            )  # fmt: skip
            wait_for(log, r"(Successfully registered with master)")
        yield Cluster(url=url, workers=started[1:])
    finally:
        for process in started:
            with suppress(ProcessLookupError):  # one was killed by the test itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def kill_with_executors(worker: subprocess.Popen[bytes]) -> None:
    """The worker's whole process group: a machine that loses its power takes its executors along."""
    os.killpg(worker.pid, signal.SIGKILL)


def test_a_job_survives_the_loss_of_a_worker(
    cluster: Cluster, home: EngineHome, make_engine: Callable[..., Engine], unwatched: Watcher, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / "connectors").mkdir(parents=True)
    (project / "connectors" / "slow.py").write_text(
        "import os, time\n"
        "def rows(numbers, marks):\n"
        "    open(os.path.join(marks, f'{numbers[0]}-{os.getpid()}'), 'w').close()\n"
        "    time.sleep(0.5)\n"
        "    return [n * 10 for n in numbers]\n"
    )
    marks = tmp_path / "marks"
    marks.mkdir()
    engine = make_engine(
        home,
        master=cluster.url,
        python=sys.executable,
        conf={
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
        },
    )

    def slowly(batches: Any) -> Any:
        import pyarrow as pa
        from connectors.slow import rows  # type: ignore[import-not-found]

        for batch in batches:
            numbers = batch.column(0).to_pylist()
            yield pa.RecordBatch.from_pydict({"n": rows(numbers, str(marks))})

    def kill_one_once_tasks_run() -> None:
        deadline = time.monotonic() + 120
        while len(list(marks.iterdir())) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
        kill_with_executors(cluster.workers[0])

    killer = threading.Thread(target=kill_one_once_tasks_run)
    with session(engine, unwatched, project=project) as spark:
        killer.start()
        slow = spark.range(0, 4_000, numPartitions=20).mapInArrow(slowly, "n bigint")
        slow.write.parquet(str(tmp_path / "out"))
        killer.join()
        total = spark.read.parquet(str(tmp_path / "out")).selectExpr("count(*) c", "sum(n) s").collect()[0]

    tries = {mark.name.split("-")[0] for mark in marks.iterdir()}
    assert (total["c"], total["s"]) == (4_000, 10 * sum(range(4_000)))
    assert cluster.workers[0].poll() is not None
    assert len(tries) == 20
    assert len({mark.name.split("-")[1] for mark in marks.iterdir()}) >= 2, "both workers took part"
