"""The catalog: the only state of the system.

The contract is in `hakiri.catalog.contract`, in the words of the product; `open_catalog` gives one.
"""

from __future__ import annotations

from hakiri.catalog.contract import Catalog
from hakiri.catalog.opening import catalog_place, catalog_url, open_catalog

__all__ = ["Catalog", "catalog_place", "catalog_url", "open_catalog"]
