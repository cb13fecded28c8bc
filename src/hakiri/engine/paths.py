"""Paths of files as Spark takes them."""

from __future__ import annotations

import re

_GLOB_SIGNS = re.compile(r"[\\*?{}\[\]]")


def spark_path(path: str) -> str:
    """The path of this file and no other: Spark takes every path for a glob, `{a,b}` for two."""
    return _GLOB_SIGNS.sub(r"\\\g<0>", path)
