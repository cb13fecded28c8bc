"""What the store and the source know of a table that is to be partitioned: manifests, footers, extents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hakiri.core.ids import TableName
from hakiri.pipelines.partition_sizes import (
    PartitionFacts,
    PartitionRule,
    cautions,
    guessed_bytes,
    projected,
    rule_of,
    spread,
)

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, TableSpec
    from hakiri.pipelines.asking import TableLook
    from hakiri.pipelines.stored import FindFiles
    from hakiri.store.reading import VisibleFiles

# A footer is read in a millisecond; so many tell enough of where a column begins and ends.
MOST_FOOTERS = 16


def stored_cautions(catalog: Catalog, spec: PipelineSpec, find_files: FindFiles) -> Iterator[str]:
    """Warnings of the partitions of tables that have rows already."""
    for table in spec.tables:
        rule, store = rule_of(table.compaction), TableName(spec.store_name(table))
        if rule is not None and (facts := _stored_facts(catalog, store, rule, find_files)) is not None:
            yield from cautions(store, rule, projected(rule, facts))


def expected_cautions(spec: PipelineSpec, table: TableSpec, look: TableLook) -> Iterator[str]:
    """Warnings of the partitions of a table that is still empty, from what its source says."""
    rule = rule_of(table.compaction)
    if rule is None:
        return
    is_measured = look.field == rule.column
    rows = look.extent.rows if look.extent.rows is not None else look.table.estimated_rows
    facts = PartitionFacts(
        bytes=guessed_bytes(rows, len(look.table.schema.names)),
        lowest=look.extent.lowest if is_measured else None,
        highest=look.extent.highest if is_measured else None,
    )
    yield from cautions(spec.store_name(table), rule, projected(rule, facts))


def _stored_facts(
    catalog: Catalog, table: TableName, rule: PartitionRule, find_files: FindFiles
) -> PartitionFacts | None:
    """What is known of a table, or None if it has no rows yet."""
    from hakiri.store.known_tables import LandedChunks, contents

    files = find_files(table)
    if files is None:
        return None
    _, landed, snapshot = LandedChunks(catalog).read(table)
    found = contents(landed, snapshot, has_key=bool(files.primary_key))
    size = sum(file.bytes for one in found.chunks for file in one.files)
    size += 0 if snapshot is None else snapshot.bytes
    if size == 0:
        return None
    if snapshot is not None and snapshot.partition_by == rule.text:
        sizes: Counter[str] = Counter()
        for file in snapshot.files:
            sizes[file.partition or ""] += file.bytes
        return PartitionFacts(bytes=size, sizes=tuple(sizes.values()))
    seen = _Seen() if rule.column is None else _from_footers(files, rule.column)
    return PartitionFacts(bytes=size, values=len(seen.values), lowest=seen.lowest, highest=seen.highest)


@dataclass
class _Seen:
    """What footers say of a column: the first and last value of row groups."""

    values: set[Any] = field(default_factory=set)
    lowest: Any = None
    highest: Any = None

    def add(self, lowest: Any, highest: Any) -> None:
        self.values |= {lowest, highest}
        self.lowest = lowest if self.lowest is None else min(self.lowest, lowest)
        self.highest = highest if self.highest is None else max(self.highest, highest)


def _from_footers(files: VisibleFiles, column: str) -> _Seen:
    import pyarrow as pa
    import pyarrow.parquet as pq

    seen = _Seen()
    paths = {str(path): version for version, some in files.files.items() for path in some}
    for path in spread(sorted(paths), MOST_FOOTERS):
        name = files.names_in(paths[path]).get(column)
        if name is None:
            continue
        with suppress(
            OSError, pa.ArrowException, TypeError
        ):  # it may be gone, or of another type than others
            footer = pq.read_metadata(path)
            place = footer.schema.to_arrow_schema().names.index(name)
            for group in range(footer.num_row_groups):
                told = _statistics(footer.row_group(group), name, place)
                if told is not None and told.has_min_max:
                    seen.add(told.min, told.max)
    return seen


def _statistics(group: Any, name: str, place: int) -> Any:
    """The statistics of a column; those of structs before it have several places."""
    columns = range(place, group.num_columns)
    found = next((group.column(at) for at in columns if group.column(at).path_in_schema == name), None)
    return None if found is None else found.statistics
