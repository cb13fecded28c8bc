"""Views of what the catalog says, written anew whenever it says something new."""

from __future__ import annotations

from collections.abc import Iterable

from hakiri.catalog.contract import Catalog
from hakiri.core.ids import TableName
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout


class Publisher:
    """Keeps `views/`, `duck.db` and the schema files in step with the catalog. For any number of threads."""

    def __init__(self, layout: StoreLayout, catalog: Catalog, files: Files | None = None) -> None:
        raise NotImplementedError

    def publish(self, tables: Iterable[TableName]) -> None:
        """Make what the catalog has committed for these tables what readers see.

        Costs little for a table that did not change. Two publishers, of whatever process, leave the newer
        state; a crash at any point leaves files that the next call mends.
        """
        raise NotImplementedError
