"""The manifest of a sidecar: an index that lies beside a snapshot, and belongs to it alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any, Self

from hakiri.core.canonical import canonical_json
from hakiri.core.ids import IndexId, SnapshotId, TableName
from hakiri.store.manifest_text import said_in

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarFile:
    """A file of a sidecar that is durable, with its name below the folder of the sidecar."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarManifest:
    """All that `_manifest.json` of a sidecar says; it is written when its files are safe on the disk.

    `builder` says what made it and in which form. `about` is what only this kind of index knows.
    """

    index: IndexId
    kind: str
    builder: str
    table: TableName
    snapshot: SnapshotId
    files: tuple[SidecarFile, ...]
    about: Mapping[str, Any]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def hash(self) -> str:
        """What the catalog knows the text by."""
        return sha256(self.text().encode()).hexdigest()

    def text(self) -> str:
        """Canonical JSON, with a last line end."""
        said: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        said |= {"format": FORMAT, "files": [asdict(file) for file in self.files]}
        return f"{canonical_json(said)}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The manifest that the text says. Raises UnreadableManifest."""
        with said_in(text, FORMAT) as said:
            files = tuple(SidecarFile(**file) for file in said["files"])
            return cls(**{name: said[name] for name in _NAMES} | {"files": files})


_NAMES = tuple(field.name for field in fields(SidecarManifest))
