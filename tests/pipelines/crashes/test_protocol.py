"""The commit protocol under crashes by the hundred, on real files and a real catalog, with all but Spark."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.support.protocol_lab import Order, Tried, run_lane
from tests.support.protocol_lab_mutants import MUTANTS
from tests.support.seeds import chosen_seed
from tests.support.victims import SERVER, start

from hakiri.pipelines.runtime.steps import Step

pytestmark = pytest.mark.proof

LANES = 2
# `make nightly` asks for more.
TRIES = int(os.environ.get("HAKIRI_CRASH_TRIES", "300"))
TRIES_A_STEP = TRIES // 100
TRIES_A_MUTANT = 500
# On a machine that has nothing else to do it takes a tenth of this.
LONGEST_SECONDS = 60 + TRIES * 0.4


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """On a disk in memory where there is one: what is tried is the order of steps, not the disk."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as made:
        yield Path(made)


def tried(folder: Path, lanes: Sequence[Sequence[Order]]) -> list[list[Tried]]:
    """What became of the orders, each lane of them in a process of its own."""
    processes = []
    for number, orders in enumerate(lanes):
        place = folder / f"lane-{number}"
        place.mkdir()
        ours, theirs = SERVER.Pipe(duplex=False)
        processes.append((start(run_lane, place, orders, theirs), ours, len(orders)))
        theirs.close()
    results = [[ours.recv() for _ in range(count)] for _, ours, count in processes]
    for process, ours, _ in processes:
        process.join()
        process.close()
        ours.close()
    return results


@pytest.mark.timeout(LONGEST_SECONDS)
@pytest.mark.spec("HP-040")
@pytest.mark.spec("HP-041")
@pytest.mark.spec("HP-046")
@pytest.mark.spec("HP-100")
@pytest.mark.spec("HP-120")
@pytest.mark.spec("HP-121")
def test_hundreds_of_crashes_at_every_step_break_no_promise(folder: Path) -> None:
    seed = chosen_seed()
    sys.stdout.write(f"seed {seed}\n")

    results = tried(
        folder,
        [
            [Order(seed=seed + lane, tries=TRIES // LANES, tries_a_step=-(-TRIES_A_STEP // LANES))]
            for lane in range(LANES)
        ],
    )

    every = [one for lane in results for one in lane]
    kills = sum((one.kills for one in every), Counter[str]())
    assert [problem for one in every for problem in one.broken] == []
    assert kills.total() >= TRIES
    assert {step: kills[step] for step in Step if kills[step] < TRIES_A_STEP} == {}


@pytest.mark.timeout(LONGEST_SECONDS)
def test_every_wrong_order_of_steps_is_found_out(folder: Path) -> None:
    seed = chosen_seed()
    sys.stdout.write(f"seed {seed}\n")
    orders = [Order(seed=seed, tries=TRIES_A_MUTANT, mutant=name) for name in MUTANTS]

    results = tried(folder, [orders[lane::LANES] for lane in range(LANES)])

    ways = [name for lane in range(LANES) for name in list(MUTANTS)[lane::LANES]]
    found = dict(zip(ways, (one.broken for lane in results for one in lane), strict=True))
    assert [name for name, broken in found.items() if not broken] == []
