"""Folding the runs of a table into a snapshot, from the choice of its inputs to what readers see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.schemas import TableSchema
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import CatalogError, SnapshotStale
from hakiri.compaction.errors import FileDamaged, FilesDamaged, TableMoved
from hakiri.compaction.folding import BYTES_A_RANGE, Fold
from hakiri.compaction.mending import Mended, Mender
from hakiri.compaction.recipes import TableLayout, is_laid_out, recipe_of
from hakiri.compaction.selecting import Selection, dropped_files, input_files, select
from hakiri.compaction.staging import Staging
from hakiri.compaction.steps import Reached, Step, unwatched
from hakiri.compaction.tasks import Folded, Recipe, RunTasks
from hakiri.core.clock import Clock
from hakiri.core.errors import HakiriError
from hakiri.core.ids import IndexId, NodeId, RunId, SnapshotId, TableName
from hakiri.store.files import Files, LocalFiles
from hakiri.store.known_tables import LandedChunks, contents
from hakiri.store.layout import StoreLayout, snapshot_name
from hakiri.store.schemas import fingerprint, schema_from
from hakiri.store.sidecars import SidecarManifest
from hakiri.store.snapshots import SnapshotFile, SnapshotManifest, Withdrawal

_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a compaction will fold, and how many chunks have to wait for the next one.

    Of a restore, `base_reason` says why it is made of an older snapshot, and `entries` who wanted that.
    """

    schema: TableSchema
    selection: Selection
    waiting: int
    is_full: bool = False
    base_reason: str | None = None
    entries: tuple[NewEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A snapshot that readers see now, what it was made of, and what was left for the next one.

    `mended` are files that were damaged, and that others have taken the place of: paths below the root.
    """

    manifest: SnapshotManifest
    runs: tuple[RunId, ...]
    bytes_read: int
    waiting: int
    files_kept: int = 0
    mended: tuple[str, ...] = ()
    sidecar_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactor:
    """Compacts tables of one store. `publish` writes the views of a table anew.

    `by_copy`: the disk of the store has no rename of folders in one step.
    """

    catalog: Catalog
    layout: StoreLayout
    clock: Clock
    node: NodeId
    run_tasks: RunTasks
    publish: Callable[[TableName], None]
    files: Files = field(default_factory=LocalFiles)
    reached: Reached = unwatched
    bytes_a_range: int = BYTES_A_RANGE
    by_copy: bool = False

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
        # In this order: what is below the frontier has landed by the time that we look at what landed, and a
        # schema that is newer than what landed reads that, an older one would not.
        frontier = self.catalog.snapshots.frontier(table)
        _, landed, base = LandedChunks(self.catalog).read(table)
        schema = self.catalog.schemas.current(table)
        if schema is None:
            return None
        has_key = bool(schema.primary_key)
        found = contents(landed, base, has_key=has_key)
        selection = select(found, frontier, has_key=has_key)
        if selection.is_empty and not (is_full and base is not None):
            return None
        self.reached(Step.INPUTS_SELECTED)
        waiting = len(found.chunks) - len(selection.folded)
        return Chosen(schema=schema, selection=selection, waiting=waiting, is_full=is_full)

    def make(self, chosen: Chosen, run: RunId, laid_out: TableLayout) -> Compacted:
        """Fold what was chosen, of whole files only: of what its inputs were made of, if these are damaged.

        Raises as `compact` does, and FilesDamaged.
        """
        try:
            return self._made(chosen, run, laid_out)
        except FileDamaged:
            if chosen.is_full:
                raise
            return self._made(replace(chosen, is_full=True), run, laid_out)

    def _made(self, chosen: Chosen, run: RunId, laid_out: TableLayout) -> Compacted:
        schema, selection = chosen.schema, chosen.selection
        table, began = schema.table, self.clock.now()
        snapshot = SnapshotId(f"{began:%Y-%m-%dT%H-%M-%SZ}-{self.node}-{run[-8:]}")
        staging = Staging(
            layout=self.layout,
            files=self.files,
            table=table,
            snapshot=snapshot,
            reached=self.reached,
            by_copy=self.by_copy,
        )
        indexes = [sidecar.index for sidecar in laid_out.sidecars]
        recipe = recipe_of(schema, self.catalog.schemas.log(table), laid_out)
        try:
            mended = self._mended(chosen, laid_out)
            inputs = [
                replace(file, is_checked=chosen.is_full)
                for file in input_files(mended.selection, self.layout)
            ]
            folded = Fold(
                recipe=recipe,
                inputs=tuple(inputs),
                target=staging.folder,
                exchange=staging.exchange,
                run=self.run_tasks,
                reached=self.reached,
                bytes_a_range=self.bytes_a_range,
                is_laid_out=not chosen.is_full and is_laid_out(selection.base, recipe, laid_out),
            ).work()
            staging.clear_exchange()
            self.reached(Step.FOLDED)
            manifest = self._manifest(schema, recipe, selection, folded, run=run, snapshot=snapshot)
            built_from = self.clock.monotonic()
            sidecars = self._staged(staging, manifest, laid_out)
            sidecar_seconds = self.clock.monotonic() - built_from
            manifest = self._final(manifest, selection, indexes)
            staging.write(manifest)
            self.reached(Step.MANIFEST_FINAL)
            staging.move(manifest, sidecars)
            self._noted(sidecars)
            self._committed(chosen, manifest, laid_out, mended.damaged)
        except BaseException as error:
            # What crashes here leaves folders that no catalog knows; what fails cleans up after itself.
            staging.clean(indexes)
            if self._is_unknown(snapshot):
                staging.remove(indexes)
            is_of_files = isinstance(error, Exception) and (
                not isinstance(error, HakiriError) or isinstance(error, FileDamaged | FilesDamaged)
            )
            if (is_of_files and self._is_given_up(run)) or (
                isinstance(error, Exception) and self._is_moved(table, selection)
            ):
                raise TableMoved(table) from error  # its files may be gone by now
            raise
        staging.clean(indexes)
        self.publish(table)
        self.reached(Step.PUBLISHED)
        return Compacted(
            manifest=manifest,
            runs=selection.runs,
            bytes_read=sum(file.bytes for file in inputs) - sum(file.bytes for file in folded.kept),
            waiting=chosen.waiting,
            files_kept=len(folded.kept),
            mended=tuple(sorted(mended.damaged)),
            sidecar_seconds=sidecar_seconds,
        )

    def _mended(self, chosen: Chosen, laid_out: TableLayout) -> Mended:
        if not chosen.is_full:
            return Mended(selection=chosen.selection)
        now = self.clock.now()
        mender = Mender(
            catalog=self.catalog, layout=self.layout, run_tasks=self.run_tasks, schema=chosen.schema
        )
        return mender.mended(chosen.selection, now, now + laid_out.retain)

    def _staged(
        self, staging: Staging, manifest: SnapshotManifest, laid_out: TableLayout
    ) -> list[SidecarManifest]:
        staging.write(replace(manifest, partial=True))
        self.reached(Step.STAGED)
        sidecars = [
            staging.build(sidecar, staging.staged(manifest, sidecar.index), self.run_tasks)
            for sidecar in laid_out.sidecars
        ]
        self.reached(Step.SIDECARS_BUILT)
        return sidecars

    def _noted(self, sidecars: Sequence[SidecarManifest]) -> None:
        """Tell the catalog that they are durable; it takes no snapshot that names others."""
        for each in sidecars:
            noted = Sidecar(
                snapshot=each.snapshot, index=each.index, manifest_hash=each.hash, bytes=each.bytes
            )
            self.catalog.snapshots.note_sidecar(noted, self.clock.now())
        self.reached(Step.SIDECARS_NOTED)

    def _is_unknown(self, snapshot: SnapshotId) -> bool:
        """Whether it was surely not committed: a catalog that does not answer may have taken it."""
        try:
            return self.catalog.snapshots.get(snapshot) is None
        except CatalogError:
            return False

    def _is_moved(self, table: TableName, selection: Selection) -> bool:
        before = None if selection.current is None else selection.current.snapshot
        return self.catalog.snapshots.current_id(table) != before

    def _is_given_up(self, run: RunId) -> bool:
        """Whether somebody took us for dead: then our files may be gone, and the revision has grown since."""
        known = self.catalog.runs.get(run)
        return known is not None and known.status.has_ended

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
            includes_runs=selection.runs,
            claims_held=selection.claims_held,
            files=_files(selection, folded, snapshot, schema.version),
        )

    def _final(
        self, manifest: SnapshotManifest, selection: Selection, indexes: Sequence[IndexId]
    ) -> SnapshotManifest:
        """What is committed: with the moment as late as can be, and all that was ever withdrawn."""
        now = self.clock.now()
        before = () if selection.current is None else selection.current.withdrawals
        own = (
            ()
            if selection.placeless is None
            else (Withdrawal(snapshot=manifest.snapshot, at=now, claims=selection.placeless),)
        )
        return replace(manifest, created_at=now, indexes=tuple(indexes), withdrawals=(*before, *own))

    def _committed(
        self,
        chosen: Chosen,
        manifest: SnapshotManifest,
        laid_out: TableLayout,
        damaged: Collection[str],
    ) -> None:
        """Make it the current one, if the table still has the snapshot and the key that it was made from.

        Steps of the schema, rewinds and collections meanwhile do no harm: older files are read as such,
        claims that were replaced are left out when they are read, and what is read is never collected. What
        is not read yet may be, once our run has ended for others.
        """
        catalog, schema, selection = self.catalog, chosen.schema, chosen.selection
        table = schema.table
        for _ in range(_TRIES):
            revision, now = catalog.snapshots.revision(table), self.clock.now()
            current = catalog.schemas.current(table)
            if (
                self._is_moved(table, selection)
                or self._is_given_up(manifest.run)
                or current is None
                or current.primary_key != schema.primary_key
            ):
                break
            try:
                catalog.snapshots.commit(
                    self._row(manifest, selection, revision),
                    now,
                    [
                        # What is damaged is of no use to anybody.
                        replace(file, keep_until=now) if file.path in damaged else file
                        for file in self._drops(manifest, selection, now + laid_out.retain)
                    ],
                    edges=_edges(manifest.run, chosen, now),
                    entries=chosen.entries,
                )
            except SnapshotStale:
                continue
            self.reached(Step.COMMITTED)
            return
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

    def _drops(
        self, manifest: SnapshotManifest, selection: Selection, keep_until: datetime
    ) -> list[DoomedFile]:
        kept = [file.path for file in manifest.files]
        return [
            DoomedFile(
                path=path, table=manifest.table, reason="folded into a snapshot", keep_until=keep_until
            )
            for path in (*dropped_files(selection, self.layout, kept), *self._dropped_sidecars(selection))
        ]

    def _dropped_sidecars(self, selection: Selection) -> Iterator[str]:
        """The files of the indexes that belong to the snapshot which is replaced."""
        if selection.current is None:
            return
        name = snapshot_name(selection.current.snapshot)
        for index in selection.current.indexes:
            folder = self.layout.index_folder(selection.current.table, index) / name
            yield from (self.layout.relative(path) for path in sorted(folder.rglob("*")) if path.is_file())


def _files(
    selection: Selection, folded: Folded, snapshot: SnapshotId, version: int
) -> tuple[SnapshotFile, ...]:
    """What was written, and what stays of the snapshot before."""
    places = {file.place for file in folded.kept}
    before = () if selection.base is None else selection.base.files
    kept = [file for file in before if file.path in places]
    new = [
        SnapshotFile(
            path=f"{snapshot_name(snapshot)}/{file.path}",
            rows=file.rows,
            bytes=file.bytes,
            sha256=file.sha256,
            schema_version=version,
            partition=file.partition,
        )
        for file in folded.files
    ]
    return tuple(sorted((*kept, *new), key=lambda file: (file.partition or "", file.path)))


def _edges(run: RunId, chosen: Chosen, now: datetime) -> list[Edge]:
    parents: dict[RunId, str | None] = dict.fromkeys(chosen.selection.runs)
    if chosen.base_reason is not None and chosen.selection.base is not None:
        parents[chosen.selection.base.run] = chosen.base_reason
    return [
        Edge(child=run, parent=parent, kind=EdgeKind.COMPACTION, at=now, reason=reason)
        for parent, reason in parents.items()
    ]
