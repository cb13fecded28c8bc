"""Bloom filters: they are inside of the Parquet files, and the sidecar says where."""

from __future__ import annotations

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

FILE = "filters.parquet"
SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("row_group", pa.int32(), nullable=False),
        pa.field("column", pa.string(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blooms:
    """An index of kind `bloom`, over one column or several."""

    index: IndexId
    columns: tuple[str, ...]
    kind: str = "bloom"
    builder: str = "parquet-split-block/1"
    is_inline: bool = True

    def tasks(self, staged: Staged, folder: Path) -> Sequence[Task]:
        files = still_unknown(staged, facts_from_before(staged, FILE))
        return [FiltersTask(files=files, columns=self.columns)] if files else []

    def finish(self, staged: Staged, folder: Path, reports: Sequence[Report], files: Files) -> Built:
        facts = facts_from_before(staged, FILE) + [
            fact for report in reports for fact in report.said["filters"]
        ]
        made = written_facts(FILE, facts, SCHEMA, folder, files)
        return Built(files=(made,), about={"columns": list(self.columns), "filters": len(facts)})


@dataclass(frozen=True, slots=True, kw_only=True)
class FiltersTask:
    """Reads the footers of some files."""

    files: tuple[StagedFile, ...]
    columns: tuple[str, ...]

    def work(self, attempt: str) -> Report:
        return Report(said={"filters": [fact for file in self.files for fact in self._filters(file)]})

    def _filters(self, file: StagedFile) -> Facts:
        footer = pq.read_metadata(file.path)
        return [
            {
                "path": file.place,
                "row_group": number,
                "column": chunk.path_in_schema,
                "offset": chunk.bloom_filter_offset,
                "bytes": chunk.bloom_filter_length,
            }
            for number in range(footer.num_row_groups)
            for chunk in map(footer.row_group(number).column, range(footer.num_columns))
            if chunk.path_in_schema in self.columns and chunk.bloom_filter_offset is not None
        ]
