"""The desk: where tasks in other processes get turns and secrets."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from hakiri.core.clock import SystemClock
from hakiri.core.grammar import Rate
from hakiri.core.secrets import Secret
from hakiri.sources.budget import SharedBudget
from hakiri.sources.desk import Desk, DeskAddress, DeskBudget, desk_secrets
from hakiri.sources.errors import TransientFailure

FORK = multiprocessing.get_context("forkserver")


@pytest.fixture
def budget() -> SharedBudget:
    return SharedBudget(Rate.parse("5/200ms"), SystemClock())


@pytest.fixture
def desk(budget: SharedBudget) -> Iterator[Desk]:
    with Desk(budgets={"orders": budget}, secrets={"TOKEN": Secret("sesame")}) as desk:
        yield desk


@pytest.fixture
def far_desk(budget: SharedBudget) -> Iterator[Desk]:
    secrets = {"TOKEN": Secret("sesame")}
    with Desk(budgets={"orders": budget}, secrets=secrets, advertised="127.0.0.1") as desk:
        yield desk


def call_often(address: DeskAddress, calls: int, told: Connection) -> None:
    budget = DeskBudget(address, "orders")
    times = []
    for _ in range(calls):
        with budget.turn():
            times.append(time.monotonic())
    told.send(times)


def hold_a_turn(address: DeskAddress, told: Connection) -> None:
    with DeskBudget(address, "orders").turn():
        told.send("holding")
        signal.pause()


@pytest.mark.spec("HP-134")
def test_processes_share_one_budget(desk: Desk) -> None:
    mine, theirs = FORK.Pipe()
    workers = [FORK.Process(target=call_often, args=(desk.address, 10, theirs)) for _ in range(4)]
    for worker in workers:
        worker.start()
    times = sorted(moment for _ in workers for moment in mine.recv())
    for worker in workers:
        worker.join(10)

    fullest = max(sum(1 for at in times if start <= at < start + 0.2) for start in times)
    assert len(times) == 40
    assert fullest <= 5


def test_a_process_that_is_killed_in_a_call_gives_its_turn_back(budget: SharedBudget, desk: Desk) -> None:
    mine, theirs = FORK.Pipe()
    worker = FORK.Process(target=hold_a_turn, args=(desk.address, theirs))
    worker.start()
    assert mine.recv() == "holding"
    assert budget._turns.under_way == 1
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join(10)

    for _ in range(500):
        if budget._turns.under_way == 0:
            break
        time.sleep(0.01)
    assert budget._turns.under_way == 0


def test_a_task_whose_turn_is_not_wanted_any_more_is_hung_up_on() -> None:
    budget = SharedBudget(Rate.parse("1/h"), SystemClock())
    budget.take()
    with Desk(budgets={"orders": budget}, secrets={}) as desk:
        closer = threading.Timer(0.1, budget.close)
        closer.start()

        with pytest.raises(TransientFailure), DeskBudget(desk.address, "orders").turn():
            pass

    closer.join()


def test_secrets_are_given_to_this_machine_only(desk: Desk, far_desk: Desk) -> None:
    assert desk_secrets(desk.address, ["TOKEN"])["TOKEN"].reveal() == "sesame"
    with pytest.raises(TransientFailure):
        desk_secrets(far_desk.address, ["TOKEN"])


def test_secrets_that_were_not_given_are_not_found(desk: Desk) -> None:
    with pytest.raises(TransientFailure):
        desk_secrets(desk.address, ["PATH"])


def test_only_its_owner_can_reach_the_socket(desk: Desk) -> None:
    assert desk.address.path is not None
    folder = Path(desk.address.path).parent

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_desk_by_tcp_serves_whoever_has_the_key(far_desk: Desk) -> None:
    with closing(DeskBudget(far_desk.address, "orders")) as budget, budget.turn():
        pass

    without = DeskAddress(host="127.0.0.1", port=far_desk.address.port, key="guessed")
    with pytest.raises(TransientFailure), DeskBudget(without, "orders").turn():
        pass


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\n",
        b"{}\n",
        b"[]\n",
        b'{"turn": "other"}\n',
        b'{"secrets": ["PATH"]}\n',
        b'{"answered": true}\n',
    ],
)
def test_what_makes_no_sense_is_hung_up_on(desk: Desk, line: bytes) -> None:
    assert desk.address.path is not None
    with socket.socket(socket.AF_UNIX) as there:
        there.connect(desk.address.path)
        there.sendall(line)

        assert there.recv(100) == b""


def test_nothing_is_left_when_the_desk_is_closed(budget: SharedBudget) -> None:
    with Desk(budgets={"orders": budget}, secrets={}) as desk:
        assert desk.address.path is not None
        folder = Path(desk.address.path).parent
        line = DeskBudget(desk.address, "orders")
        with line.turn():
            pass
    line.close()

    assert not folder.exists()
    with pytest.raises(TransientFailure, match="cannot reach the process that started it"):
        desk_secrets(desk.address, ["TOKEN"])
