"""Writing a table anew though files of it are damaged, from what else has the same rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.schemas import TableSchema
from hakiri.catalog.contract.snapshots import DoomedFile
from hakiri.compaction.errors import FilesDamaged
from hakiri.compaction.selecting import Selection, input_files, inputs_of
from hakiri.compaction.shares import shares
from hakiri.compaction.tasks import InputFile, RunTasks
from hakiri.compaction.verify_tasks import VerifyTask
from hakiri.core.ids import ChunkId, PipelineId, SnapshotId
from hakiri.store.known_tables import LandedChunks
from hakiri.store.layout import StoreLayout
from hakiri.store.origins import Origin, origins_of
from hakiri.store.past import table_at
from hakiri.store.snapshots import SnapshotManifest, is_within


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What to fold, every file of which is whole, and the files that it takes the place of, if there are any.

    These are paths below the root.
    """

    selection: Selection
    damaged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mender:
    """Looks for whole files with the rows that one snapshot is to have. Every file is read once."""

    catalog: Catalog
    layout: StoreLayout
    run_tasks: RunTasks
    schema: TableSchema
    _known: dict[str, bool] = field(default_factory=dict)

    def mended(self, selection: Selection, now: datetime, keep_until: datetime) -> Mended:
        """The same rows as the selection has. Files that only this reads are kept until then.

        Raises FilesDamaged when there are no such files any more.
        """
        inputs = input_files(selection, self.layout)
        if self._are_whole(inputs):
            return Mended(selection=selection)
        damaged = frozenset(self._relative(file) for file in inputs if not self._known[file.path])
        _, landed, _ = LandedChunks(self.catalog).read(self.schema.table)
        held = {one.seq for one in landed if is_within(selection.held, one.seq)}
        origins = [*origins_of(held, self.schema.primary_key, landed, self._newest_first())]
        for origin in origins:
            other = replace(selection, base=origin.base, folded=origin.chunks, excluded=origin.excluded)
            files = input_files(other, self.layout)
            if self._are_there(files):
                self._hold(files, inputs, selection, now, keep_until)
                if self._are_whole(files):
                    return Mended(selection=other, damaged=damaged)
        raise self._told(damaged, origins)

    def _newest_first(self) -> list[SnapshotManifest]:
        rows = self.catalog.snapshots.all(self.schema.table)
        return [SnapshotManifest.parse(row.manifest) for row in reversed(rows)]

    def _are_there(self, files: Iterable[InputFile]) -> bool:
        return all(Path(file.path).exists() for file in files)

    def _are_whole(self, files: Sequence[InputFile]) -> bool:
        unknown = [file for file in files if file.path not in self._known]
        if unknown:
            reports = self.run_tasks([VerifyTask(files=share) for share in shares(unknown)])
            damaged = {path for report in reports for path in report.paths}
            self._known.update((file.path, file.path not in damaged) for file in unknown)
        return all(self._known[file.path] for file in files)

    def _hold(
        self,
        files: Iterable[InputFile],
        read: Iterable[InputFile],
        selection: Selection,
        now: datetime,
        keep_until: datetime,
    ) -> None:
        """Have a collection that comes by leave the files alone that only this reads."""
        known = {file.path for file in read}
        known |= {file.path for file in inputs_of(self.layout, selection.current, ())}
        self.catalog.garbage.doom(
            (
                DoomedFile(
                    path=self._relative(file),
                    table=self.schema.table,
                    reason="read by a compaction",
                    keep_until=keep_until,
                )
                for file in files
                if file.path not in known
            ),
            now,
        )

    def _told(self, damaged: Iterable[str], origins: Iterable[Origin]) -> FilesDamaged:
        """What is lost, by the origin that lacks the least, and what can be done about it."""
        whole = (each for each in origins if self._is_all(inputs_of(self.layout, each.base, ())))
        lacking = (
            [one for one in each.chunks if not self._is_all(inputs_of(self.layout, None, (one,)))]
            for each in whole
        )
        lost: dict[PipelineId, list[ChunkId]] = defaultdict(list)
        for one in min(lacking, key=len, default=[]):
            lost[one.pipeline].append(one.chunk)
        return FilesDamaged(
            self.schema.table,
            sorted(damaged),
            lost,
            restorable=self._last_whole(),
            has_key=bool(self.schema.primary_key),
        )

    def _last_whole(self) -> SnapshotId | None:
        """The last snapshot at whose commit the table can be seen."""
        table = self.schema.table
        for snapshot, moment in reversed(self.catalog.snapshots.commits(table)):
            then = table_at(self.catalog, table, moment).contents
            files = inputs_of(self.layout, then.snapshot, then.chunks)
            if then.snapshot is not None and then.snapshot.snapshot == snapshot and self._is_all(files):
                return snapshot
        return None

    def _is_all(self, files: Sequence[InputFile]) -> bool:
        return self._are_there(files) and self._are_whole(files)

    def _relative(self, file: InputFile) -> str:
        return self.layout.relative(Path(file.path))
