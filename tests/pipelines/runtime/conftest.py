from __future__ import annotations

from tests.support.labs import lab, source

__all__ = ["lab", "source"]
