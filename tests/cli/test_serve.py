"""`hakiri serve`: a real daemon that is killed, started again and ended."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest
from tests.support.own_spark import ENGINE
from tests.support.past import Shop, pipeline

if TYPE_CHECKING:
    from conftest import Run

HAKIRI = Path(sys.executable).parent / "hakiri"
OFTEN = pipeline(
    table='{ name = "orders", compaction = { trigger_run_count = 2 } }',
    more='incremental = "id"\nschedule = "every 1s"\n',
)


@dataclass
class Log:
    """What a daemon wrote so far, without the times."""

    text: str = ""
    grown: threading.Condition = field(default_factory=threading.Condition)

    def follow(self, stream: IO[str]) -> None:
        for line in stream:
            with self.grown:
                self.text += re.sub(r"^\S+ \S+Z  ", "", line)
                self.grown.notify_all()

    def wait_for(self, words: str) -> None:
        with self.grown:
            assert self.grown.wait_for(lambda: words in self.text, timeout=90), self.text


@contextmanager
def serving(folder: Path, env: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], Log]]:
    """A daemon in this folder; it is killed at the end, if it still lives."""
    process = subprocess.Popen([HAKIRI, "serve"], cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    log = Log()
    reader = threading.Thread(target=log.follow, args=(process.stderr,))
    reader.start()
    try:
        yield process, log
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stderr.close()


@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.spec("HP-036")
@pytest.mark.spec("HC-054")
def test_a_daemon_pulls_what_comes_also_after_it_was_killed(
    tmp_path: Path, spark_env: dict[str, str]
) -> None:
    shop = Shop.make(tmp_path, OFTEN + ENGINE)

    with serving(tmp_path, spark_env) as (_, log):
        log.wait_for("✓ orders  1,000 rows in ")
        shop.put(5, first=1001)
        log.wait_for("✓ orders  5 rows in ")
        log.wait_for("orders: compacting, 2 runs to fold")
        log.wait_for("orders: 2 runs folded, 1,005 rows in ")
    shop.put(3, first=1006)
    with serving(tmp_path, spark_env) as (process, log):
        log.wait_for("✓ orders  3 rows in ")
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)

    assert code == 0
    assert log.text.endswith("stopped: what was committed stays, and the other chunks were given back\n")
    assert log.text.startswith("serving 1 pipeline of `shop`\n")


def test_a_wrong_manifest_is_refused_before_anything_is_served(run: Run, tmp_path: Path) -> None:
    Shop.make(tmp_path, pipeline(more='scedule = "every 1s"\n'))

    outcome = run("serve")

    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean `schedule`?" in outcome.err
