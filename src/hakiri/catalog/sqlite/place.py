"""From a `sqlite://` URL to a place."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from hakiri.catalog.contract.contents import CatalogContents
from hakiri.catalog.errors import BadCatalogUrl
from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sql.place import SqlPlace
from hakiri.catalog.sqlite.file import SqliteFile
from hakiri.catalog.sqlite.renewing import pending_file, put_in_place

_PREFIX = "sqlite:///"


class SqlitePlace(SqlPlace):
    """A catalog in a file, which another file can take the place of."""

    def __init__(self, path: Path) -> None:
        super().__init__("sqlite", SqliteFile(path), migrations_of("sqlite"))
        self._path = path

    def rebuild(self, contents: CatalogContents, now: datetime) -> str | None:
        made = pending_file(self._path)
        with SqlitePlace(made).open(migrated_at=now) as catalog:
            catalog.fill(contents, now)
        kept = put_in_place(made, self._path, now)
        return None if kept is None else str(kept)


def place(url: str, project: str, base: Path) -> SqlPlace:
    """`sqlite:///relative.sqlite` begins at `base`, `sqlite:////absolute.sqlite` at the root."""
    path = unquote(url.removeprefix(_PREFIX))
    if not url.startswith(_PREFIX) or not path or path.endswith("/"):
        raise BadCatalogUrl("a `sqlite://` URL needs three slashes and the path of a file")
    if path == ":memory:":
        raise BadCatalogUrl("a catalog in memory would forget everything with the process")
    return SqlitePlace(base / path)
