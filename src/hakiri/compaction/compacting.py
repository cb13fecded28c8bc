"""Folding the runs of a table into a snapshot, from the choice of its inputs to what readers see."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.schemas import TableSchema
from hakiri.catalog.contract.snapshots import DoomedFile, Snapshot
from hakiri.catalog.errors import SnapshotStale
from hakiri.compaction.errors import ColumnsNotSortable, TableMoved
from hakiri.compaction.folding import BYTES_A_RANGE, Fold, Folded, RunTasks
from hakiri.compaction.partitions import Partitioning
from hakiri.compaction.selecting import Selection, dropped_files, input_files, select
from hakiri.compaction.steps import Reached, Step, unwatched
from hakiri.compaction.tasks import Recipe
from hakiri.core.clock import Clock
from hakiri.core.ids import NodeId, RunId, SnapshotId, TableName
from hakiri.store.files import Files, LocalFiles
from hakiri.store.files import replace as replace_file
from hakiri.store.layout import StoreLayout, snapshot_name
from hakiri.store.manifests import FILE_NAME
from hakiri.store.rows import HIDDEN_FIELDS, INGESTED_AT
from hakiri.store.schemas import fingerprint, schema_from
from hakiri.store.snapshots import SnapshotFile, SnapshotManifest
from hakiri.store.state import LandedChunks, contents

_EXCHANGE = "_exchange"
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """How the snapshots of a table are laid out, and how long what they replace is kept."""

    cluster_by: tuple[str, ...] = ()
    partitioning: Partitioning | None = None
    blooms: tuple[str, ...] = ()
    retain: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a compaction will fold, and how many chunks have to wait for the next one."""

    schema: TableSchema
    selection: Selection
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A snapshot that readers see now, what it was made of, and what was left for the next one."""

    manifest: SnapshotManifest
    runs: tuple[RunId, ...]
    bytes_read: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactor:
    """Compacts tables of one store. `publish` writes the views of a table anew."""

    catalog: Catalog
    layout: StoreLayout
    clock: Clock
    node: NodeId
    run_tasks: RunTasks
    publish: Callable[[TableName], None]
    files: Files = field(default_factory=LocalFiles)
    reached: Reached = unwatched
    bytes_a_range: int = BYTES_A_RANGE

    def compact(
        self, table: TableName, run: RunId, laid_out: TableLayout, *, is_full: bool = False
    ) -> Compacted | None:
        """Fold all that can be folded; None if there is nothing, or no such table.

        Whatever others do meanwhile, the table has the same rows before and after. Raises TableMoved when
        somebody else made another snapshot first, and then nothing is changed; the errors of its tasks.
        """
        chosen = self.choose(table, is_full=is_full)
        return None if chosen is None else self.make(chosen, run, laid_out)

    def choose(self, table: TableName, *, is_full: bool = False) -> Chosen | None:
        """What there is to fold; None if there is nothing, or no such table."""
        schema = self.catalog.schemas.current(table)
        if schema is None:
            return None
        # In this order: what is below the frontier has landed by the time that we look at what landed.
        frontier = self.catalog.snapshots.frontier(table)
        _, landed, base = LandedChunks(self.catalog).read(table)
        has_key = bool(schema.primary_key)
        found = contents(landed, base, has_key=has_key)
        selection = select(found, frontier, has_key=has_key)
        if selection.is_empty and not (is_full and base is not None):
            return None
        self.reached(Step.INPUTS_SELECTED)
        waiting = len(found.chunks) - len(selection.folded)
        return Chosen(schema=schema, selection=selection, waiting=waiting)

    def make(self, chosen: Chosen, run: RunId, laid_out: TableLayout) -> Compacted:
        """Fold what was chosen. Raises as `compact` does."""
        schema, selection = chosen.schema, chosen.selection
        table, began = schema.table, self.clock.now()
        inputs = input_files(selection, self.layout)
        snapshot = SnapshotId(f"{began:%Y-%m-%dT%H-%M-%SZ}-{self.node}-{run[-8:]}")
        staging = self.layout.staging_folder(table, snapshot)
        recipe = self._recipe(schema, laid_out)
        try:
            folded = Fold(
                recipe=recipe,
                inputs=inputs,
                target=staging,
                exchange=staging / _EXCHANGE,
                run=self.run_tasks,
                reached=self.reached,
                bytes_a_range=self.bytes_a_range,
            ).work()
            shutil.rmtree(staging / _EXCHANGE, ignore_errors=True)
            self.reached(Step.FOLDED)
            manifest = self._manifest(schema, recipe, selection, folded, run=run, snapshot=snapshot)
            self._staged(staging, manifest)
            self._renamed(table, snapshot, staging)
            self._committed(schema, manifest, selection, laid_out)
        except BaseException as error:
            # What crashes here leaves a folder that no catalog knows; what fails cleans up after itself.
            shutil.rmtree(staging, ignore_errors=True)
            if isinstance(error, Exception) and self._is_moved(table, selection):
                raise TableMoved(table) from error  # its files may be gone by now
            raise
        self.publish(table)
        self.reached(Step.PUBLISHED)
        size = sum(file.bytes for file in inputs)
        return Compacted(manifest=manifest, runs=selection.runs, bytes_read=size, waiting=chosen.waiting)

    def _is_moved(self, table: TableName, selection: Selection) -> bool:
        before = None if selection.current is None else selection.current.snapshot
        return self.catalog.snapshots.current_id(table) != before

    def _recipe(self, schema: TableSchema, laid_out: TableLayout) -> Recipe:
        log = self.catalog.schemas.log(schema.table)
        cluster_by = laid_out.cluster_by or schema.primary_key or (INGESTED_AT,)
        columns = pa.schema([*schema_from(schema.arrow_schema), *HIDDEN_FIELDS])
        for name in (*cluster_by, *((laid_out.partitioning.column,) if laid_out.partitioning else ())):
            _refuse_unsortable(schema.table, columns, name)
        return Recipe(
            table=schema.table,
            schemas={step.version: step.after for step in log if step.version <= schema.version},
            primary_key=schema.primary_key,
            cluster_by=cluster_by,
            partitioning=laid_out.partitioning,
            blooms=laid_out.blooms,
        )

    def _manifest(
        self,
        schema: TableSchema,
        recipe: Recipe,
        selection: Selection,
        folded: Folded,
        *,
        run: RunId,
        snapshot: SnapshotId,
    ) -> SnapshotManifest:
        return SnapshotManifest(
            snapshot=snapshot,
            table=schema.table,
            run=run,
            node=self.node,
            created_at=self.clock.now(),
            base=None if selection.current is None else selection.current.snapshot,
            schema_version=schema.version,
            schema_fingerprint=fingerprint(schema_from(schema.arrow_schema)),
            primary_key=schema.primary_key,
            cluster_by=recipe.cluster_by,
            partition_by=None if recipe.partitioning is None else recipe.partitioning.text,
            frontier=selection.frontier,
            held=selection.held,
            left_out=selection.left_out,
            rows_read=folded.rows_read,
            files=tuple(
                SnapshotFile(
                    path=f"{snapshot_name(snapshot)}/{file.path}",
                    rows=file.rows,
                    bytes=file.bytes,
                    sha256=file.sha256,
                    schema_version=schema.version,
                    partition=file.partition,
                )
                for file in sorted(folded.files, key=lambda file: file.path)
            ),
        )

    def _staged(self, staging: Path, manifest: SnapshotManifest) -> None:
        staging.mkdir(parents=True, exist_ok=True)
        replace_file(self.files, staging / FILE_NAME, replace(manifest, partial=True).text().encode())
        self.reached(Step.STAGED)
        replace_file(self.files, staging / FILE_NAME, manifest.text().encode())
        self.reached(Step.MANIFEST_FINAL)

    def _renamed(self, table: TableName, snapshot: SnapshotId, staging: Path) -> None:
        final = self.layout.snapshot_folder(table, snapshot)
        self.files.rename(staging, final)
        for folder in (final.parent, *final.parent.parents):
            if not folder.is_relative_to(self.layout.root):
                break
            self.files.sync_folder(folder)
        self.reached(Step.DATA_RENAMED)

    def _committed(
        self, schema: TableSchema, manifest: SnapshotManifest, selection: Selection, laid_out: TableLayout
    ) -> None:
        """Make it the current one, if the table still has the snapshot and the key that it was made from.

        Steps of the schema, rewinds and collections meanwhile do no harm: older files are read as such,
        claims that were replaced are left out when they are read, and what is read is never collected.
        """
        catalog, table = self.catalog, schema.table
        for _ in range(_TRIES):
            revision, now = catalog.snapshots.revision(table), self.clock.now()
            current = catalog.schemas.current(table)
            if (
                self._is_moved(table, selection)
                or current is None
                or current.primary_key != schema.primary_key
            ):
                break
            try:
                catalog.snapshots.commit(
                    self._row(manifest, selection, revision),
                    now,
                    self._drops(table, selection, now + laid_out.retain),
                )
            except SnapshotStale:
                continue
            self.reached(Step.COMMITTED)
            catalog.lineage.add(_edges(manifest.run, selection.runs, now))
            return
        shutil.rmtree(self.layout.snapshot_folder(table, manifest.snapshot), ignore_errors=True)
        raise TableMoved(table)

    def _row(self, manifest: SnapshotManifest, selection: Selection, revision: int) -> Snapshot:
        return Snapshot(
            snapshot=manifest.snapshot,
            table=manifest.table,
            created_at=manifest.created_at,
            includes_runs=selection.runs,
            indexes=manifest.indexes,
            rows=manifest.rows,
            based_on=revision,
            manifest=manifest.text(),
        )

    def _drops(self, table: TableName, selection: Selection, keep_until: datetime) -> list[DoomedFile]:
        return [
            DoomedFile(path=path, table=table, reason="folded into a snapshot", keep_until=keep_until)
            for path in dropped_files(selection, self.layout)
        ]


def _edges(run: RunId, parents: tuple[RunId, ...], now: datetime) -> list[Edge]:
    return [Edge(child=run, parent=parent, kind=EdgeKind.COMPACTION, at=now) for parent in parents]


def _refuse_unsortable(table: str, columns: pa.Schema, name: str) -> None:
    place = columns.get_field_index(name)
    if place < 0:
        raise ColumnsNotSortable(table, name, "it has no such column")
    if pa.types.is_nested(columns.field(place).type):
        raise ColumnsNotSortable(table, name, "its values have no order")
