"""The manifest of a snapshot: which chunks are folded into it, and which files hold their rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from hakiri.core.canonical import canonical_json
from hakiri.core.ids import IndexId, NodeId, RunId, SnapshotId, TableName
from hakiri.store.manifest_text import said_in

FORMAT = 1


class Place(StrEnum):
    """Where a reader finds the rows of a chunk."""

    SNAPSHOT = "snapshot"
    CHUNK = "chunk"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """One Parquet file of a snapshot: its path below the table's `data`, and what is in it.

    It may lie in the folder of an older snapshot, whose schema it has then: partitions that did not change
    are not written again.
    """

    path: str
    rows: int
    bytes: int
    sha256: str
    schema_version: int
    partition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotManifest:
    """All that `_manifest.json` of a snapshot says.

    It speaks of chunks by the numbers of their claims. The rows of `held` ones, which are ranges with both
    ends, are in its files; those of `left_out` ones, and of all from `frontier` on, are in files of their
    own; all others do not count any more. `base` is the snapshot that it takes the place of, and
    `includes_runs` are those that were folded since. `claims_held` is how many chunks are in `held`, whose
    ranges may span others that never landed. Both are None where nothing tells.
    """

    snapshot: SnapshotId
    table: TableName
    run: RunId
    node: NodeId
    created_at: datetime
    base: SnapshotId | None
    schema_version: int
    schema_fingerprint: str
    primary_key: tuple[str, ...]
    cluster_by: tuple[str, ...]
    partition_by: str | None
    frontier: int
    held: tuple[tuple[int, int], ...]
    left_out: tuple[int, ...]
    rows_read: int
    files: tuple[SnapshotFile, ...]
    indexes: tuple[IndexId, ...] = ()
    includes_runs: tuple[RunId, ...] | None = None
    claims_held: int | None = None
    partial: bool = False

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    def place_of(self, seq: int) -> Place:
        """Where the rows of a claim are."""
        if seq >= self.frontier or seq in self.left_out:
            return Place.CHUNK
        behind = bisect_right(self.held, (seq, self.frontier))
        return Place.SNAPSHOT if behind and seq <= self.held[behind - 1][1] else Place.NOWHERE

    def text(self) -> str:
        """Canonical JSON, with a last line end."""
        said: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        said |= {"format": FORMAT, "files": [asdict(file) for file in self.files]}
        return f"{canonical_json(said)}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The manifest that the text says. Raises UnreadableManifest."""
        with said_in(text, FORMAT) as said:
            values = {name: said[name] for name in _NAMES if name not in _LATER}
            runs = said.get("includes_runs")
            lists: dict[str, Any] = {name: tuple(values[name]) for name in _LISTS}
            lists["held"] = tuple((first, last) for first, last in values["held"])
            return cls(
                **values
                | lists
                | {
                    "created_at": datetime.fromisoformat(values["created_at"]),
                    "files": tuple(SnapshotFile(**file) for file in values["files"]),
                    "includes_runs": None if runs is None else tuple(runs),
                    "claims_held": said.get("claims_held"),
                }
            )


_NAMES = tuple(field.name for field in fields(SnapshotManifest))
_LATER = ("includes_runs", "claims_held")  # those of the first versions do not have them
_LISTS = ("primary_key", "cluster_by", "left_out", "indexes")


def ranges_of(held: Collection[int], others: Collection[int]) -> tuple[tuple[int, int], ...]:
    """The numbers as few ranges that hold none of the others. Numbers that are of neither are nobody's."""
    ranges: list[tuple[int, int]] = []
    is_open = False
    for seq in sorted({*held, *others}):
        if seq not in held:
            is_open = False
        elif is_open:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
            is_open = True
    return tuple(ranges)
