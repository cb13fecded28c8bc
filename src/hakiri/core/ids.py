"""The names of things, as types, and the one place that makes new ones."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import NewType

PipelineId = NewType("PipelineId", str)
TableName = NewType("TableName", str)
RunId = NewType("RunId", str)
NodeId = NewType("NodeId", str)
ChunkId = NewType("ChunkId", int)
SnapshotId = NewType("SnapshotId", str)
IndexId = NewType("IndexId", str)
FileId = NewType("FileId", str)
SpecId = NewType("SpecId", str)
SelectionId = NewType("SelectionId", str)

ENTROPY_BYTES = 8
_COMPACTION = "compaction:"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def new_uuid7(now: datetime, entropy: bytes) -> str:
    """A version 7 UUID (RFC 9562) of the moment and the eight bytes; it sorts by time.

    The 12 bits after the milliseconds hold the fraction of the millisecond (section 6.2, method 3), so
    ids of one process sort to the microsecond. The same arguments give the same id.
    """
    if now.tzinfo is None or now < EPOCH:
        raise ValueError(f"an id needs a moment with a time zone, from 1970 on, not {now!r}")
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"an id needs {ENTROPY_BYTES} bytes of entropy, not {len(entropy)}")
    milliseconds, microseconds = divmod((now - EPOCH) // timedelta(microseconds=1), 1000)
    fraction = microseconds * 4096 // 1000
    random_bits = int.from_bytes(entropy) & ((1 << 62) - 1)
    digits = f"{milliseconds << 80 | 7 << 76 | fraction << 64 | 0b10 << 62 | random_bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def compaction_queue(table: TableName) -> PipelineId:
    """The name under which the compactions of a table are claimed. No pipeline can have such an id."""
    return PipelineId(f"{_COMPACTION}{table}")


def is_compaction(pipeline: PipelineId) -> bool:
    """Whether what goes by this name are the compactions of a table, and no pipeline."""
    return pipeline.startswith(_COMPACTION)


def fresh_entropy() -> bytes:
    """Eight random bytes from the operating system: the only randomness that ids are made of."""
    return os.urandom(ENTROPY_BYTES)


def fresh_token() -> str:
    """A text of 256 random bits that nobody can guess, for what only its holder may open."""
    return os.urandom(32).hex()


def fresh_nonce() -> str:
    """A text of 128 random bits that no other will equal, for telling apart what looks the same."""
    return os.urandom(16).hex()
