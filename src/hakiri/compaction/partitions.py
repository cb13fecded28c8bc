"""Partitions of a snapshot: which one a row belongs to, and the folder that it has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

LABEL = "_partition"
NONE = "none"

_FORMS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H"}


class Partitioning(Protocol):
    """A way to cut a table into parts that are written apart. It travels to tasks."""

    @property
    def text(self) -> str:
        """As the manifest of a snapshot says it."""

    @property
    def column(self) -> str:
        """The column that it looks at."""

    def labels(self, rows: pa.RecordBatch) -> pa.Array:
        """The partition of each row."""

    def folder(self, label: str) -> str:
        """The name of a partition's folder."""

    def is_moving(self, label: str) -> bool:
        """Whether rows of the partition may belong into another one by now, though they did not change."""


@dataclass(frozen=True, slots=True)
class ByValue:
    """A partition for each value of a column, or for each year, month, day or hour of it."""

    column: str
    unit: str | None = None

    @property
    def text(self) -> str:
        return self.column if self.unit is None else f"{self.unit}({self.column})"

    def labels(self, rows: pa.RecordBatch) -> pa.Array:
        values = rows.column(self.column)
        if self.unit is not None:
            values = pc.strftime(_moments(values), _FORMS[self.unit])
        return values.cast(pa.string()).fill_null(NONE)

    def folder(self, label: str) -> str:
        name = self.column if self.unit is None else f"{self.column}_{self.unit}"
        return f"{_safe(name)}={_safe(label)}"

    def is_moving(self, label: str) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class ByAge:
    """Two partitions: what a moment in a column says is recent, and what is older."""

    column: str
    name: str
    since: datetime

    @property
    def text(self) -> str:
        return self.name

    def labels(self, rows: pa.RecordBatch) -> pa.Array:
        values = _moments(rows.column(self.column))
        since = pa.scalar(self.since if values.type.tz else self.since.replace(tzinfo=None), values.type)
        is_recent = pc.greater_equal(values, since).fill_null(False)  # noqa: FBT003 - pyarrow takes it so
        return pc.if_else(is_recent, pa.scalar(self.name), pa.scalar("older"))

    def folder(self, label: str) -> str:
        return f"age={_safe(label)}"

    def is_moving(self, label: str) -> bool:
        return label == self.name


def _moments(values: pa.Array) -> pa.Array:
    return values.cast(pa.timestamp("us")) if pa.types.is_date(values.type) else values


def _safe(text: str) -> str:
    """A name for a folder on any system, which tells the text."""
    return quote(text, safe=" ").replace(".", "%2E")[:200] or "%00"
