"""`hakiri engine`, with servers of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from hakiri.core.clock import SystemClock
from hakiri.engine import Engine, EngineHome, join_server, stop_servers

if TYPE_CHECKING:
    from conftest import Outcome, Run

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
CONF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
QUICK = (
    *("--set", "engine.master=local[1]", "--set", "engine.driver_memory=512MiB"),
    *("--set", *(f"engine.conf.{key}={value}" for key, value in CONF.items())),
)


def servers(name: str, outcome: Outcome) -> list[dict[str, object]]:
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text())).validate(outcome.data)
    assert outcome.code == 0
    return list(outcome.data["servers"])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[EngineHome]:
    """An engine's home of one test, known to the command; whatever it started is gone afterwards."""
    home = EngineHome(runtime=tmp_path / "runtime", cache=tmp_path / "cache")
    monkeypatch.setenv("HAKIRI_RUNTIME_DIR", str(home.runtime))
    monkeypatch.setenv("HAKIRI_CACHE_DIR", str(home.cache))
    yield home
    stop_servers(home, SystemClock(), force=True)


def test_without_a_server_every_command_says_so(run: Run, home: EngineHome) -> None:
    status, stop, logs = run("engine", "status"), run("engine", "stop"), run("engine", "logs")

    assert status.out == "no Spark server is up; the first command that needs one starts it\n"
    assert stop.out == "no Spark server was up\n"
    assert (logs.out, logs.err) == ("", "no Spark server has written a log yet\n")
    assert [outcome.code for outcome in (status, stop, logs)] == [0, 0, 0]
    assert not home.runtime.exists()


@pytest.mark.parametrize("command", ["status", "stop"])
def test_without_a_server_json_has_none(run: Run, home: EngineHome, command: str) -> None:
    assert servers(f"engine-{command}", run("engine", command, "--json")) == []


def test_a_server_that_is_not_ours_is_not_started(run: Run, home: EngineHome) -> None:
    outcome = run("engine", "start", "--set", "engine.master=sc://spark.example.com:15002")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[usage]: engine.master is an sc:// address, whose server is not ours to start\n"
        "hint: start it where it runs, or set engine.master to local[*]\n"
    )
    assert not home.runtime.exists()


@pytest.mark.cluster
def test_a_server_is_started_found_shown_refused_to_stop_and_stopped(
    run: Run, home: EngineHome, make_engine: Callable[..., Engine], spark_cache: Path
) -> None:
    home.cache.symlink_to(spark_cache)
    started = run("engine", "start", *QUICK)
    [state] = servers("engine-status", run("engine", "status", "--json"))
    again = servers("engine-start", run("engine", "start", "--json", *QUICK))
    found = run("engine", "start", *QUICK)
    key, pid = state["server"], state["pid"]

    assert (started.code, started.err) == (0, "starting Spark …\n")
    assert started.out.startswith(f"server {key} is up after ")
    assert again == [state]
    assert (found.out, found.err) == (f"server {key} was up already\n", "")
    assert (state["state"], state["master"], state["archive_used"]) == ("idle", "local[1]", True)
    assert state["idle_seconds"] == 600.0

    shown = run("engine", "status").out.splitlines()
    assert shown[0].replace(" ", "") == "serverstatemastersparkjavapidupsincestopsafter"
    assert shown[1].startswith(f"{key}  idle   local[1]  4.3.0  ")
    assert shown[1].endswith("600 s idle")
    assert f" {pid} " in shown[1]

    logs = run("engine", "logs", "--lines", "1")
    assert (logs.code, len(logs.out.splitlines())) == (0, 1)
    assert logs.err == f"==> {state['log']} <==\n"
    assert "Spark Connect server started at: " in run("engine", "logs").out

    engine = make_engine(home, master="local[1]", heap_mib=512, conf=CONF)
    joined = join_server(engine.plan(), home, engine.clock)
    refused = run("engine", "stop")
    [in_use] = servers("engine-status", run("engine", "status", "--json"))
    joined.leave()
    assert (joined.record.key, joined.was_started) == (key, False)
    assert (refused.code, refused.out) == (4, "")
    assert refused.err == (
        f"error[engine.busy]: Spark is in use by another command (server {key})\n"
        "hint: wait for it, or stop it all the same with `hakiri engine stop --force`\n"
    )
    assert (in_use["state"], in_use["pid"]) == ("in use", pid)

    stopped = run("engine", "stop")
    assert (stopped.code, stopped.out) == (0, f"stopped server {key}\n")
    assert servers("engine-status", run("engine", "status", "--json")) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(pid)), 0)


@pytest.mark.cluster
def test_a_server_that_cannot_start_tells_the_end_of_its_log(run: Run, home: EngineHome) -> None:
    outcome = run("engine", "start", "--set", "engine.conf.spark.driver.extraJavaOptions=-XX:NewSize=1x")

    assert (outcome.code, outcome.out) == (1, "")
    assert "error[engine.start_failed]: Spark did not start: the server ended before it was up\n  | " in (
        outcome.err
    )
    assert "NewSize" in outcome.err
