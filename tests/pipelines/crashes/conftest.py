from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.counted import CountedSource
from tests.support.crashes_patient import Patient
from tests.support.crashes_spark import Nursery
from tests.support.labs import lab, source
from tests.support.runtime import Lab

from hakiri.engine import EngineHome

__all__ = ["lab", "source"]


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Where workers come from that are killed."""
    with Nursery.open(tmp_path_factory.mktemp("nursery")) as nursery:
        yield nursery


@pytest.fixture
def server(spark: Any, shared_home: EngineHome) -> str:
    """The address of the server that all tests share, for sessions of other processes."""
    (running,) = shared_home.servers()
    record = running.read_record()
    assert record is not None
    return record.address


@pytest.fixture
def patient(lab: Lab, source: CountedSource, nursery: Nursery, server: str) -> Patient:
    return Patient(lab=lab, source=source, nursery=nursery, server=server)
