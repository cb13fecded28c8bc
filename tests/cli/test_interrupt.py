"""Ctrl-C and SIGTERM in the middle of a job: the job ends, the server stays, and nothing is left behind."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.clock import SystemClock
from hakiri.engine import EngineHome, stop_servers

pytestmark = pytest.mark.cluster

HAKIRI = Path(sys.executable).parent / "hakiri"
MANIFEST = """\
[project]
name = "shop"

[engine]
master = "local[1]"
driver_memory = "512MiB"
conf = { "spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1" }
"""
PIPELINES = """
[[pipeline]]
id = "slow"
source = { connector = "slow" }
tables = ["t"]

[[pipeline]]
id = "quick"
source = { connector = "files", config = { path = "a.csv" } }
tables = ["t"]

[[pipeline]]
id = "failing"
source = { connector = "files", config = { path = "a.csv" } }
tables = ["t"]
"""
# Takes the only core, for hours; the quick one shows whether anything of it still runs.
SLOW = """\
import pyarrow as pa
from hakiri.sources import Batch, Connector, Table


class Slow(Connector):
    def discover(self, only=None):
        return [Table(name="t", schema=pa.schema({"id": pa.int64()}))]

    def open(self, read):
        while True:
            yield Batch(rows=pa.RecordBatch.from_pydict({"id": pa.array([], pa.int64())}))
            self.context.wait(3600)
"""
TRANSFORMS = """\
import hakiri as hk
from pyspark.sql import functions as F


@hk.pipeline("failing")
def failing(df):
    return df.select(F.col("id") / 0)
"""
QUICK_SECONDS = 15.0
NOT_FOR_EVER_SECONDS = 60.0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark_cache: Path) -> Iterator[Path]:
    """A project with a slow, a quick and a failing pipeline, and a server of its own."""
    root = tmp_path_factory.mktemp("interrupt")
    (root / "cache").symlink_to(spark_cache)
    (root / "transforms").mkdir()
    (root / "transforms" / "steps.py").write_text(TRANSFORMS)
    (root / "connectors").mkdir()
    (root / "connectors" / "slow.py").write_text(SLOW)
    (root / "a.csv").write_text("id\n1\n")
    (root / "hakiri.toml").write_text(MANIFEST + PIPELINES)
    yield root
    stop_servers(EngineHome.of(environment(root)), SystemClock(), force=True)


def environment(root: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HAKIRI_")}
    own = {"HAKIRI_RUNTIME_DIR": str(root / "runtime"), "HAKIRI_CACHE_DIR": str(root / "cache")}
    return {**kept, **own, "TERM": "xterm-256color", "NO_COLOR": "1"}


def hakiri(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HAKIRI, *args], cwd=root, env=environment(root), capture_output=True, text=True, check=False
    )


def server_of(root: Path) -> dict[str, Any]:
    [server] = json.loads(hakiri(root, "engine", "status", "--json").stdout)["servers"]
    return dict(server)


def shown_until(terminal: int, words: bytes) -> bytes:
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 4096)
    return shown


def shown_to_the_end(terminal: int) -> bytes:
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:  # Linux says EIO when the other side is closed
        pass
    return shown


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_ended_stops_its_job_and_leaves_the_server_warm(
    project: Path, sent: signal.Signals, code: int
) -> None:
    hakiri(project, "engine", "start")
    before = server_of(project)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [HAKIRI, "preview", "slow"],
        cwd=project,
        env=environment(project),
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as command:
        os.close(theirs)
        try:
            shown_until(ours, b"tasks")  # the bar of a job that has run for a second
            was_in_use = server_of(project)["state"]
            began = time.monotonic()
            command.send_signal(sent)
            last = shown_to_the_end(ours)
            out, _ = command.communicate()
            seconds = time.monotonic() - began
        finally:
            command.kill()  # it would wait for ever for somebody to read its bar
            os.close(ours)

    after = server_of(project)
    began = time.monotonic()
    quick = hakiri(project, "preview", "quick", "--json")
    quick_seconds = time.monotonic() - began

    assert (command.returncode, out) == (code, b"")
    assert last.decode().endswith("\x1b[?25h\rinterrupted\r\n")  # the bar is cleared, the cursor is back
    assert seconds < QUICK_SECONDS
    assert was_in_use == "in use"
    assert (after["pid"], after["state"]) == (before["pid"], "idle")
    # On one core: were the job still running, this one would wait behind it for ever.
    assert json.loads(quick.stdout)["rows"] == [{"id": 1}]
    assert quick_seconds < NOT_FOR_EVER_SECONDS


def test_an_error_of_spark_is_three_lines_and_nothing_of_its_client(project: Path) -> None:
    done = hakiri(project, "preview", "failing", "-q")

    assert (done.returncode, done.stdout) == (1, "")
    error, place, hint = done.stderr.splitlines()
    assert error.startswith(
        "error[transforms.failed]: the transform of pipeline `failing` failed: [DIVIDE_BY"
    )
    assert place == "  --> transforms/steps.py:7"
    assert hint.startswith("hint: ")
