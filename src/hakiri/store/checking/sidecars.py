"""The sidecars of a snapshot: the catalog knows the hash of a `_manifest.json`, and that names the files."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.snapshots import Sidecar
from hakiri.core.ids import TableName
from hakiri.store.checking.advice import sidecar_advice
from hakiri.store.checking.findings import Finding, Kind
from hakiri.store.checking.wanted import Role, Wanted, WantedFile
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout, snapshot_name
from hakiri.store.manifests import FILE_NAME


def sidecars_of(
    layout: StoreLayout, catalog: Catalog, files: Files, table: TableName, snapshot: str, *, is_current: bool
) -> Wanted:
    """What the sidecars of a snapshot must hold, their manifests being looked at already."""
    from hakiri.core.ids import SnapshotId

    found = [
        _sidecar(layout, files, table, each, is_current=is_current)
        for each in catalog.snapshots.sidecars(SnapshotId(snapshot))
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
    wrong = "it is not there" if data is None else _wrong(data, sidecar)
    if data is None or wrong:
        kind = Kind.SIDECAR_MISSING if data is None else Kind.SIDECAR_CHANGED
        finding = Finding(kind=kind, path=path, table=table, found=wrong, advice=advice)
        names = files.names(folder)  # what it names is not known, so nothing beside it is called left over
        return Wanted(
            others=frozenset({path, *(layout.relative(folder / name) for name in names)}), findings=(finding,)
        )
    return Wanted(
        files=tuple(
            WantedFile(
                path=layout.relative(folder / str(said.get("name", said.get("path")))),
                table=table,
                role=Role.SIDECAR,
                bytes=said["bytes"],
                sha256=said["sha256"],
                is_required=is_current,
                advice=advice,
            )
            for said in _files(data)
        ),
        others=frozenset({path}),
    )


def _wrong(data: bytes, sidecar: Sidecar) -> str:
    known = sidecar.manifest_hash.removeprefix("sha256:")
    found = hashlib.sha256(data).hexdigest()
    if found != known:
        return f"its SHA-256 is {found[:12]}…, and the catalog says {known[:12]}…"
    try:
        _files(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"it cannot be read: {error}"
    return ""


def _files(data: bytes) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = json.loads(data)["files"]
    for said in files:
        _ = said.get("name", said.get("path")), said["bytes"], said["sha256"]
    return files
