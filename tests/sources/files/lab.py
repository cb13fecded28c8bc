"""Projects with files in them, and connectors over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from hakiri.core.clock import Clock, SystemClock
from hakiri.core.errors import Place
from hakiri.sources.budget import NoBudget
from hakiri.sources.config import read_config
from hakiri.sources.contract import Context, Cursor, Read
from hakiri.sources.files import FilesConnector
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.json_rows import type_text

PLACE = Place("hakiri.toml", 16)
TABLE = "orders"


def files_config(**config: Any) -> FilesConfig:
    return read_config(FilesConfig, config, connector="files", place=PLACE, secrets=())


def files_in(root: Path, clock: Clock | None = None, **config: Any) -> FilesConnector:
    """A connector over files of a project."""
    context = Context(
        root=root,
        secrets={},
        budget=NoBudget(),
        clock=clock or SystemClock(),
        wait=lambda seconds: None,
    )
    return FilesConnector(files_config(**config), context)


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """The files in a folder, which is given back."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def types_of(connector: FilesConnector, table: str = TABLE) -> dict[str, str]:
    """The columns of a table with their types as people write them."""
    (found,) = connector.discover([table])
    return {field.name: type_text(field.type) for field in found.schema}


def rows_of(
    connector: FilesConnector,
    cursor: Cursor | None = None,
    table: str = TABLE,
    schema: pa.Schema | None = None,
) -> list[dict[str, Any]]:
    read = Read(table=table, cursor=cursor, schema=schema)
    return [row for batch in connector.open(read) for row in batch.rows.to_pylist()]


def values_of(connector: FilesConnector, column: str) -> list[Any]:
    return [row[column] for row in rows_of(connector)]


def names_read(connector: FilesConnector, cursor: Cursor | None, column: str = "id") -> list[Any]:
    """What the rows of a read from the cursor have in a column, in order."""
    return sorted(row[column] for row in rows_of(connector, cursor))


def sorted_rows(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(repr(dict(row)) for row in rows)
