"""Tests that leave things to chance, and tell with which seed they failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import SystemRandom

import pytest

from hakiri.catalog.testing.base import Contract


class SeededContract(Contract):
    """The ground of such tests."""

    @pytest.fixture
    def seed(self) -> int:
        """What chance begins with: another one each time. Override it to have one that failed again."""
        return SystemRandom().randrange(2**32)


@contextmanager
def telling(seed: int) -> Iterator[None]:
    """Add the seed to whatever fails inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"This was with seed {seed}.")
        raise
