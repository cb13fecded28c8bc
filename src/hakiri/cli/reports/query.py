"""What `query` reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryColumn:
    """`name` as the rows have it: of several columns of one name the later ones have a number behind it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReport:
    """All rows of the last statement that has some.

    - `rows`: decimals, dates, moments and intervals as texts, whole numbers of any size as numbers, bytes in
      base64. Moments with a zone are in UTC and end with `Z`.
    - `changed`: how many rows a statement without a result has changed or written; null if it does not say.
    """

    columns: tuple[QueryColumn, ...]
    rows: tuple[Mapping[str, Any], ...]
    row_count: int
    changed: int | None
