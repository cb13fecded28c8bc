"""The power goes at every step on the disk of a commit, a compaction and a collection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compaction.matrix.cells import NOW, Stage, prepared_stage
from tests.compaction.matrix.hands import KEPT
from tests.compaction.matrix.judge import Reader, leaked, of, stock_reader
from tests.compaction.matrix.operations import Append, Collect, Compact, Operation, Widen
from tests.store.workshop import ORDERS
from tests.support.power import Power

from hakiri.compaction.recipes import TableLayout

# Workers of pytest have a thread that only waits; what is forked here never asks it for anything.
pytestmark = [
    pytest.mark.proof,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

# `make nightly` cuts at every step.
STRIDE = 1 if os.environ.get("HAKIRI_MATRIX_EVERY") == "1" else 4
CATALOG = ("meta.sqlite", "meta.sqlite-wal", "meta.sqlite-shm", "meta.sqlite-lock")


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return prepared_stage(tmp_path_factory.mktemp("power"), has_key=request.param == "key")


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with stock_reader() as reader:
        yield reader


@pytest.mark.spec("HC-009")
@pytest.mark.spec("HC-040")
@pytest.mark.spec("HC-044")
@pytest.mark.parametrize(
    ("stage", "operation"),
    [
        pytest.param("key", Append(), id="append"),
        pytest.param("key", Widen(), id="schema change"),
        pytest.param("key", Compact(), id="compaction, key"),
        pytest.param("key", Collect(), id="collection"),
        pytest.param("no key", Compact(), id="compaction, no key"),
    ],
    indirect=["stage"],
)
def test_without_power_a_reader_sees_what_was_before_or_what_is_after(
    stage: Stage, reader: Reader, operation: Operation, tmp_path: Path
) -> None:
    power = Power(stage.layout.root, tmp_path / "aside", CATALOG)
    step = 1 - STRIDE
    is_cut = True
    while is_cut:
        step += STRIDE
        stage.put_back()
        is_cut = power.ends_at(step, lambda: work(stage, operation))
        power.cut()
        try:
            judge(stage, reader, operation)
        except BaseException as error:
            error.add_note(f"{operation.name}, at its step {step} on the disk")
            raise
    assert step >= 10


def work(stage: Stage, operation: Operation) -> None:
    with stage.hand(1) as hand:
        operation.run(hand)


def judge(stage: Stage, reader: Reader, operation: Operation) -> None:
    states = [of(stage.naive), of(operation.on(stage.naive, "first"))]
    reader.open(stage.layout)
    assert reader.seen() in states
    reader.close()
    with stage.hand(3, now=NOW + KEPT) as hand:
        hand.workshop.publish()
        reader.open(stage.layout)
        seen = reader.seen()
        assert seen in states
        if isinstance(operation, Append | Widen):
            reader.close()
            return
        hand.bench.compact(TableLayout(retain=KEPT), is_full=True)
        assert leaked(stage.layout, hand.workshop.catalog, NOW + 100 * KEPT) == set()
        hand.clock.advance(KEPT)
        hand.collector.collect(KEPT, tables=(ORDERS,))
        reader.open(stage.layout)
        assert reader.seen() == seen
        reader.close()
