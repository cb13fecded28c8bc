"""From a `sqlite://` URL to a place."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from hakiri.catalog.errors import BadCatalogUrl
from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sql.place import SqlPlace
from hakiri.catalog.sqlite.file import SqliteFile

_PREFIX = "sqlite:///"


def place(url: str, project: str, base: Path) -> SqlPlace:
    """`sqlite:///relative.sqlite` begins at `base`, `sqlite:////absolute.sqlite` at the root."""
    path = unquote(url.removeprefix(_PREFIX))
    if not url.startswith(_PREFIX) or not path or path.endswith("/"):
        raise BadCatalogUrl("a `sqlite://` URL needs three slashes and the path of a file")
    if path == ":memory:":
        raise BadCatalogUrl("a catalog in memory would forget everything with the process")
    return SqlPlace("sqlite", SqliteFile(base / path), migrations_of("sqlite"))
