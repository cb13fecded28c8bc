"""From a URL to a catalog."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote

from hakiri.catalog.errors import BadCatalogUrl
from hakiri.core.errors import MissingExtra
from hakiri.core.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hakiri.catalog.contract import Catalog
    from hakiri.catalog.contract.contents import CatalogContents
    from hakiri.core.settings import Settings


class Place(Protocol):
    """Where a catalog is, whether it is there yet or not. Looking at it changes nothing."""

    backend: str
    location: str
    """Without a password."""

    def version(self) -> int:
        """The version of what is there; 0 when nothing is."""

    def newest_version(self) -> int:
        """The version that this program works with."""

    def migrate(self, now: datetime) -> tuple[int, ...]:
        """Make or update what is there, and return the numbers of the steps taken. Raises CatalogTooNew."""

    def rebuild(self, contents: CatalogContents, now: datetime) -> str | None:
        """Have a catalog with these contents in the place of what is there, which is kept elsewhere: where.

        Whoever dies on the way leaves the old one or the new one. Where nothing can be kept aside, only an
        empty catalog is filled: CatalogNotEmpty is raised for others. Raises CatalogInUse.
        """

    def open(self, *, migrated_at: datetime | None = None, is_look: bool = False) -> Catalog:
        """The catalog, if it has the version of this program; migrated first if a time for that is given.

        With `is_look` it is only read, and no file of it changes. Raises CatalogTooOld, CatalogTooNew.
        """


class Backend(NamedTuple):
    """A module with a function `place(url, project, base)`, and the extra that brings its libraries."""

    module: str
    extra: str


BACKENDS: Mapping[str, Backend] = MappingProxyType(
    {
        "sqlite": Backend("hakiri.catalog.sqlite.place", ""),
        "postgresql": Backend("hakiri.catalog.postgres.place", "postgres"),
        "postgres": Backend("hakiri.catalog.postgres.place", "postgres"),
    }
)


def catalog_url(settings: Settings, project: str) -> str:
    """The URL of a project's catalog: `catalog.url`, or else the file beside the project's tables."""
    return settings.catalog.url or f"sqlite:///{quote(settings.context.path)}/{project}/meta.sqlite"


def catalog_place(url: str, *, project: str, base: Path) -> Place:
    """Where the URL points to; relative paths begin at `base`. Raises BadCatalogUrl, MissingExtra."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        raise BadCatalogUrl("`catalog.url` is not a URL")
    if scheme not in BACKENDS:
        meant = nearest(scheme, BACKENDS)
        raise BadCatalogUrl(
            f"there is no catalog for `{scheme}://` URLs" + (f"; `{meant}://` is near" if meant else "")
        )
    backend = BACKENDS[scheme]
    try:
        module = import_module(backend.module)
    except ImportError as error:
        if not backend.extra or (error.name or "").startswith("hakiri"):
            raise
        raise MissingExtra(f"a catalog at a `{scheme}://` URL", extra=backend.extra) from error
    place: Place = module.place(url, project, base)
    return place


def open_catalog(url: str, *, project: str, base: Path, now: datetime) -> Catalog:
    """The catalog at the URL, made or brought up to date first by whoever comes first."""
    return catalog_place(url, project=project, base=base).open(migrated_at=now)
