from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from tests.compaction.matrix.cells import Stage, prepared_stage
from tests.compaction.matrix.judge import Reader, stock_reader


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Stage]:
    """Prepared tables, each made once for all tests of a file."""
    return cache(lambda key: prepared_stage(tmp_path_factory.mktemp("matrix"), has_key=key == "key"))


@pytest.fixture
def stage(request: pytest.FixtureRequest, stages: Callable[[str], Stage]) -> Stage:
    """The one with a key, if the parameter says `key`, or that without."""
    return stages(request.param)


@pytest.fixture(scope="module")
def readers() -> Iterator[tuple[Reader, Reader]]:
    """One who opens the views anew whenever it looks, and one who stays with those it opened first."""
    with stock_reader() as now, stock_reader() as before:
        yield now, before
