"""Servers as processes: started, shared, killed, forgotten. Each test has an engine's home of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.errors import ExitCode
from hakiri.engine import Engine, EngineHome, Watcher, join_server, server_states, session, stop_servers
from hakiri.engine.connect import connect
from hakiri.engine.errors import ServerBusy, ServerStartFailed, SparkUnreachable
from hakiri.engine.home import ServerRecord
from hakiri.engine.server import JoinedServer

pytestmark = pytest.mark.cluster

MakeEngine = Callable[..., Engine]
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


def join(engine: Engine) -> JoinedServer:
    return join_server(engine.plan(), engine.home, engine.clock)


def ask(address: str, question: Callable[[Any], Any]) -> Any:
    spark = connect(address)
    try:
        return question(spark)
    finally:
        spark.stop()


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def running(spark: Any, shared_home: EngineHome) -> ServerRecord:
    """The server that all tests share."""
    (server,) = server_states(shared_home)
    assert server.record is not None
    return server.record


def test_a_server_is_private_loopback_only_and_wants_its_token(
    running: ServerRecord, shared_home: EngineHome
) -> None:
    folder = shared_home.server(running.key)

    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert folder.record.stat().st_mode & 0o777 == 0o600
    assert folder.launch.stat().st_mode & 0o777 == 0o600
    listening = {
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{running.port:04X}")
    }
    assert listening
    assert all("0100007F" in address for address in listening), listening
    assert running.token not in Path(f"/proc/{running.pid}/cmdline").read_text()
    with pytest.raises(Exception, match=r"(?i)authenticat"):
        ask(f"sc://localhost:{running.port}", lambda spark: spark.range(1).count())


def test_two_first_commands_at_the_same_moment_share_one_server(
    home: EngineHome, make_engine: MakeEngine, tmp_path: Path
) -> None:
    script = tmp_path / "first.py"
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from hakiri.core.clock import SystemClock\n"
        "from hakiri.engine import Engine, EngineConfig, EngineHome, join_server\n"
        "home = EngineHome(runtime=Path(sys.argv[1]), cache=Path(sys.argv[2]))\n"
        "config = EngineConfig(master='local[2]', heap_mib=512)\n"
        "engine = Engine(config=config, home=home, env=dict(os.environ), python=sys.executable,"
        " clock=SystemClock())\n"
        "joined = join_server(engine.plan(), home, engine.clock)\n"
        "print(joined.record.pid, joined.was_started)\n"
    )
    command = [sys.executable, str(script), str(home.runtime), str(home.cache)]

    commands = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [running.communicate()[0].split() for running in commands]

    assert len({pid for pid, _ in answers}) == 1
    assert sorted(was_started for _, was_started in answers) == ["False", "False", "True"]


def test_killed_processes_and_stale_files_never_stop_the_next_command(
    home: EngineHome, make_engine: MakeEngine
) -> None:
    engine = make_engine(home, conf=QUICK)
    first = join(engine)
    first.leave()

    os.kill(first.record.pid, signal.SIGKILL)  # the JVM dies: its keeper tidies up
    wait_until(lambda: server_states(home) == [])
    assert home.server(first.record.key).read_record() is None
    second = join(engine)
    second.leave()

    (second_state,) = server_states(home)
    assert second_state.keeper_pid is not None
    os.kill(second_state.keeper_pid, signal.SIGKILL)  # the keeper dies: the JVM goes with it
    wait_until(lambda: not is_running(second.record.pid))
    assert home.server(second.record.key).read_record() == second.record  # nobody was left to remove it
    third = join(engine)

    assert third.was_started
    assert len({first.record.pid, second.record.pid, third.record.pid}) == 3
    assert ask(third.record.address, lambda spark: spark.range(2).count()) == 2
    third.leave()


def test_a_record_of_a_process_that_is_not_ours_harms_nobody(
    home: EngineHome, make_engine: MakeEngine, running: ServerRecord
) -> None:
    engine = make_engine(home, conf=QUICK)
    key = engine.plan().key
    bystander = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    for folder in (home.runtime, home.runtime / "servers", home.server(key).path):
        folder.mkdir(mode=0o700)
    home.server(key).write_record(replace(running, key=key, pid=bystander.pid))
    home.server(key).write_keeper_pid(bystander.pid)

    states = server_states(home)
    joined = join(engine)

    assert states == []
    assert joined.was_started
    assert bystander.poll() is None
    joined.leave()
    bystander.communicate()


def test_a_server_ends_after_the_idle_time_of_the_latest_command_and_not_while_it_is_in_use(
    home: EngineHome, make_engine: MakeEngine
) -> None:
    patient = make_engine(home, conf=QUICK, idle_timeout=timedelta(hours=1))
    join(patient).leave()
    hasty = replace(patient, config=replace(patient.config, idle_timeout=timedelta(seconds=1)))
    joined = join(hasty)

    time.sleep(2.5)  # what must not happen has no event to wait for
    still_there = [state.is_in_use for state in server_states(home)]
    joined.leave()
    wait_until(lambda: server_states(home) == [])

    assert not joined.was_started
    assert still_there == [True]
    assert not is_running(joined.record.pid)


def test_a_server_in_use_is_stopped_only_by_force(home: EngineHome, make_engine: MakeEngine) -> None:
    engine = make_engine(home, conf=QUICK)
    joined = join(engine)

    with pytest.raises(ServerBusy) as refused:
        stop_servers(home, engine.clock)
    stopped = stop_servers(home, engine.clock, force=True)

    assert refused.value.exit_code is ExitCode.REFUSED
    assert [state.key for state in stopped] == [joined.record.key]
    assert server_states(home) == []
    assert not is_running(joined.record.pid)


def test_a_changed_setting_gets_a_server_of_its_own(
    shared_engine: Engine, make_engine: MakeEngine, running: ServerRecord
) -> None:
    home = shared_engine.home
    other = make_engine(home, conf={"spark.sql.shuffle.partitions": "7"}, idle_timeout=timedelta(seconds=0.5))

    joined = join(other)
    partitions = ask(joined.record.address, lambda spark: spark.conf.get("spark.sql.shuffle.partitions"))
    states = server_states(home)
    joined.leave()
    wait_until(lambda: len(server_states(home)) == 1)

    assert joined.was_started
    assert partitions == "7"
    assert {state.key for state in states} == {running.key, joined.record.key}
    assert len(states) == 2


def test_spark_runs_on_the_java_that_comes_as_a_wheel(
    home: EngineHome, make_engine: MakeEngine, unwatched: Watcher
) -> None:
    engine = make_engine(home, conf=QUICK, archive=False)
    bare = replace(engine, env=dict(engine.env) | {"PATH": "/usr/bin/nowhere", "JAVA_HOME": ""})

    with session(bare, unwatched) as spark:
        rows = spark.range(4).mapInArrow(lambda batches: batches, "id bigint").count()
        record = server_states(home)[0].record

    assert rows == 4
    assert record is not None
    assert record.java.endswith("(hakiri[java])")


def test_a_start_that_fails_tells_the_end_of_sparks_log(home: EngineHome, make_engine: MakeEngine) -> None:
    engine = make_engine(home, conf={"spark.driver.extraJavaOptions": "-XX:NewSize=1x"})

    with pytest.raises(ServerStartFailed) as failed:
        join(engine)

    assert str(failed.value).startswith("Spark did not start: the server ended before it was up\n  | ")
    assert "NewSize" in str(failed.value)
    assert failed.value.hint.endswith("server.log, or run `hakiri doctor`")
    assert server_states(home) == []


def test_a_server_that_dies_under_a_job_is_told_within_seconds(
    home: EngineHome, make_engine: MakeEngine, unwatched: Watcher
) -> None:
    engine = make_engine(home, conf=QUICK)
    began = time.monotonic()

    def kill_and_ask() -> None:
        with session(engine, unwatched) as spark:
            record = server_states(home)[0].record
            assert record is not None
            os.kill(record.pid, signal.SIGKILL)
            spark.range(1).count()

    with pytest.raises(SparkUnreachable) as failed:
        kill_and_ask()

    assert str(failed.value).endswith("the connection was lost")
    assert time.monotonic() - began < 40


def test_a_command_killed_while_starting_leaves_a_server_for_the_next(
    home: EngineHome, make_engine: MakeEngine
) -> None:
    engine = make_engine(home, conf=QUICK)

    class Killed(BaseException):
        pass

    def die() -> None:
        raise Killed

    with pytest.raises(Killed):
        join_server(engine.plan(), home, engine.clock, while_starting=die)
    joined = join(engine)

    assert [state.key for state in server_states(home)] == [joined.record.key]
    assert ask(joined.record.address, lambda spark: spark.range(2).count()) == 2
    joined.leave()
