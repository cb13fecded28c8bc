"""What a compaction folds: which chunks, up to which claim, and what becomes of all others. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hakiri.compaction.tasks import InputFile
from hakiri.core.ids import RunId
from hakiri.store.known_tables import Contents
from hakiri.store.layout import StoreLayout, snapshot_name
from hakiri.store.manifests import FILE_NAME
from hakiri.store.snapshots import Place, SnapshotManifest, ranges_of
from hakiri.store.visible import Landed, replaced, under_way


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The part of a table's chunks that goes into the next snapshot, which takes the place of `current`.

    `folded` are read from their own files, and `base` from its snapshot, but for the claims `excluded`. What
    was `replaced` goes nowhere, nor does what a restore has `withdrawn`. `held`, `claims_held`, `left_out`
    and `frontier` are for the manifest, and so is `placeless`: of a restore all claims that landed and have
    no place then, as ranges.
    """

    frontier: int
    current: SnapshotManifest | None
    base: SnapshotManifest | None
    folded: tuple[Landed, ...]
    excluded: tuple[int, ...]
    replaced: tuple[Landed, ...]
    held: tuple[tuple[int, int], ...]
    claims_held: int
    left_out: tuple[int, ...]
    withdrawn: tuple[Landed, ...] = ()
    placeless: tuple[tuple[int, int], ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the snapshot would be the one that there is."""
        return not self.folded and not self.excluded and not self.replaced

    @property
    def runs(self) -> tuple[RunId, ...]:
        """Those that are folded now, by id."""
        return tuple(sorted({one.run for one in (*self.folded, *self.replaced)}))


def select(found: Contents, frontier: int, *, has_key: bool) -> Selection:
    """All that no claim can come before any more.

    Of a table with a key the newest row of a key wins, so a chunk that lands late with an early claim would
    have to be compared with rows that are gone: nothing is folded that such a chunk might come before.
    """
    open_passes = set() if has_key else {one.seq for one in under_way(found.landed)}
    folded = tuple(one for one in found.chunks if one.seq < frontier and one.seq not in open_passes)
    gone = (
        () if has_key else tuple(one for one in replaced(found.landed, found.forgotten) if one.seq < frontier)
    )
    known = {one.seq for one in found.landed if one.seq < frontier}
    forgotten = {one.seq for one in found.forgotten}
    lost = {one.seq for one in gone}
    if has_key:
        held = known
    else:
        was_held = {seq for seq in known if _is_in(found.snapshot, seq)}
        quiet = {one.seq for one in found.landed if one.unchanged and one.seq < frontier}
        held = ((was_held | quiet) - {*found.excluded} - lost) | {one.seq for one in folded}
    return Selection(
        frontier=frontier,
        current=found.snapshot,
        base=found.snapshot,
        folded=folded,
        excluded=found.excluded,
        replaced=tuple(one for one in gone if not _is_in(found.snapshot, one.seq)),
        held=ranges_of(held, (known | forgotten) - held),
        claims_held=len(held),
        left_out=tuple(sorted(known - held - lost - {*found.excluded})),
    )


def input_files(selection: Selection, layout: StoreLayout) -> tuple[InputFile, ...]:
    """The files to read: those of the snapshot before, then those of chunks, the earliest claim first."""
    return inputs_of(layout, selection.base, selection.folded, selection.excluded)


def inputs_of(
    layout: StoreLayout,
    base: SnapshotManifest | None,
    chunks: Iterable[Landed],
    excluded: tuple[int, ...] = (),
) -> tuple[InputFile, ...]:
    """The same for a snapshot, but for the claims `excluded`, and chunks."""
    files: list[InputFile] = []
    if base is not None:
        data = layout.data_folder(base.table)
        files += [
            InputFile(
                path=str(data / file.path),
                schema_version=file.schema_version,
                rows=file.rows,
                bytes=file.bytes,
                sha256=file.sha256,
                excluded=excluded,
                place=file.path,
                partition=file.partition,
            )
            for file in base.files
        ]
    files += [
        InputFile(
            path=str(layout.root / file.path),
            schema_version=one.schema_version,
            rows=file.rows,
            bytes=file.bytes,
            sha256=file.sha256,
        )
        for one in chunks
        for file in one.files
    ]
    return tuple(files)


def dropped_files(selection: Selection, layout: StoreLayout, kept: Iterable[str] = ()) -> tuple[str, ...]:
    """The files that nothing refers to once the snapshot is there, below the root of the store.

    `kept` are paths below the table's data that the new snapshot has from the one before. Manifests of chunks
    and rows in quarantine stay.
    """
    gone = (*selection.folded, *selection.replaced, *selection.withdrawn)
    dropped = [file.path for one in gone for file in one.files]
    if selection.current is not None:
        data = layout.relative(layout.data_folder(selection.current.table))
        again = {*kept}
        dropped += [f"{data}/{file.path}" for file in selection.current.files if file.path not in again]
        dropped.append(f"{data}/{snapshot_name(selection.current.snapshot)}/{FILE_NAME}")
    return tuple(dropped)


def _is_in(snapshot: SnapshotManifest | None, seq: int) -> bool:
    return snapshot is not None and snapshot.place_of(seq) is Place.SNAPSHOT
