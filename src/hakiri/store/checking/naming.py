"""Which files the catalog names for a table, and what each of them must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk
from hakiri.catalog.contract.snapshots import Snapshot
from hakiri.core.ids import TableName
from hakiri.store.checking.advice import (
    BACKUP_OF_CATALOG,
    OLD_SNAPSHOT,
    quarantine_advice,
    rows_advice,
    snapshot_advice,
)
from hakiri.store.checking.findings import Finding, Kind
from hakiri.store.checking.sidecars import sidecars_of
from hakiri.store.checking.wanted import Role, Wanted, WantedFile, WantedText
from hakiri.store.errors import UnreadableManifest
from hakiri.store.files import Files
from hakiri.store.known_tables import contents
from hakiri.store.layout import StoreLayout
from hakiri.store.manifests import FILE_NAME, AttemptManifest, WrittenFile
from hakiri.store.origins import origins_of
from hakiri.store.rows import HIDDEN, QUARANTINE_FIELDS
from hakiri.store.schemas import schema_from
from hakiri.store.snapshots import Place, SnapshotFile, SnapshotManifest
from hakiri.store.visible import Landed, LandedFile, landed_from

_PAGE = 1000
_QUARANTINE_COLUMNS = frozenset(field.name for field in QUARANTINE_FIELDS)
_Row = TypeVar("_Row", Chunk, Snapshot)
_Said = TypeVar("_Said")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table as the catalog has it, with every manifest that can be read."""

    table: TableName
    layout: StoreLayout
    primary_key: tuple[str, ...]
    columns: dict[int, frozenset[str]]
    chunks: tuple[tuple[Chunk, AttemptManifest], ...]
    landed: tuple[Landed, ...]
    snapshots: tuple[tuple[Snapshot, SnapshotManifest], ...]
    current: SnapshotManifest | None

    @property
    def has_key(self) -> bool:
        return bool(self.primary_key)


def wanted_of(layout: StoreLayout, catalog: Catalog, files: Files, table: TableName) -> Wanted:
    """All that the catalog names for a table, what may be gone by now too."""
    findings: list[Finding] = []
    # Before the chunks: those that are folded meanwhile are then held to be read from their own files, which
    # stay for a while.
    rows = catalog.snapshots.all(table)
    current = catalog.snapshots.current_id(table)
    snapshots = _parsed(rows, lambda row: SnapshotManifest.parse(row.manifest), table, findings)
    chunks = _parsed(
        _landed(catalog, table), lambda row: AttemptManifest.parse(row.manifest or ""), table, findings
    )
    schema = catalog.schemas.current(table)
    known = _Table(
        table=table,
        layout=layout,
        primary_key=() if schema is None else schema.primary_key,
        columns={
            step.version: frozenset(schema_from(step.after).names) | HIDDEN
            for step in catalog.schemas.log(table)
        },
        chunks=chunks,
        landed=tuple(landed_from(chunk) for chunk, _ in chunks),
        snapshots=snapshots,
        current=next((said for row, said in snapshots if row.snapshot == current), None),
    )
    sidecars = [
        sidecars_of(layout, catalog, files, table, row.snapshot, is_current=row.snapshot == current)
        for row in rows
    ]
    every = [*_chunk_files(known), *_snapshot_files(known), *(file for one in sidecars for file in one.files)]
    unique: dict[str, WantedFile] = {}
    for file in every:  # a snapshot may have files of the one before
        if file.path not in unique or file.is_required:
            unique[file.path] = file
    return Wanted(
        files=tuple(unique.values()),
        texts=tuple(_texts(known)),
        others=frozenset(path for one in sidecars for path in one.others),
        findings=(*findings, *(finding for one in sidecars for finding in one.findings)),
        snapshots=frozenset(row.snapshot for row in rows),
    )


def _landed(catalog: Catalog, table: TableName) -> Iterator[Chunk]:
    after = None
    while chunks := catalog.chunks.landed(table, after=after, limit=_PAGE):
        yield from chunks
        after = (chunks[-1].pipeline, chunks[-1].chunk)


def _parsed(
    rows: Iterable[_Row], parse: Callable[[_Row], _Said], table: TableName, findings: list[Finding]
) -> tuple[tuple[_Row, _Said], ...]:
    """The rows with their manifests read; what cannot be read becomes a finding."""
    found = []
    for row in rows:
        try:
            found.append((row, parse(row)))
        except UnreadableManifest as error:
            what = f"chunk {row.chunk} of `{row.pipeline}`" if isinstance(row, Chunk) else row.snapshot
            findings.append(
                Finding(
                    kind=Kind.CATALOG_BROKEN,
                    path=f"catalog: {what}",
                    table=table,
                    found=f"its manifest cannot be read: {error.why}",
                    advice=BACKUP_OF_CATALOG,
                )
            )
    return tuple(found)


def _texts(known: _Table) -> Iterator[WantedText]:
    for chunk, manifest in known.chunks:
        yield WantedText(
            path=f"{manifest.place}/{FILE_NAME}",
            table=known.table,
            text=chunk.manifest or "",
            is_required=True,
        )
    for row, _ in known.snapshots:
        folder = known.layout.snapshot_folder(known.table, row.snapshot)
        yield WantedText(
            path=known.layout.relative(folder / FILE_NAME),
            table=known.table,
            text=row.manifest,
            is_required=known.current is not None and row.snapshot == known.current.snapshot,
        )


def _chunk_files(known: _Table) -> Iterator[WantedFile]:
    read = {one.seq for one in contents(known.landed, known.current, has_key=known.has_key).chunks}
    for chunk, manifest in known.chunks:
        is_folded = known.current is not None and known.current.place_of(manifest.seq) is not Place.CHUNK
        advice = rows_advice(chunk, is_read=manifest.seq in read, is_folded=is_folded, has_key=known.has_key)
        columns = known.columns.get(manifest.schema_version)
        for file in manifest.files:
            yield _run_file(
                known,
                manifest,
                file,
                role=Role.ROWS,
                columns=columns,
                is_required=not is_folded,
                advice=advice,
            )
        for file in manifest.quarantine:
            yield _run_file(
                known,
                manifest,
                file,
                role=Role.QUARANTINE,
                columns=_QUARANTINE_COLUMNS,
                is_required=True,
                advice=quarantine_advice(chunk),
            )


def _run_file(
    known: _Table,
    manifest: AttemptManifest,
    file: WrittenFile,
    *,
    role: Role,
    columns: frozenset[str] | None,
    is_required: bool,
    advice: str,
) -> WantedFile:
    return WantedFile(
        path=f"{manifest.place}/{file.name}",
        table=known.table,
        role=role,
        bytes=file.bytes,
        sha256=file.sha256,
        rows=file.rows,
        columns=columns,
        is_required=is_required,
        advice=advice,
    )


def _snapshot_files(known: _Table) -> Iterator[WantedFile]:
    data = known.layout.relative(known.layout.data_folder(known.table))
    advice = _current_advice(known)
    for row, manifest in known.snapshots:
        is_current = known.current is not None and row.snapshot == known.current.snapshot
        for file in manifest.files:
            yield WantedFile(
                path=f"{data}/{file.path}",
                table=known.table,
                role=Role.SNAPSHOT,
                bytes=file.bytes,
                sha256=file.sha256,
                rows=file.rows,
                columns=known.columns.get(file.schema_version),
                is_required=is_current,
                advice=advice if is_current else OLD_SNAPSHOT,
            )


def _current_advice(known: _Table) -> str:
    """Depends on whether all that is needed to make the snapshot once more is still there."""
    if known.current is None:
        return ""
    held = {one.seq for one in known.landed if known.current.place_of(one.seq) is Place.SNAPSHOT}
    others = (said for _, said in reversed(known.snapshots) if said is not known.current)
    there = (said for said in others if _are_there(known.layout.data_folder(known.table), said.files))
    is_kept = any(
        all(_are_there(known.layout.root, one.files) for one in origin.chunks)
        for origin in origins_of(held, known.primary_key, known.landed, there)
    )
    return snapshot_advice(known.table, is_kept=is_kept)


def _are_there(folder: Path, files: Iterable[SnapshotFile | LandedFile]) -> bool:
    return all((folder / file.path).exists() for file in files)
