"""A table as a naive program has it: what every operation of the matrix makes of it, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Naive:
    """Chunks in the order in which they were claimed, each by the name of what was read."""

    has_key: bool
    chunks: tuple[tuple[str, Rows], ...]
    columns: tuple[str, ...] = ("id", "name")

    def with_chunk(self, name: str, rows: Rows) -> Naive:
        return replace(self, chunks=(*self.chunks, (name, rows)))

    def read_again(self, name: str, rows: Rows) -> Naive:
        """The rows in the place of what was read before; with a key they come on top of it."""
        left = [chunk for chunk in self.chunks if self.has_key or chunk[0] != name]
        return replace(self, chunks=(*left, (name, rows)))

    def with_column(self, name: str) -> Naive:
        return self if name in self.columns else replace(self, columns=(*self.columns, name))

    def rows(self) -> list[tuple[Any, ...]]:
        every = [row for _, rows in self.chunks for row in rows]
        if self.has_key:
            newest = {row["id"]: row for row in every}
            every = [row for row in newest.values() if row.get("_op") != "delete"]
        return sorted((tuple(row.get(name) for name in self.columns) for row in every), key=repr)
