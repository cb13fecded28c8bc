"""A Python process of Spark that is killed in the middle of a chunk, as by a system that is out of memory."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab
from tests.support.troubles import HastyStop

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.runs import RunStatus
from hakiri.pipelines.events import ChunkGivenBack

pytestmark = pytest.mark.spark
STORED = "SELECT id, part, v FROM counted_items ORDER BY id"


def kill_readers(source: CountedSource, count: int) -> threading.Thread:
    """Kill the first processes that read, each while it does."""

    def work() -> None:
        for number in range(count):
            while len(source.reads()) <= number:
                time.sleep(0.02)
            os.kill(source.reads()[number]["pid"], signal.SIGKILL)

    killer = threading.Thread(target=work, daemon=True)
    killer.start()
    return killer


@pytest.mark.spec("HP-047")
def test_its_chunk_is_tried_again(lab: Lab, source: CountedSource) -> None:
    source.put(moments(30, parts=1))
    lab.write(manifest("monotonic", config=", seconds = 1.0"))
    killer = kill_readers(source, 1)

    applied = lab.applied(stop=HastyStop())

    killer.join()
    assert lab.query(STORED) == source.rows()
    (told,) = lab.told(ChunkGivenBack)
    assert (told.error_kind, told.will_retry) == ("engine.python_died", True)
    (chunk,) = lab.chunks()
    assert (chunk.status, chunk.attempts) == (ChunkStatus.DONE, 2)
    assert applied.result is not None
    assert applied.result.run.status is RunStatus.SUCCESS


@pytest.mark.spec("HP-047")
def test_a_run_whose_processes_die_each_time_fails_and_the_next_one_goes_on(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(30, parts=1))
    lab.write(manifest("monotonic", config=", seconds = 1.0", more="retries = 1\n"))
    killer = kill_readers(source, 2)

    failed = lab.run("p", stop=HastyStop())

    killer.join()
    assert failed.error is not None
    assert (failed.error.code, len(source.reads())) == ("engine.python_died", 2)
    lab.applied()
    assert lab.query(STORED) == source.rows()
