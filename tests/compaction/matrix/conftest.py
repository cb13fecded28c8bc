from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.compaction.matrix.cells import Stage, prepared_stage
from tests.compaction.matrix.judge import Reader, stock_reader


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A prepared table, with a key if the parameter says `key`."""
    return prepared_stage(tmp_path_factory.mktemp("matrix"), has_key=request.param == "key")


@pytest.fixture(scope="module")
def readers() -> Iterator[tuple[Reader, Reader]]:
    """One who opens the views anew whenever it looks, and one who stays with those it opened first."""
    with stock_reader() as now, stock_reader() as before:
        yield now, before
