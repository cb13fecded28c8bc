"""The conformance suite: whoever brings a backend subclasses `CatalogContract` in a test module and runs it.

Needs pytest and hypothesis. Nothing outside of tests imports it.
"""

from __future__ import annotations

from pkgutil import iter_modules

import pytest

# Before they are imported below, so that a failed assertion shows its values.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in iter_modules(__path__)))

from hakiri.catalog.testing.base import Opener, UrlOpener  # noqa: E402
from hakiri.catalog.testing.dispatch import DispatchContract  # noqa: E402
from hakiri.catalog.testing.sql_vandal import SqlVandal  # noqa: E402
from hakiri.catalog.testing.suite import CatalogContract  # noqa: E402
from hakiri.catalog.testing.vandal import Vandal  # noqa: E402

__all__ = ["CatalogContract", "DispatchContract", "Opener", "SqlVandal", "UrlOpener", "Vandal"]
