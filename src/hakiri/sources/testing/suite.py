"""The whole suite in one class."""

from __future__ import annotations

import pytest

from hakiri.sources.testing.conduct import CallContract, CompanyContract, FailureContract
from hakiri.sources.testing.cursors import CursorContract
from hakiri.sources.testing.discovering import DiscoverContract
from hakiri.sources.testing.pieces import PieceContract
from hakiri.sources.testing.rows import RowContract
from hakiri.sources.testing.subject import Subject


class ConnectorContract(
    DiscoverContract,
    RowContract,
    CursorContract,
    PieceContract,
    CallContract,
    FailureContract,
    CompanyContract,
):
    """Every promise of a connector. Subclass it, give the fixture `source`, and run it."""

    @pytest.fixture
    def source(self) -> Subject:
        """A source that is as it was at the start when the test begins."""
        raise NotImplementedError("override the fixture `source`")
