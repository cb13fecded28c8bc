"""Tables that leave the manifest before they were read to the end, and come back.

What is left of them is set aside, so that it holds up nobody who stays, and is taken up again where it was.
Both are in the audit log, which tells them from chunks that an operator has skipped.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import ChunkId, PipelineId, TableName
from hakiri.pipelines.operations.streams import all_chunks
from hakiri.pipelines.refusals import entries_of
from hakiri.pipelines.runtime.ground import Ground

LEFT, BACK = "table-left", "table-back"


def set_aside(ground: Ground, pipeline: PipelineId, tables: Collection[TableName]) -> None:
    """Give up what is not read yet of tables that the pipeline does not have any more."""
    catalog, now = ground.catalog, ground.clock.now()
    tally = catalog.chunks.tally(pipeline)
    left: dict[TableName, list[ChunkId]] = {}
    for status, count in ((ChunkStatus.PENDING, tally.pending), (ChunkStatus.FAILED, tally.failed)):
        for chunk in all_chunks(catalog, pipeline, status=status) if count else ():
            if chunk.table not in tables:
                left.setdefault(chunk.table, []).append(chunk.chunk)
    for table, chunks in left.items():
        # Noted first: a crash in between leaves chunks that the next run sets aside, and notes again.
        catalog.audit.note("auto", LEFT, now, pipeline=pipeline, table=table, after=canonical_json(chunks))
        catalog.chunks.skip(pipeline, chunks, now)


def take_up(ground: Ground, pipeline: PipelineId, tables: Collection[TableName]) -> int:
    """Have what was set aside of these tables be read after all; how many chunks that are."""
    catalog, now = ground.catalog, ground.clock.now()
    if not catalog.chunks.tally(pipeline).skipped:
        return 0
    aside: dict[TableName, set[ChunkId]] = {}
    back: set[TableName] = set()
    for entry in entries_of(catalog, pipeline):
        if entry.table is None or entry.table not in tables:
            continue
        if entry.action == BACK:
            back.add(entry.table)
        elif entry.action == LEFT and entry.table not in back:
            aside.setdefault(entry.table, set()).update(map(ChunkId, json.loads(entry.after or "[]")))
    reopened = 0
    for table, chunks in aside.items():
        reopened += catalog.chunks.reopen(pipeline, sorted(chunks), now)
        catalog.audit.note("auto", BACK, now, pipeline=pipeline, table=table)
    return reopened
