"""Processes killed at random moments: others take up what they began, and nobody sees a half of it."""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.grounds import Ground, new_ground, opened
from tests.support.labour import (
    CHANGES_A_PLAN,
    DROPS,
    PIPELINE,
    ROUTE,
    TABLES_A_PLAN,
    halves,
    labour,
    labour_until_killed,
)
from tests.support.victims import SERVER, assert_killed, start

from hakiri.catalog.contract.push import PushTally

pytestmark = pytest.mark.proof

KILLS = 24
MOST_WRITES = 12
PLANS = 24  # about what all those who are killed can do
LONGEST_WRITE_SECONDS = 0.01
READER_PAUSE_SECONDS = 0.002


@pytest.fixture(params=["sqlite", "postgres"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    return new_ground(request.param, request, tmp_path)


@contextmanager
def reading(ground: Ground) -> Iterator[list[str]]:
    """Look at the catalog all the while; what was seen half is in the list."""
    seen: list[str] = []
    looks = 0
    ended = threading.Event()

    def look() -> None:
        nonlocal looks
        with ground.looking() as dump:
            while not ended.wait(READER_PAUSE_SECONDS):
                seen.extend(halves(dump()))
                looks += 1

    reader = threading.Thread(target=look)
    reader.start()
    try:
        yield seen
    finally:
        ended.set()
        reader.join()
    assert looks > KILLS


def kill_in_turn(ground: Ground, turn: int, chance: random.Random) -> None:
    """Let a process work on the plans, and kill it somewhere between two of its first writes."""
    ours, theirs = SERVER.Pipe(duplex=False)
    with ours:
        process = start(labour_until_killed, ground, turn, PLANS, theirs)
        theirs.close()
        for _ in range(chance.randint(1, MOST_WRITES)):
            ours.recv()
        process.join(chance.uniform(0, LONGEST_WRITE_SECONDS))
        process.kill()
        assert_killed(process)


def finish(ground: Ground, turn: int) -> None:
    ours, theirs = SERVER.Pipe(duplex=False)
    with ours, theirs:
        labour(ground, turn, PLANS, theirs)


@pytest.mark.spec("AD-003")
@pytest.mark.spec("AD-009")
@pytest.mark.spec("AD-011")
@pytest.mark.spec("AD-019")
@pytest.mark.spec("HP-122")
def test_processes_killed_at_random_moments_leave_no_halves_and_lose_nothing(ground: Ground) -> None:
    seed = random.SystemRandom().getrandbits(32)
    sys.stdout.write(f"seed {seed}\n")
    chance = random.Random(seed)

    with reading(ground) as seen, ground.looking() as dump:
        for turn in range(KILLS):
            kill_in_turn(ground, turn, chance)
            assert halves(dump()) == []
        finish(ground, KILLS)
        rows = Counter(table for table, _ in dump())

    assert seen == []
    with opened(ground) as catalog:
        tally = catalog.chunks.tally(PIPELINE)
        assert (tally.done, tally.superseded) == (TABLES_A_PLAN * PLANS, PLANS)
        assert tally.total == tally.done
        assert catalog.push.tally(ROUTE) == PushTally(delivered=CHANGES_A_PLAN * PLANS)
        assert catalog.check() == ()
    assert rows["lineage"] == (2 * (TABLES_A_PLAN + 1) + TABLES_A_PLAN) * PLANS
    assert rows["audit"] == TABLES_A_PLAN * PLANS
    assert rows["to_delete"] == DROPS * TABLES_A_PLAN * PLANS
