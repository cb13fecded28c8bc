"""The power goes at every step on the disk of a commit, a compaction, a collection and a rebuild."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.compaction.matrix.cells import NOW, Stage, prepared_stage, template
from tests.compaction.matrix.hands import KEPT
from tests.compaction.matrix.judge import Reader, leaked, of, stock_reader, untold
from tests.compaction.matrix.operations import Append, Collect, Compact, Operation, Widen
from tests.store.rebuilding import planned
from tests.store.workshop import ORDERS
from tests.support.power import Power

from hakiri.catalog.errors import CatalogError
from hakiri.catalog.opening import catalog_place
from hakiri.catalog.sql.place import SqlPlace
from hakiri.compaction.recipes import TableLayout
from hakiri.store.publishing import Publisher

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
        assert untold(hand.workshop.catalog) == []
        hand.clock.advance(KEPT)
        hand.collector.collect(KEPT, tables=(ORDERS,))
        reader.open(stage.layout)
        assert reader.seen() == seen
        reader.close()


REMARK = "a remark that only the catalog has"
BESIDE = tuple(f"meta.sqlite{made}{end}" for made in ("", ".rebuilt") for end in ("-wal", "-shm", "-lock"))


@pytest.fixture
def old_catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    """A stage whose catalog is whole, or has a journal of somebody who died and may be damaged or gone."""
    stage = prepared_stage(tmp_path, has_key=True)
    path, aside = stage.layout.root / "meta.sqlite", tmp_path / "copies"
    aside.mkdir()
    with stage.hand(2) as hand:
        hand.workshop.catalog.audit.note("operator:anna", "remark", NOW, reason=REMARK)
        for file in stage.layout.root.glob("meta.sqlite*"):
            shutil.copy(file, aside)
    if request.param != "whole":
        for name in ("meta.sqlite", "meta.sqlite-wal"):
            shutil.copy(aside / name, path.with_name(name))
        assert REMARK.encode() in path.with_name("meta.sqlite-wal").read_bytes()
    if request.param == "damaged":
        path.write_bytes(bytes(100) + path.read_bytes()[100:])
    if request.param == "gone":
        path.unlink()
    shutil.rmtree(stage.layout.root.with_name("store-kept"))
    return replace(stage, put_back=template(stage.layout.root))


@pytest.mark.spec("HC-044")
@pytest.mark.parametrize("old_catalog", ["whole", "with a journal", "damaged", "gone"], indirect=True)
def test_without_power_a_rebuild_leaves_the_old_catalog_or_the_new_one(
    old_catalog: Stage, reader: Reader, tmp_path: Path
) -> None:
    stage, root = old_catalog, old_catalog.layout.root
    path = root / "meta.sqlite"
    power = Power(root, tmp_path / "aside", BESIDE, returning=("meta.sqlite-wal",))
    had_remark, was_sound = knows_remark(root, tmp_path), is_sound(stage)
    stride = min(STRIDE, 2)  # the new file has its name, and is not sure of it, for no longer
    step = 1 - stride
    is_cut = True
    while is_cut:
        step += stride
        stage.put_back()
        old = path.stat().st_ino if path.exists() else None
        is_cut = power.ends_at(step, lambda: rebuild(stage))
        is_old = path.exists() and path.stat().st_ino == old
        replace(power, spared=(*BESIDE, "meta.sqlite") if is_old else BESIDE).cut()
        try:
            assert is_old or not path.exists() or not has_old_journal(root)
            reader.open(stage.layout)
            assert reader.seen() == of(stage.naive)
            reader.close()
            assert is_sound(stage) or (not was_sound and (is_old or not path.exists()))
            assert knows_remark(root, tmp_path) == had_remark
            rebuild(stage)
            assert is_sound(stage)
            assert knows_remark(root, tmp_path) == had_remark
            reader.open(stage.layout)
            assert reader.seen() == of(stage.naive)
            reader.close()
        except BaseException as error:
            error.add_note(f"at step {step} on the disk of the rebuild")
            raise
    assert step >= 10


def place_of(stage: Stage) -> SqlPlace:
    root = stage.layout.root
    place = catalog_place(f"sqlite:///{root / 'meta.sqlite'}", project="shop", base=root)
    assert isinstance(place, SqlPlace)
    return place


def rebuild(stage: Stage) -> None:
    """What `hakiri context rebuild-catalog` does."""
    place = place_of(stage)
    place.rebuild(planned(stage.layout, NOW).contents, NOW)
    with place.open() as catalog:
        assert Publisher(stage.layout, catalog).publish_anew() == ()


def is_sound(stage: Stage) -> bool:
    """Whether there is a catalog that keeps its promises and has the table."""
    if not (stage.layout.root / "meta.sqlite").exists():
        return False
    with suppress(CatalogError), place_of(stage).open(is_look=True) as catalog:
        return catalog.check() == () and len(catalog.chunks.landed(ORDERS)) == 4
    return False


def has_old_journal(root: Path) -> bool:
    """Whether a journal lies beside the catalog, or where one would be, that was there before."""
    journal = root / "meta.sqlite-wal"
    return journal.exists() and REMARK.encode() in journal.read_bytes()


def knows_remark(root: Path, folder: Path) -> bool:
    """Whether what only the catalog had is in it, or in one that was kept."""
    copies = folder / "look"
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir()
    for file in root.glob("meta.sqlite*"):
        shutil.copy(file, copies)
    for file in [each for each in copies.iterdir() if not each.name.endswith(("-wal", "-shm", "-lock"))]:
        is_readable = file.read_bytes()[:16] == b"SQLite format 3\0"
        with suppress(sqlite3.Error), closing(sqlite3.connect(file)) as connection:
            if connection.execute("SELECT 1 FROM audit WHERE reason = ?", [REMARK]).fetchone():
                return True
        # What cannot be read was given what its journal had all the same.
        if not is_readable and REMARK.encode() in file.read_bytes():
            return True
    return False
