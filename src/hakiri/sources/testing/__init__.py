"""The conformance suite: the author of a connector subclasses `ConnectorContract` in a test, and runs it.

Needs pytest. Nothing outside of tests imports it.
"""

from __future__ import annotations

from pkgutil import iter_modules

import pytest

# Before they are imported below, so that a failed assertion shows its values.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in iter_modules(__path__)))

from hakiri.sources.testing.subject import Subject, maker, project_connector  # noqa: E402
from hakiri.sources.testing.suite import ConnectorContract  # noqa: E402

__all__ = ["ConnectorContract", "Subject", "maker", "project_connector"]
