"""What a backend gives to its tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.opening import open_catalog
from hakiri.catalog.testing.divergences import DivergenceCheck
from hakiri.catalog.testing.samples import T0
from hakiri.catalog.testing.vandal import Vandal


class Opener(Protocol):
    """Opens one state any number of times, in this process and, sent there by pickle, in others."""

    def open(self) -> Catalog:
        """Another handle on the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlOpener:
    """The opener for every backend that `catalog.url` can name."""

    url: str
    project: str
    base: Path

    def open(self) -> Catalog:
        return open_catalog(self.url, project=self.project, base=self.base, now=T0)


class Contract(DivergenceCheck):
    """The ground of all parts of the suite. A subclass overrides the fixtures `opener` and `vandal`."""

    @pytest.fixture
    def opener(self) -> Opener:
        """Opens a catalog that is empty when the test begins."""
        raise NotImplementedError("override the fixture `opener`")

    @pytest.fixture
    def vandal(self) -> Vandal:
        """Attacks the state that `opener` opens."""
        raise NotImplementedError("override the fixture `vandal`")

    @pytest.fixture
    def catalog(self, opener: Opener) -> Iterator[Catalog]:
        """One handle on the empty state, closed after the test."""
        with opener.open() as catalog:
            yield catalog
