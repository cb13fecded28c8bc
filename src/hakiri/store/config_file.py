"""`config.toml`: the version of a store, and how its tables were laid out when they were compacted last.

Like the views it is derived: whoever publishes writes it, and nobody needs it to read rows.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from hakiri.store.errors import StoreTooNew, UnreadableConfig
from hakiri.store.files import Files, LocalFiles
from hakiri.store.layout import StoreLayout

if TYPE_CHECKING:
    from hakiri.catalog.contract import Catalog
    from hakiri.core.ids import TableName

VERSION = 1
_HEAD = """\
# What this folder is, written by Hakiri from its catalog. Edits are overwritten.
"""
_TABLES = """\

# How tables were laid out when they were compacted last; others have not been yet.
# What the next compaction does is said in the project's manifest.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """How a table's snapshot is laid out."""

    snapshot: str
    cluster_by: tuple[str, ...]
    partition_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """All that `config.toml` says. `tables` has those that have a snapshot."""

    project: str
    created_at: datetime
    tables: Mapping[str, Compaction] = field(default_factory=lambda: MappingProxyType({}))

    def text(self) -> str:
        created_at = self.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        lines = [f"version = {VERSION}", f"project = {_quoted(self.project)}", f"created_at = {created_at}"]
        parts = [_section(name, self.tables[name]) for name in sorted(self.tables)]
        return _HEAD + "\n".join(lines) + "\n" + (_TABLES if parts else "") + "".join(parts)

    @classmethod
    def parse(cls, text: str, path: str) -> Self:
        """What the text says; `path` is for its errors. Raises UnreadableConfig, StoreTooNew."""
        try:
            said = tomllib.loads(text)
            version = said["version"]
            if isinstance(version, bool) or not isinstance(version, int) or version < 1:
                raise UnreadableConfig(path, f"`version` is `{version}`")
            if version > VERSION:
                raise StoreTooNew(path, version, VERSION)
            created_at = _typed(said, "created_at", datetime)
            if created_at.tzinfo is None:
                raise UnreadableConfig(path, f"`created_at` is `{created_at}`, without a zone")
            tables = _typed(said, "tables", dict) if "tables" in said else {}
            return cls(
                project=_typed(said, "project", str),
                created_at=created_at,
                tables={name: _compaction(_typed(tables, name, dict)) for name in tables},
            )
        except KeyError as error:
            raise UnreadableConfig(path, f"it has no {error}") from error
        except (ValueError, TypeError) as error:
            raise UnreadableConfig(path, str(error)) from error


def read_config(layout: StoreLayout, files: Files | None = None) -> StoreConfig | None:
    """What the store says of itself; None if it has no such file: it is new, or older than the file.

    Raises StoreTooNew, UnreadableConfig.
    """
    data = (files or LocalFiles()).read(layout.config_file)
    if data is None:
        return None
    name = layout.relative(layout.config_file)
    try:
        return StoreConfig.parse(data.decode(), name)
    except UnicodeDecodeError as error:
        raise UnreadableConfig(name, "it is no text") from error


def refuse_newer(layout: StoreLayout, files: Files | None = None) -> None:
    """For whoever mends a store, in whatever condition it is. Raises StoreTooNew."""
    try:
        read_config(layout, files)
    except UnreadableConfig:
        return  # that is what is to be mended


def config_of(layout: StoreLayout, catalog: Catalog, tables: Iterable[TableName]) -> StoreConfig | None:
    """What the file is to say of a store that has these tables; None while none of them has a schema."""
    schemas = [schema for table in tables if (schema := catalog.schemas.current(table)) is not None]
    if not schemas:
        return None
    laid_out = {schema.table: compaction_of(catalog, schema.table) for schema in schemas}
    return StoreConfig(
        project=layout.root.name,
        created_at=min(schema.created_at for schema in schemas),
        tables={table: one for table, one in laid_out.items() if one is not None},
    )


def compaction_of(catalog: Catalog, table: TableName) -> Compaction | None:
    """How a table's current snapshot is laid out."""
    from hakiri.store.snapshots import SnapshotManifest

    current = catalog.snapshots.current(table)
    if current is None:
        return None
    manifest = SnapshotManifest.parse(current.manifest)
    return Compaction(
        snapshot=current.snapshot, cluster_by=manifest.cluster_by, partition_by=manifest.partition_by
    )


def _section(name: str, one: Compaction) -> str:
    columns = ", ".join(_quoted(column) for column in one.cluster_by)
    lines = [f"[tables.{_quoted(name)}]", f"snapshot = {_quoted(one.snapshot)}", f"cluster_by = [{columns}]"]
    if one.partition_by is not None:
        lines.append(f"partition_by = {_quoted(one.partition_by)}")
    return "".join(f"{line}\n" for line in lines)


def _compaction(said: Mapping[str, Any]) -> Compaction:
    columns = _typed(said, "cluster_by", list)
    if not all(isinstance(column, str) for column in columns):
        raise TypeError(f"`cluster_by` is `{columns}`")
    return Compaction(
        snapshot=_typed(said, "snapshot", str),
        cluster_by=tuple(columns),
        partition_by=_typed(said, "partition_by", str) if "partition_by" in said else None,
    )


def _typed(said: Mapping[str, Any], name: str, kind: type) -> Any:
    if not isinstance(said[name], kind):
        raise TypeError(f"`{name}` is `{said[name]}`")
    return said[name]


def _quoted(text: str) -> str:
    """A basic string of TOML, which is one of JSON but for one control character that JSON takes as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
