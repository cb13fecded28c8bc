"""What would come of a pipeline's tables: rows, chunks and schema changes, from what its source says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.cursors import CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.ids import TableName
from hakiri.pipelines.asking import TableLook
from hakiri.pipelines.chunks.cautions import CautionCode, warnings
from hakiri.pipelines.chunks.knobs import knobs_in_force
from hakiri.pipelines.chunks.planning import TableFacts
from hakiri.pipelines.deciding import decided
from hakiri.pipelines.estimates import to_come
from hakiri.pipelines.evolution import incoming_shape, shape_of
from hakiri.pipelines.evolution.decide import refusal
from hakiri.pipelines.layout_cautions import expected_misfits
from hakiri.pipelines.leftovers import feeders
from hakiri.pipelines.needs import Need
from hakiri.pipelines.partition_facts import expected_cautions
from hakiri.pipelines.plan import PlannedTable
from hakiri.pipelines.soundness import (
    check_columns,
    check_name,
    check_reading,
    check_rules,
    check_same_cursor,
    told_where,
)
from hakiri.pipelines.tables import with_known_columns
from hakiri.sources.bridge.forms import spark_form

if TYPE_CHECKING:
    import pyarrow as pa

    from hakiri.catalog.contract.schemas import TableSchema
    from hakiri.manifest import PipelineSpec, Project, TableSpec
    from hakiri.pipelines.reached import Reached
    from hakiri.pipelines.stored import FindFiles

_ABOUT_CUTTING = (CautionCode.MANY, CautionCode.SMALL, CautionCode.NO_WINDOW, CautionCode.NO_START)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """Every table, what to be warned of, and what a run would refuse."""

    tables: tuple[PlannedTable, ...]
    warnings: tuple[str, ...]
    problems: tuple[HakiriError, ...]


@dataclass(kw_only=True)
class Prospecting:
    """One pipeline, looked at table by table; what is wrong with one of them hides nothing of the others."""

    project: Project
    spec: PipelineSpec
    reached: Reached
    need: Need
    now: datetime
    has_transform: bool
    find_files: FindFiles

    def prospect(self, looks: Sequence[TableLook]) -> Prospect:
        tables: list[PlannedTable] = []
        cautions: list[str] = []
        problems: list[HakiriError] = []
        for number, look in enumerate(looks):
            planned = PlannedTable(name=look.table.name, store=self.spec.store_name(self.spec.tables[number]))
            for step in (
                self._with_schema,
                self._with_rules,
                self._with_cursor,
                self._with_rows,
                self._as_allowed,
            ):
                try:
                    with told_where(self.project, self.spec, "tables", number):
                        planned = step(planned, number, look)
                except HakiriError as error:
                    problems.append(error)
            cautions += [*self._beside_others(planned), *self._cautions(planned, number, look)]
            if self.need is Need.NEW:
                cautions += expected_cautions(self.spec, self.spec.tables[number], look)
                if not self.has_transform:  # what it makes of the columns only Spark can say
                    cautions += expected_misfits(self.spec, self.spec.tables[number], look)
            tables.append(planned)
        distinct = {str(problem): problem for problem in problems}  # one thing may stop several steps
        return Prospect(
            tables=tuple(tables),
            warnings=tuple(dict.fromkeys(cautions)),
            problems=tuple(distinct.values()),
        )

    def _with_schema(self, planned: PlannedTable, number: int, look: TableLook) -> PlannedTable:
        """With what becomes of the stored schema. What a transform makes of it only Spark can say."""
        if self.has_transform:
            return planned
        table, found, stored = self.spec.tables[number], look.table, self._stored(planned)
        columns = self._columns(planned, look)
        check_columns(self.spec.id, found.name, columns.names)
        evolution = decided(
            stored,
            incoming_shape(columns, table, found.primary_key),
            table,
            store=TableName(planned.store),
            is_open=found.is_open,
            find_files=self.find_files,
        )
        return replace(
            planned, changes=evolution.changes, refused=evolution.refused, ignored=evolution.ignored
        )

    def _with_rules(self, planned: PlannedTable, number: int, look: TableLook) -> PlannedTable:
        """As it is, if what is expected of its rows can be checked."""
        columns = None if self.has_transform else self._columns(planned, look)
        check_rules(self.project, self.spec, number, columns)
        return planned

    def _with_cursor(self, planned: PlannedTable, number: int, look: TableLook) -> PlannedTable:
        """As it is, if it can be read as it is declared."""
        table, found = self.spec.tables[number], look.table
        key = incoming_shape(found.schema, table, found.primary_key).primary_key
        check_reading(table, store=planned.store, kind=look.kind, cursor=look.cursor, primary_key=key)
        if self.reached.catalog is not None and not key:
            check_same_cursor(self.reached.catalog, self.spec, table)
        return planned

    def _with_rows(self, planned: PlannedTable, number: int, look: TableLook) -> PlannedTable:
        """With the knobs in force, the chunks to run and the rows to come."""
        with told_where(self.project, self.spec, "backfill", "parallelism"):
            knobs = knobs_in_force(
                self.spec.backfill, look.hint_in_force, table=look.table.name, partitions=len(look.partitions)
            )
        facts = self._facts(number, look)
        is_read_on = self.reached.phase is Phase.BACKFILLING and not self.reached.chunks_left
        coming = to_come(
            facts,
            knobs,
            self.reached.streams(facts, knobs.start_from.value),
            pulls_news=self.need.is_tick
            or is_read_on
            or (self.need is Need.CHANGED and look.has_news is True),
            now=self.now,
            rows_done=self._rows_done(look),
        )
        return replace(
            planned, knobs=knobs, rows=coming.rows, chunks=coming.chunks, is_reread=coming.is_reread
        )

    def _as_allowed(self, planned: PlannedTable, number: int, look: TableLook) -> PlannedTable:
        """As it is, if there can be such a table, and it takes all that comes."""
        if self.reached.catalog is not None:
            check_name(self.reached.catalog, TableName(planned.store))
        if planned.refused:
            raise refusal(planned.refused, planned.store, self.spec.id)
        return planned

    def _cautions(self, planned: PlannedTable, number: int, look: TableLook) -> list[str]:
        """What to be warned of; how the history is cut is of no interest once it was."""
        if planned.knobs is None:
            return []
        facts = self._facts(number, look)
        is_cut = all(stream.is_planned for stream in self.reached.streams(facts))
        return [
            f"{each.message}; {each.hint}"
            for each in warnings(planned.knobs, look.hint_in_force, facts, self.now)
            if not is_cut or each.code not in _ABOUT_CUTTING
        ]

    def _columns(self, planned: PlannedTable, look: TableLook) -> pa.Schema:
        """The columns that come in: of an open table also those that its sample did not show."""
        found, stored = look.table, self._stored(planned)
        if found.is_open and stored is not None:
            found = with_known_columns(found, shape_of(stored).schema)
        return spark_form(found.schema, found.name)

    def _beside_others(self, planned: PlannedTable) -> Iterator[str]:
        """A warning if rows of others stay beside those to come, as when a pipeline gets another id."""
        catalog, stored = self.reached.catalog, self._stored(planned)
        if catalog is None or stored is None or stored.primary_key or self.need is not Need.NEW:
            return
        others = [f"`{name}`" for name in feeders(catalog, TableName(planned.store)) if name != self.spec.id]
        if others:
            yield (
                f"table `{planned.store}` has no primary key, so the rows that {', '.join(others)} brought "
                "stay beside those to come; name a key with `primary_key`, or another table with `as`"
            )

    def _facts(self, number: int, look: TableLook) -> TableFacts:
        return facts_of(self.spec, self.spec.tables[number], look)

    def _stored(self, planned: PlannedTable) -> TableSchema | None:
        catalog = self.reached.catalog
        return None if catalog is None else catalog.schemas.current(TableName(planned.store))

    def _rows_done(self, look: TableLook) -> int | None:
        """How many rows of the table were read, where what was stored tells it."""
        is_told = (
            len(self.spec.tables) == 1 and not self.has_transform and look.kind is CursorKind.OPAQUE_TOKEN
        )
        return self.reached.tally.rows if is_told else None


def facts_of(spec: PipelineSpec, table: TableSpec, look: TableLook) -> TableFacts:
    """What a plan of chunks needs to know."""
    return TableFacts(
        table=spec.store_name(table),
        kind=look.kind,
        field=look.field,
        extent=look.extent,
        partitions=look.partitions,
        is_pass=look.kind is CursorKind.MONOTONIC and look.cursor is None,
        estimated_rows=look.table.estimated_rows,
        lag=table.lag,
    )
