"""The suite passes an honest connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.shelf import ShelfServer, shelf_subject

from hakiri.sources.testing import ConnectorContract, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.spec("HP-024")
@pytest.mark.spec("HP-025")
@pytest.mark.spec("HP-026")
@pytest.mark.spec("HP-027")
@pytest.mark.spec("HP-111")
class TestShelf(ConnectorContract):
    @pytest.fixture
    def source(self) -> Iterator[Subject]:
        with ShelfServer.start() as server:
            yield shelf_subject(server)
