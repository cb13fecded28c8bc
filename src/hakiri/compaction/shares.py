"""Files in shares for tasks. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.compaction.tasks import InputFile

_BYTES_A_SHARE = 32 << 20
_MOST_FILES_A_SHARE = 2000


def shares(inputs: Sequence[InputFile]) -> list[tuple[InputFile, ...]]:
    """The files in their order, in shares of about equal size."""
    cut: list[list[InputFile]] = [[]]
    size = 0
    for file in inputs:
        if cut[-1] and (size + file.bytes > _BYTES_A_SHARE or len(cut[-1]) >= _MOST_FILES_A_SHARE):
            cut.append([])
            size = 0
        cut[-1].append(file)
        size += file.bytes
    return [tuple(share) for share in cut]
