"""Checksums of every row group, so that damage to a large file is known to the rows that it hit."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hakiri.compaction.sidecars.contract import Built, Staged, StagedFile
from hakiri.compaction.sidecars.footers import Facts, facts_from_before, still_unknown, written_facts
from hakiri.compaction.tasks import Report, Task
from hakiri.core.ids import IndexId
from hakiri.store.files import Files

CHECKSUMS = IndexId("checksum")
FILE = "checksums.parquet"
SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("row_group", pa.int32(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("crc32", pa.uint32(), nullable=False),
    ]
)
_FILES_A_TASK = 64


@dataclass(frozen=True, slots=True)
class Checksums:
    """The sidecar that every snapshot has."""

    index: IndexId = CHECKSUMS
    kind: str = "checksum"
    builder: str = "crc32/1"
    is_inline: bool = False

    def tasks(self, staged: Staged, folder: Path) -> Sequence[Task]:
        files = still_unknown(staged, facts_from_before(staged, FILE))
        return [
            ChecksumTask(files=files[start : start + _FILES_A_TASK])
            for start in range(0, len(files), _FILES_A_TASK)
        ]

    def finish(self, staged: Staged, folder: Path, reports: Sequence[Report], files: Files) -> Built:
        facts = facts_from_before(staged, FILE) + [
            fact for report in reports for fact in report.said["groups"]
        ]
        made = written_facts(FILE, facts, SCHEMA, folder, files)
        return Built(files=(made,), about={"row_groups": len(facts)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksumTask:
    """Reads the bytes of some files once."""

    files: tuple[StagedFile, ...]

    def work(self, attempt: str) -> Report:
        return Report(said={"groups": [fact for file in self.files for fact in _groups(file)]})


def _groups(file: StagedFile) -> Facts:
    footer = pq.read_metadata(file.path)
    facts: Facts = []
    with file.path.open("rb") as data:
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            chunks = [group.column(place) for place in range(group.num_columns)]
            start = min(_begins(chunk) for chunk in chunks)
            end = max(_begins(chunk) + chunk.total_compressed_size for chunk in chunks)
            data.seek(start)
            facts.append(
                {
                    "path": file.place,
                    "row_group": number,
                    "rows": group.num_rows,
                    "offset": start,
                    "bytes": end - start,
                    "crc32": zlib.crc32(data.read(end - start)),
                }
            )
    return facts


def _begins(chunk: pq.ColumnChunkMetaData) -> int:
    data: int = chunk.data_page_offset
    dictionary: int | None = chunk.dictionary_page_offset
    return data if dictionary is None else min(data, dictionary)
