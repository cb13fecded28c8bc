"""A commit whose answer is lost is settled by reading back: the write is done once, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any

import pytest
from tests.support.grounds import CHANCE, IMPATIENT, opened
from tests.support.lines import ALWAYS, COMMIT, CONNECTED, Line
from tests.support.writes import REPEATABLE, WRITES, Write

from hakiri.catalog.errors import CommitUnknown

pytestmark = [pytest.mark.proof, pytest.mark.spec("AD-011")]

each_write = pytest.mark.parametrize("write", WRITES, ids=lambda write: write.name)


def without_chance(result: Any) -> Any:
    """What of a result is the same on two catalogs with the same history."""
    if isinstance(result, tuple):
        return tuple(map(without_chance, result))
    fields = asdict(result) if is_dataclass(result) and not isinstance(result, type) else result
    if isinstance(fields, dict):
        return {name: without_chance(value) for name, value in fields.items() if name not in CHANCE}
    return fields


def write_with_fault(write: Write, line: Line, name: str, set_fault: Callable[[], None]) -> None:
    """Do a write while a fault waits for it, and undisturbed elsewhere: nothing tells them apart."""
    stage = write.prepare(line.direct, name)
    expected = write.do(line.quiet, write.prepare(line.quiet, name))
    with opened(line.faulty) as catalog:
        catalog.pipelines.all()
        receipts, fired = line.ground.receipts(), line.proxy.faults_fired
        set_fault()

        result = write.do(catalog, stage)

        assert line.proxy.faults_fired == fired + 1
        assert line.ground.receipts() == receipts + 1
    assert without_chance(result) == without_chance(expected)
    assert line.have_the_same_history()


@pytest.mark.spec("AD-001")
@each_write
def test_a_write_whose_answer_was_lost_is_not_done_twice(write: Write, line: Line) -> None:
    write_with_fault(write, line, f"swallowed {write.name}", lambda: line.proxy.swallow_answer_of(COMMIT))


@each_write
def test_a_write_whose_commit_was_lost_is_done_again(write: Write, line: Line) -> None:
    write_with_fault(write, line, f"dropped {write.name}", lambda: line.proxy.drop_before(COMMIT))


@pytest.mark.parametrize("write", REPEATABLE, ids=lambda write: write.name)
@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "not kept"])
def test_a_commit_in_doubt_is_called_so_and_can_be_repeated(write: Write, line: Line, is_kept: bool) -> None:
    name = f"in doubt {is_kept} {write.name}"
    write.do(line.quiet, write.prepare(line.quiet, name))
    stage = write.prepare(line.direct, name)
    with opened(line.faulty, IMPATIENT) as catalog:
        catalog.pipelines.all()
        lose = line.proxy.swallow_answer_of if is_kept else line.proxy.drop_before
        lose(COMMIT)
        line.proxy.drop_before(CONNECTED, times=ALWAYS)

        with pytest.raises(CommitUnknown) as failed:
            write.do(catalog, stage)

        line.proxy.heal()
        assert line.have_the_same_history() is is_kept
        write.do(catalog, stage)
        assert line.have_the_same_history()
    assert failed.value.code == "catalog.commit_unknown"
    assert str(failed.value) == (
        "whether the last write to the catalog `postgresql://test#faulty` was kept is not known:"
        f" {failed.value.why}"
    )
    assert failed.value.hint == (
        "run the command again once the catalog answers; what was kept is not done twice"
    )
