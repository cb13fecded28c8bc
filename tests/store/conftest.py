from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.workshop import Workshop, open_workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """A store of its own with an empty catalog."""
    with open_workshop(tmp_path / "store") as made:
        yield made
