"""Every chunk is done once on every backend, by threads, by processes, and by processes that are killed."""

from __future__ import annotations

import os
from pathlib import Path
from random import SystemRandom

import pytest

from hakiri.catalog.testing.base import Opener, UrlOpener
from hakiri.catalog.testing.dispatch import DispatchContract

# Two thousand durable writes by a hundred processes: seconds on a quiet machine, more on a busy one.
pytestmark = pytest.mark.timeout(180)


class SeededDispatch(DispatchContract):
    @pytest.fixture
    def seed(self) -> int:
        return int(os.environ.get("HAKIRI_TEST_SEED") or SystemRandom().randrange(2**32))


class TestSqliteDispatch(SeededDispatch):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return UrlOpener(url=f"sqlite:///{tmp_path}/meta.sqlite", project="dispatch", base=tmp_path)


class TestPostgresDispatch(SeededDispatch):
    @pytest.fixture
    def opener(self, tmp_path: Path, postgres_url: str) -> Opener:
        return UrlOpener(url=postgres_url, project="dispatch", base=tmp_path)
