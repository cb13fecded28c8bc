"""Partitions of a snapshot: which one a row belongs to, and the folder that it has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.store.column_uses import why_timeless, why_unsorted

NONE = "none"

_LONGEST_FOLDER = 255  # bytes of a name, on all common disks
_LONGEST_CUT_COLUMN = 100
_HASH_LETTERS = 16
_FORMS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H"}


class Partitioning(Protocol):
    """A way to cut a table into parts that are written apart. It travels to tasks."""

    @property
    def text(self) -> str:
        """As the manifest of a snapshot says it."""

    @property
    def column(self) -> str:
        """The column that it looks at."""

    def why_not(self, columns: pa.Schema) -> str | None:
        """Why a table with these columns cannot be cut so; None if it can."""

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

    def why_not(self, columns: pa.Schema) -> str | None:
        if self.unit is None:
            return why_unsorted(columns, self.column)
        return why_timeless(columns, self.column, self.text)

    def labels(self, rows: pa.RecordBatch) -> pa.Array:
        values = rows.column(self.column)
        if self.unit is not None:
            values = pc.strftime(_moments(values), _FORMS[self.unit])
        texts = _hexadecimal(values) if pa.types.is_binary(values.type) else values.cast(pa.string())
        return texts.fill_null(NONE)

    def folder(self, label: str) -> str:
        return _folder(self.column if self.unit is None else f"{self.column}_{self.unit}", label)

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

    def why_not(self, columns: pa.Schema) -> str | None:
        return why_timeless(columns, self.column, self.name)

    def labels(self, rows: pa.RecordBatch) -> pa.Array:
        values = _moments(rows.column(self.column))
        since = pa.scalar(self.since, pa.timestamp("us", "UTC")).cast(values.type, safe=False)
        is_recent = pc.greater_equal(values, since).fill_null(False)  # noqa: FBT003 - pyarrow takes it so
        return pc.if_else(is_recent, pa.scalar(self.name), pa.scalar("older"))

    def folder(self, label: str) -> str:
        return _folder("age", label)

    def is_moving(self, label: str) -> bool:
        return label == self.name


def label_beside(columns: Collection[str]) -> str:
    """A name for the labels of rows on their way, which none of the columns has."""
    name = "_partition"
    while name in columns:
        name = f"_{name}"
    return name


def _moments(values: pa.Array) -> pa.Array:
    """Dates as moments; in seconds, because dates reach further than microseconds do."""
    return values if pa.types.is_timestamp(values.type) else values.cast(pa.timestamp("s"))


def _hexadecimal(values: pa.Array) -> pa.Array:
    distinct = values.dictionary_encode()
    texts = pa.array([value.hex() for value in distinct.dictionary.to_pylist()], pa.string())
    return texts.take(distinct.indices)


def _folder(name: str, label: str) -> str:
    """A name for a folder on any system, which tells both; where that is too long, with a hash at the end."""
    whole = f"{_safe(name)}={_safe(label)}"
    if len(whole) <= _LONGEST_FOLDER:
        return whole
    digest = sha256(whole.encode()).hexdigest()[:_HASH_LETTERS]
    short = f"{_safe(name)[:_LONGEST_CUT_COLUMN]}={_safe(label)}"
    return f"{short[: _LONGEST_FOLDER - len(digest) - 1]}.{digest}"


def _safe(text: str) -> str:
    return quote(text, safe=" ").replace(".", "%2E") or "%00"
