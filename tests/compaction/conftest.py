from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import open_workshop
from tests.support.labs import lab, source

__all__ = ["bench", "lab", "source"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A store of its own with an empty catalog, and a compactor whose tasks run here."""
    with open_workshop(tmp_path / "store") as workshop:
        yield Bench(workshop)
