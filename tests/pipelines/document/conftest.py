from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.door import Door

if TYPE_CHECKING:
    from pathlib import Path

    from hakiri.engine import EngineHome


@pytest.fixture
def hakiri(spark: Any, shared_home: EngineHome, tmp_path: Path) -> Door:
    """The command line in an empty folder, on the Spark server that is up."""
    return Door.beside(shared_home, tmp_path)
