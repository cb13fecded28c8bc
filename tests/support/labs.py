"""The fixtures of tests whose pipelines run over a counted source; a `conftest.py` takes them from here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.counted import CountedSource
from tests.support.runtime import Lab


@pytest.fixture
def source(tmp_path: Path) -> CountedSource:
    return CountedSource.make(tmp_path)


@pytest.fixture
def lab(tmp_path: Path, spark: Any) -> Lab:
    return Lab(root=tmp_path, spark=spark)
