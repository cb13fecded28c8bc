"""The manifest of a snapshot: which chunks are folded into it, and which files hold their rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
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
class Withdrawal:
    """What a restore took from the table: all claims that landed and had no place from then on.

    `claims` are ranges with both ends, and every number in them is one. `snapshot` is the one that the
    restore made, and `at` when that was.
    """

    snapshot: SnapshotId
    at: datetime
    claims: tuple[tuple[int, int], ...]

    @property
    def seqs(self) -> frozenset[int]:
        return frozenset(seq for first, last in self.claims for seq in range(first, last + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotManifest:
    """All that `_manifest.json` of a snapshot says.

    It speaks of chunks by the numbers of their claims. The rows of `held` ones, which are ranges with both
    ends, are in its files; those of `left_out` ones, and of all from `frontier` on, are in files of their
    own; all others do not count any more. `base` is the snapshot that it takes the place of, and
    `includes_runs` are those that were folded since. `claims_held` is how many chunks are in `held`, whose
    ranges may span others that never landed. Both are None where nothing tells. `withdrawals` are those of
    all restores that there ever were, its own last.
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
    withdrawals: tuple[Withdrawal, ...] = ()

    @property
    def is_restore(self) -> bool:
        """Whether a restore has made it."""
        return bool(self.withdrawals) and self.withdrawals[-1].snapshot == self.snapshot

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
        return Place.SNAPSHOT if is_within(self.held, seq) else Place.NOWHERE

    def withdrawn_before(self, at: datetime) -> frozenset[int]:
        """The claims that had landed and did not count at a moment when this was not the snapshot yet."""
        earlier = [each for each in self.withdrawals if each.snapshot != self.snapshot and each.at <= at]
        return earlier[-1].seqs if earlier else frozenset()

    def text(self) -> str:
        """Canonical JSON, with a last line end."""
        said: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        for name, default in _LATER.items():
            if said[name] == default:  # what an older version has written is told as it was
                del said[name]
        if self.withdrawals:
            said["withdrawals"] = [asdict(each) for each in self.withdrawals]
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
                    "withdrawals": tuple(_withdrawal(each) for each in said.get("withdrawals", ())),
                }
            )


_NAMES = tuple(field.name for field in fields(SnapshotManifest))
# Those of the first versions do not have them.
_LATER = MappingProxyType({"includes_runs": None, "claims_held": None, "withdrawals": ()})
_LISTS = ("primary_key", "cluster_by", "left_out", "indexes")


def _withdrawal(said: Mapping[str, Any]) -> Withdrawal:
    return Withdrawal(
        snapshot=said["snapshot"],
        at=datetime.fromisoformat(said["at"]),
        claims=tuple((first, last) for first, last in said["claims"]),
    )


def is_within(ranges: Sequence[tuple[int, int]], seq: int) -> bool:
    """Whether one of the ranges, which are in order, has the number."""
    behind = bisect_right(ranges, seq, key=lambda each: each[0])
    return behind > 0 and seq <= ranges[behind - 1][1]


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


def exact_ranges_of(seqs: Collection[int]) -> tuple[tuple[int, int], ...]:
    """The numbers as ranges that hold nothing else."""
    return ranges_of(seqs, {seq + 1 for seq in seqs} - {*seqs})
