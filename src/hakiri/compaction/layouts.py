"""How the manifest wants the snapshots of each table laid out. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hakiri.compaction.partitions import ByAge, ByValue, Partitioning
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.sidecars.blooms import Blooms
from hakiri.core.grammar.durations import Duration
from hakiri.core.ids import IndexId, TableName
from hakiri.manifest import PipelineSpec, Project
from hakiri.manifest.tables import BloomIndex, CompactionSpec, TableSpec, index_id
from hakiri.store.rows import INGESTED_AT

_RECENT = re.compile(r"recent_(?P<count>[0-9]+)(?P<unit>[dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


def tables_of(project: Project) -> dict[TableName, list[tuple[PipelineSpec, TableSpec]]]:
    """Every table that the manifest feeds, in its order, with all who do."""
    found: dict[TableName, list[tuple[PipelineSpec, TableSpec]]] = {}
    for spec in project.pipelines:
        for table in spec.tables:
            found.setdefault(TableName(spec.store_name(table)), []).append((spec, table))
    return found


def compaction_of_table(project: Project, table: TableName) -> CompactionSpec:
    """What the first pipeline says that says anything of it; else that of every table."""
    feeding = tables_of(project).get(table, [])
    said = [each.compaction for _, each in feeding]
    return next((each for each in said if each != CompactionSpec()), CompactionSpec())


def layout_of_table(project: Project, table: TableName, now: datetime) -> TableLayout:
    """How the table is to be laid out, by what is said of its compaction."""
    feeding = tables_of(project).get(table, [])
    spec = compaction_of_table(project, table)
    blooms = {
        index_id(index): Blooms(index=IndexId(index_id(index)), columns=index.on)
        for _, each in feeding
        for index in each.indexes
        if isinstance(index, BloomIndex)
    }
    return TableLayout(
        cluster_by=tuple(spec.cluster_by or ()),
        partitioning=_partitioning(spec, now),
        indexes=tuple(blooms.values()),
        retain=spec.retain_runs.after(now) - now,
    )


def longest_retained(project: Project, now: datetime) -> timedelta:
    """How long old files of any table are kept at most."""
    kept = [layout_of_table(project, name, now).retain for name in tables_of(project)]
    return max(kept, default=TableLayout().retain)


def _partitioning(spec: CompactionSpec, now: datetime) -> Partitioning | None:
    if spec.partition_by is not None:
        return ByValue(spec.partition_by.column, spec.partition_by.unit)
    if spec.access_pattern is None:
        return None
    recent = _RECENT.fullmatch(spec.access_pattern)
    if recent is None:
        return ByValue(spec.access_pattern.removeprefix("by_"))
    age = Duration.parse(f"{int(recent['count']) * _DAYS[recent['unit']]}d")
    column = next(iter(spec.cluster_by or ()), INGESTED_AT)
    return ByAge(column, spec.access_pattern, now - (age.after(now) - now))
