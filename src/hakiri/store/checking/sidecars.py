"""The sidecars of a snapshot: the catalog knows the hash of a `_manifest.json`, and that names the files."""

from __future__ import annotations

from hashlib import sha256

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.snapshots import Sidecar
from hakiri.core.ids import SnapshotId, TableName
from hakiri.store.checking.advice import sidecar_advice
from hakiri.store.checking.findings import Finding, Kind
from hakiri.store.checking.wanted import Role, Wanted, WantedFile
from hakiri.store.errors import UnreadableManifest
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout, snapshot_name
from hakiri.store.manifests import FILE_NAME
from hakiri.store.sidecars import SidecarManifest


def sidecars_of(
    layout: StoreLayout,
    catalog: Catalog,
    files: Files,
    table: TableName,
    snapshot: SnapshotId,
    *,
    is_current: bool,
) -> Wanted:
    """What the sidecars of a snapshot must hold, their manifests being looked at already."""
    found = [
        _sidecar(layout, files, table, each, is_current=is_current)
        for each in catalog.snapshots.sidecars(snapshot)
    ]
    return Wanted(
        files=tuple(file for one in found for file in one.files),
        others=frozenset(path for one in found for path in one.others),
        findings=tuple(finding for one in found for finding in one.findings),
    )


def _sidecar(
    layout: StoreLayout, files: Files, table: TableName, sidecar: Sidecar, *, is_current: bool
) -> Wanted:
    folder = layout.index_folder(table, sidecar.index) / snapshot_name(sidecar.snapshot)
    path = layout.relative(folder / FILE_NAME)
    advice = sidecar_advice(table, is_current=is_current)
    data = files.read(folder / FILE_NAME)
    if data is None and not is_current:
        return Wanted(others=frozenset({path}))
    try:
        manifest = _manifest(data, sidecar)
    except UnreadableManifest as error:
        kind = Kind.SIDECAR_MISSING if data is None else Kind.SIDECAR_CHANGED
        # What it named is not known any more, so nothing beside it is called left over.
        beside = (layout.relative(folder / name) for name in files.names(folder))
        finding = Finding(kind=kind, path=path, table=table, found=error.why, advice=advice)
        return Wanted(others=frozenset({path, *beside}), findings=(finding,))
    return Wanted(
        files=tuple(
            WantedFile(
                path=layout.relative(folder / file.name),
                table=table,
                role=Role.SIDECAR,
                bytes=file.bytes,
                sha256=file.sha256,
                is_required=is_current,
                advice=advice,
            )
            for file in manifest.files
        ),
        others=frozenset({path}),
    )


def _manifest(data: bytes | None, sidecar: Sidecar) -> SidecarManifest:
    if data is None:
        raise UnreadableManifest("it is not there")
    found = sha256(data).hexdigest()
    if found != sidecar.manifest_hash:
        raise UnreadableManifest(
            f"its SHA-256 is {found[:12]}…, and the catalog says {sidecar.manifest_hash[:12]}…"
        )
    return SidecarManifest.parse(data.decode())
