"""A tap as a process: what it sees, what is seen of it, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.singer.lab import TAPS, connected, connector, read, record, rows, schema, state
from tests.support.postgres import is_soon

from hakiri.sources.contract import Read
from hakiri.sources.errors import PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.singer import SingerConnector

# Every test starts several processes.
pytestmark = pytest.mark.proof
SECRET = "hunter2-and-more"
KEY = "-----BEGIN KEY-----\nabcdefghijklmnop\nqrstuvwxyz\n-----END KEY-----"
# Reads as a runtime does, tells that rows have come, and then waits to be killed.
READER = """
import sys
from pathlib import Path
from tests.sources.singer.lab import connector, record, schema
from hakiri.sources.contract import Read

root = Path(sys.argv[1])
steps = [schema(), {"child": str(root / "child")}, {"ignore": 15}, record(1), {"hang": True}]
tap = connector(root, *steps, config={"report": str(root / "report.json")})
for batch in tap.open(Read(table="things", limit=None)):
    pass
"""


class Small(SingerConnector):
    batch_records = 1


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the folders of taps are made in this test; there are none left when it ends."""
    place = tmp_path / "private"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


def told(tmp_path: Path, **more: Any) -> dict[str, Any]:
    """What a tap says it was started with."""
    report = tmp_path / "report.json"
    config = {**more.pop("config", {}), "report": str(report)}
    read(connector(tmp_path, schema(), config=config, **more))
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def told_pid(tmp_path: Path) -> int:
    found: int = json.loads((tmp_path / "report.json").read_text())["process"]
    return found


def state_of(pid: int) -> str:
    """One letter, as the system has it: R is running, S waiting, Z ended; nothing for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def is_alive(pid: int) -> bool:
    return state_of(pid) not in ("", "Z")


def failure_of(tap: SingerConnector) -> ReadFailed:
    with pytest.raises(ReadFailed) as caught:
        read(tap)
    return caught.value


@pytest.mark.spec("HP-150")
def test_secrets_reach_the_tap_in_a_private_file_and_nowhere_else(tmp_path: Path) -> None:
    config = {"password": "${PASSWORD}", "inner": {"list": ["a ${PASSWORD}", 1, None, True]}}

    found = told(tmp_path, config=config, env={"TAP_PASSWORD": "${PASSWORD}"}, secrets={"PASSWORD": SECRET})

    assert found["files"]["--config"]["password"] == SECRET
    assert found["files"]["--config"]["inner"] == {"list": [f"a {SECRET}", 1, None, True]}
    assert found["variables"]["TAP_PASSWORD"] == SECRET
    assert SECRET not in " ".join(found["arguments"])
    assert found["modes"] == {"--config": 0o600, "--catalog": 0o600}
    assert found["private_mode"] == 0o700


def test_a_tap_sees_no_variable_of_its_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-somebody-else")

    found = told(tmp_path, env={"TZ": "UTC"})

    private = str(Path(found["arguments"][1]).parent)
    seen = {name: value for name, value in found["variables"].items() if name != "LC_CTYPE"}
    assert seen == {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "HOME": private,
        "TMPDIR": private,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
    assert found["folder"] == str(tmp_path)


def test_far_from_the_project_a_tap_works_in_its_private_folder(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    tap = connector(tmp_path / "nowhere", schema(), config={"report": str(report)})

    read(tap)

    found = json.loads(report.read_text())
    assert found["folder"] == str(Path(found["arguments"][1]).parent)


def test_a_tap_is_found_beside_this_python_by_path_or_where_the_config_says(tmp_path: Path) -> None:
    script = tmp_path / "taps" / "tap-small"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho \'{"streams": [{"stream": "small", "schema": {}}]}\'\n')
    script.chmod(0o755)

    for config in ({"tap": "taps/tap-small"}, {"tap": "tap-small", "env": {"PATH": f"{script.parent}:/bin"}}):
        assert connected(tmp_path, config).check() == "tap-small tells of 1 stream"
    beside = Path(sys.executable).name
    steps = {"tap": [beside, str(TAPS / "old.py")], "properties": True}
    assert connected(tmp_path, steps).check() == "old.py tells of 2 streams"


def test_a_read_that_is_given_up_ends_the_tap_and_its_children(tmp_path: Path) -> None:
    steps = (schema(), {"child": str(tmp_path / "child")}, record(1), record(2), {"hang": True})

    tap = connector(tmp_path, *steps, kind=Small, config={"report": str(tmp_path / "report.json")})
    reading = tap.open(Read(table="things"))
    next(reading)
    pids = [int((tmp_path / "child").read_text()), told_pid(tmp_path)]
    assert all(is_alive(pid) for pid in pids)

    reading.close()  # type: ignore[attr-defined]

    assert not any(is_alive(pid) for pid in pids)


def test_closing_the_connector_ends_a_tap_that_does_not_want_to(tmp_path: Path) -> None:
    steps = ({"ignore": signal.SIGTERM}, schema(), record(1), record(2), {"hang": True})
    tap = connector(tmp_path, *steps, kind=Small, config={"report": str(tmp_path / "report.json")})
    reading = tap.open(Read(table="things"))
    next(reading)

    tap.close()

    assert not is_alive(told_pid(tmp_path))
    del reading


@pytest.mark.parametrize("kind", ["child", "daemon"])
def test_children_that_a_tap_leaves_behind_end_with_it(tmp_path: Path, kind: str) -> None:
    tap = connector(tmp_path, schema(), {kind: str(tmp_path / "child")}, record(1))

    assert len(rows(read(tap))) == 1

    assert not is_alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_reader_is_killed_the_tap_its_children_and_its_secrets_are_gone(
    tmp_path: Path, private_folders: Path, number: signal.Signals
) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(tmp_path)],
        env={**os.environ, "TMPDIR": str(private_folders), "PYTHONPATH": str(TAPS.parents[3])},
    )
    assert is_soon(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text() != "")
    pids = [int((tmp_path / "child").read_text()), told_pid(tmp_path)]
    assert all(is_alive(pid) for pid in pids)
    assert list(private_folders.iterdir()) != []

    reader.send_signal(number)
    reader.wait()

    assert is_soon(lambda: not any(is_alive(pid) for pid in pids))
    assert is_soon(lambda: list(private_folders.iterdir()) == [])


def test_when_the_leash_is_killed_the_tap_ends_all_the_same(tmp_path: Path) -> None:
    steps = (schema(), record(1), record(2), {"hang": True})
    tap = connector(tmp_path, *steps, kind=Small, config={"report": str(tmp_path / "report.json")})
    reading = tap.open(Read(table="things"))
    next(reading)
    leash = int(Path(f"/proc/{told_pid(tmp_path)}/stat").read_text().rpartition(")")[2].split()[1])

    os.kill(leash, signal.SIGKILL)

    with pytest.raises(TransientFailure, match="was ended by signal 9"):
        list(reading)
    assert _ends(told_pid(tmp_path))


def _ends(pid: int) -> bool:
    """Whether the process ends within ten seconds: the system tells it in its own time."""
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def test_a_read_may_be_handed_on_from_a_thread_that_has_ended(tmp_path: Path) -> None:
    reading = connector(tmp_path, schema(), {"count": {"until": 50}}, kind=Small).open(Read(table="things"))
    first = threading.Thread(target=lambda: next(reading))
    first.start()
    first.join()

    assert sum(batch.rows.num_rows for batch in reading) == 49


def test_a_tap_that_says_nothing_for_too_long_is_ended(tmp_path: Path) -> None:
    config = {"report": str(tmp_path / "report.json")}
    tap = connector(tmp_path, schema(), record(1), state(1), {"hang": True}, config=config, timeout="2s")

    error = failure_of(tap)

    assert isinstance(error, TransientFailure)
    assert str(error) == "the tap `steps.py` gave no sign of life for 2s"
    assert error.hint == "write a longer `timeout`, if it needs more time between two lines"
    assert not is_alive(told_pid(tmp_path))


def test_a_tap_that_never_begins_is_ended_and_gives_its_turn_back(tmp_path: Path) -> None:
    tap = connector(tmp_path, discover=[{"hang": True}], timeout="2s")

    with pytest.raises(TransientFailure, match="no sign of life"):
        tap.discover()


def test_a_tap_is_held_up_by_a_slow_reader(tmp_path: Path) -> None:
    """It cannot run ahead by more than pipes and buffers hold, so memory is bounded."""
    done = tmp_path / "done"
    steps = (schema(), {"count": {"until": 200, "letters": 100_000}}, {"child": str(done)})
    tap = connector(tmp_path, *steps, kind=Small, config={"report": str(tmp_path / "report.json")})
    reading = tap.open(Read(table="things"))
    next(reading)

    assert is_soon(lambda: state_of(told_pid(tmp_path)) == "S")
    assert not done.exists()
    assert sum(batch.rows.num_rows for batch in reading) == 199
    assert done.exists()


@pytest.mark.parametrize(
    "line",
    [
        f"the password is {SECRET}",
        f"{'x' * 290} {SECRET}",
        json.dumps({"key": KEY}),
        KEY,
        f"{'y' * 70_000}{SECRET}",
    ],
)
def test_no_secret_is_seen_of_a_log(tmp_path: Path, line: str) -> None:
    secrets = {"PASSWORD": SECRET, "KEY": KEY}
    config = {"password": "${PASSWORD}", "private_key": "${KEY}"}

    error = failure_of(
        connector(tmp_path, schema(), {"log": line}, {"exit": 1}, config=config, secrets=secrets)
    )

    for hidden in (SECRET, SECRET[:8], "abcdefghijklmnop", "qrstuvwxyz"):
        assert hidden not in f"{error} {error.hint} {vars(error)}"


def test_no_secret_is_seen_of_a_line_that_was_printed(tmp_path: Path) -> None:
    steps = (schema(), {"write": f"{'z' * 30} {SECRET}\n"})

    error = failure_of(connector(tmp_path, *steps, secrets={"PASSWORD": SECRET}))

    assert isinstance(error, PermanentFailure)
    assert str(error) == f"line 2 of the tap is no JSON: `{'z' * 30} ***`"


def test_every_start_is_one_turn_and_reading_is_none(tmp_path: Path) -> None:
    tap = connector(tmp_path, schema(), record(1), state(1))
    budget: Any = tap.context.budget

    tap.discover()
    assert budget.turns == 1
    tap.discover()
    read(tap)
    assert (budget.turns, budget.held()) == (2, 0)
