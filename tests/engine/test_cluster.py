"""A real standalone cluster: a master and two workers as processes of their own, one of them killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cluster import QUICK, Cluster, standalone_cluster

from hakiri.engine import Engine, EngineHome, Watcher, session

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path) as cluster:
        yield cluster


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
            "spark.executor.extraJavaOptions": " ".join(QUICK),
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
