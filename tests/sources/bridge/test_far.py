"""Sources read by many tasks at once, and what can be seen of them from outside: budgets and secrets."""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sources.bridge.numbers_project import numbers_project, numbers_table, open_numbers
from tests.support.cluster import QUICK, Cluster, standalone_cluster
from tests.support.counting_server import counting_server
from tests.support.parquet_sinks import ParquetSinks

from hakiri.engine import Engine, EngineHome, Watcher, session
from hakiri.sources.bridge.frames import source_rows
from hakiri.sources.bridge.landing import land
from hakiri.sources.contract import Read, Window

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

MARK = "sesame-4711-marker"
WINDOW_SECONDS = 0.5
RATE = "25/500ms"


def reads(count: int, rows: int) -> list[Read]:
    return [
        Read(table="numbers", window=Window(field="n", since=number * rows, until=(number + 1) * rows))
        for number in range(count)
    ]


def everything_the_server_shows(spark: Any) -> str:
    """Every page of Spark's web interface that can be reached by links from its first."""
    address = spark.conf.get("spark.driver.appUIAddress", None) or ui_address(spark)
    seen: dict[str, str] = {}
    ahead = [address, f"{address}/api/v1/applications", f"{address}/environment/", f"{address}/SQL/"]
    while ahead:
        url = ahead.pop()
        if url in seen or len(seen) > 200:
            continue
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                seen[url] = answer.read().decode("utf-8", "replace")
        except OSError:
            seen[url] = ""
            continue
        ahead += [
            f"{address}{link}"
            for link in re.findall(r'href="(/[^"#]*)"', seen[url])
            if "/static/" not in link
        ]
    assert len(seen) > 5
    return "\n".join(seen.values())


def ui_address(spark: Any) -> str:
    return f"http://127.0.0.1:{spark.conf.get('spark.ui.port')}"


@pytest.mark.spec("HP-134")
def test_four_tasks_share_a_budget_and_no_secret_is_seen_anywhere(
    home: EngineHome,
    make_engine: Callable[..., Engine],
    unwatched: Watcher,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    project = numbers_project(tmp_path / "project")
    port = free_port()
    engine = make_engine(
        home,
        master="local[4]",
        conf={"spark.ui.enabled": "true", "spark.ui.port": str(port), "spark.eventLog.enabled": "true",
              "spark.eventLog.dir": (tmp_path / "events").as_uri()},
    )  # fmt: skip
    (tmp_path / "events").mkdir()
    failures: list[str] = []
    with counting_server() as server, session(engine, unwatched, project=project.root) as spark:
        with open_numbers(project, MARK, rate=RATE, calls=server.url, batch=1) as source:
            table = numbers_table(source)
            land(
                spark,
                source.task,
                table,
                reads(4, 1),
                ParquetSinks([tmp_path / f"warm-{n}" for n in range(4)]),
            )
            server.arrivals.clear()
            start = time.monotonic()
            landed = land(
                spark, source.task, table, reads(4, 50), ParquetSinks([tmp_path / f"x-{n}" for n in range(4)])
            )
            waited = source.budget.waited_seconds if source.budget else 0

            rows = source_rows(spark, source.task, table, reads(1, 3))
            rows.frame.write.parquet(str(tmp_path / "out"))
            plan = rows.frame._explain_string(extended=True)
        with open_numbers(project, MARK, fails="secret") as source:
            for attempt in (
                lambda: land(spark, source.task, table, reads(1, 9), ParquetSinks([tmp_path / "failed"])),
                source_rows(spark, source.task, table, reads(1, 9)).frame.collect,
            ):
                with pytest.raises(Exception, match="hakiri-failure") as caught:
                    attempt()
                failures.append(str(caught.value))
        pages = everything_the_server_shows(spark)

    calls = server.arrivals[:200]
    took = max(calls) - start
    assert [each.rows for each in landed] == [50] * 4
    assert server.most_in_a_window(WINDOW_SECONDS) <= 25
    # 200 calls are 8 windows of 25, of which the first is free at once.
    assert took < 7 * WINDOW_SECONDS / 0.9 + 1.0  # and a second for the job itself
    assert waited > 0

    files = [
        path for folder in (home.runtime, tmp_path / "events") for path in folder.rglob("*") if path.is_file()
    ]
    said = capfd.readouterr()
    everywhere = {str(path): path.read_text("utf-8", "replace") for path in files}
    everywhere |= {
        "plan": plan,
        "pages": pages,
        "out": said.out,
        "err": said.err,
        "errors": "\n".join(failures),
    }
    everywhere["options"] = json.dumps(source.task.text())
    assert [name for name, text in everywhere.items() if MARK in text] == []
    assert "numbers" in everywhere["plan"]
    assert "numbers" in everywhere["pages"]


@pytest.mark.spec("HP-134")
def test_executors_of_a_cluster_share_a_budget_and_have_secrets_of_their_own(
    home: EngineHome, make_engine: Callable[..., Engine], unwatched: Watcher, tmp_path: Path
) -> None:
    project = numbers_project(tmp_path / "project")
    with (
        standalone_cluster(tmp_path, {"MARK": MARK}) as cluster,
        counting_server() as server,
        session(on_cluster(cluster, home, make_engine), unwatched, project=project.root) as spark,
        # The process that runs the pipeline need not have the secret that the executors use.
        open_numbers(
            project, "another", advertised="127.0.0.1", rate="10/500ms", calls=server.url, batch=1
        ) as source,
    ):
        table = numbers_table(source)
        folders = [tmp_path / f"x-{n}" for n in range(2)]
        landed = land(spark, source.task, table, reads(2, 20), ParquetSinks(folders))
        options = source.task.text()
        with (
            open_numbers(project, "another", advertised="127.0.0.1", fails="secret") as failing,
            pytest.raises(Exception, match="hakiri-failure") as caught,
        ):
            land(spark, failing.task, table, reads(1, 9), ParquetSinks([tmp_path / "failed"]))

    assert [each.rows for each in landed] == [20, 20]
    assert server.most_in_a_window(WINDOW_SECONDS) <= 10
    assert "no way in with ***" in str(caught.value)
    assert MARK not in str(caught.value) + options


def on_cluster(cluster: Cluster, home: EngineHome, make_engine: Callable[..., Engine]) -> Engine:
    local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    executors = {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": " ".join(QUICK)}
    conf = local | executors | {"spark.task.maxFailures": "1"}
    return make_engine(home, master=cluster.url, python=sys.executable, conf=conf)


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
