"""The columns that every stored row carries besides its own, and that views hide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import pyarrow as pa

from hakiri.core.ids import PipelineId, RunId

RUN_ID = "_run_id"
PIPELINE_ID = "_pipeline_id"
INGESTED_AT = "_ingested_at"
SEQ = "_seq"
POSITION = "_position"
OP = "_op"
CONTENT_HASH = "_content_hash"
REASON = "_reason"
ROW = "_row"

HASH_BYTES = 16
POSITION_BITS = 40

HIDDEN_FIELDS: tuple[pa.Field, ...] = (
    pa.field(RUN_ID, pa.string(), nullable=False),
    pa.field(PIPELINE_ID, pa.string(), nullable=False),
    pa.field(INGESTED_AT, pa.timestamp("us", "UTC"), nullable=False),
    pa.field(SEQ, pa.int64(), nullable=False),
    pa.field(POSITION, pa.int64(), nullable=False),
    pa.field(OP, pa.string(), nullable=False),
    pa.field(CONTENT_HASH, pa.binary(HASH_BYTES), nullable=False),
)
HIDDEN = frozenset(field.name for field in HIDDEN_FIELDS)
QUARANTINE_FIELDS: tuple[pa.Field, ...] = (
    pa.field(REASON, pa.string(), nullable=False),
    pa.field(ROW, pa.string(), nullable=False),
    *HIDDEN_FIELDS[:5],
)


class Op(StrEnum):
    """What a row does to its key."""

    UPSERT = "upsert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What all rows of one attempt have in common."""

    run: RunId
    pipeline: PipelineId
    seq: int
    ingested_at: datetime
