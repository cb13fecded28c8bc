"""Stores that earlier versions wrote are read by this one, wherever they lie. See `golden/make.py`."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compaction.bench import Bench
from tests.store.golden.make import FOLDER, answers_of
from tests.store.rebuilding import rebuild_catalog
from tests.store.test_checking import checked
from tests.store.workshop import T0, Workshop, open_workshop

from hakiri.store.checking.findings import Severity
from hakiri.store.publishing import Publisher

GOLDEN = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))


@pytest.fixture(params=GOLDEN)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Workshop]]:
    """A store of an earlier version, with its catalog brought up to date and views for where it lies."""
    with tarfile.open(FOLDER / f"{request.param}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    with open_workshop(tmp_path / "shop") as workshop:
        assert Publisher(workshop.layout, workshop.catalog).publish_anew() == ()
        yield request.param, workshop


def answers(name: str) -> object:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def test_there_is_one_of_every_form() -> None:
    assert GOLDEN[0] == "format-1"
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 300_000


def test_what_readers_saw_then_they_see_now(golden: tuple[str, Workshop]) -> None:
    name, workshop = golden

    assert answers_of(workshop) == answers(name)
    assert checked(workshop).findings == ()


def test_its_catalog_can_be_made_anew(golden: tuple[str, Workshop]) -> None:
    name, workshop = golden

    rebuild_catalog(workshop, T0)

    assert Publisher(workshop.layout, workshop.catalog).publish_anew() == ()
    assert answers_of(workshop) == answers(name)
    assert [one for one in checked(workshop).findings if one.severity is not Severity.LITTER] == []


def test_it_can_be_compacted_and_written_to(golden: tuple[str, Workshop]) -> None:
    name, workshop = golden
    bench = Bench(workshop, _runs=1000)
    workshop.plans = iter(range(1000, 2000))

    assert bench.compact() is not None

    assert answers_of(workshop) == answers(name)
