"""Lists of names that read like lists."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())
