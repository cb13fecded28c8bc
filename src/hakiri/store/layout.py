"""Where things lie in the store. Names become path parts only after they were checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hakiri.store.errors import UnsafeName

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The store below one folder, `<context.path>/<project>`.

    The root is absolute, because the views name their files for readers in any folder.
    """

    root: Path

    def __post_init__(self) -> None:
        if not self.root.is_absolute():
            raise ValueError(f"the root of a store is an absolute path, not `{self.root}`")

    @property
    def tables(self) -> Path:
        """Where every table has a folder, from its first row on."""
        return self.root / "tables"

    def table_folder(self, table: str) -> Path:
        return self.tables / _checked(table)

    def schema_file(self, table: str) -> Path:
        return self.table_folder(table) / "schema.json"

    def schema_history(self, table: str) -> Path:
        return self.table_folder(table) / "schema-history.jsonl"

    def data_folder(self, table: str) -> Path:
        """Where the rows of a table are: runs, and snapshots."""
        return self.table_folder(table) / "data"

    def snapshot_folder(self, table: str, snapshot: str) -> Path:
        return self.data_folder(table) / snapshot_name(snapshot)

    def staging_folder(self, table: str, snapshot: str) -> Path:
        """Where a snapshot is while it is made; no reader ever looks there."""
        return self.data_folder(table) / staging_name(snapshot)

    def index_folder(self, table: str, index: str) -> Path:
        """Where the sidecars of one index are, one folder a snapshot."""
        return self.table_folder(table) / "indexes" / _checked(index)

    def attempt_folder(self, *, table: str, run: str, node: str, chunk: int, number: int) -> Path:
        """Where one attempt at one chunk writes; no other attempt and no other node ever does."""
        return self.root / attempt_place(table=table, run=run, node=node, chunk=chunk, number=number)

    @property
    def nodes(self) -> Path:
        """Where the processes that work on this store are known."""
        return self.root / "nodes"

    @property
    def views(self) -> Path:
        return self.root / "views"

    def view_file(self, table: str) -> Path:
        return self.views / f"{_checked(table)}.sql"

    @property
    def config_file(self) -> Path:
        return self.root / "config.toml"

    @property
    def duck_db(self) -> Path:
        return self.root / "duck.db"

    @property
    def publish_lock(self) -> Path:
        """Held by whoever writes views; empty."""
        return self.views / ".lock"

    def relative(self, path: Path) -> str:
        """The path below the root, with slashes on every system."""
        return path.relative_to(self.root).as_posix()


def snapshot_name(snapshot: str) -> str:
    """The name of a snapshot's folder."""
    return f"snapshot={_checked(snapshot)}"


def staging_name(snapshot: str) -> str:
    """The name of its folder until it is complete."""
    return f"{snapshot_name(snapshot)}.staging"


def attempt_place(*, table: str, run: str, node: str, chunk: int, number: int) -> str:
    """The attempt's folder below the root."""
    runs = f"tables/{_checked(table)}/data/runs"
    return f"{runs}/{_checked(run)}/{_checked(node)}/chunk-{chunk}/attempt-{number}"


def _checked(name: str) -> str:
    if not _SAFE.fullmatch(name):
        raise UnsafeName(name)
    return name
