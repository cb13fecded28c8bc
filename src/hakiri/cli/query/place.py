"""Which store is asked, found without reading more of the manifest than that needs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.cli.app import MANIFEST_NAME
from hakiri.core.errors import HakiriError

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.cli.app import App
    from hakiri.core.settings import Settings
    from hakiri.store.layout import StoreLayout

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """The store of a project. Nothing is opened yet."""

    app: App
    project: str
    settings: Settings
    layout: StoreLayout

    @contextmanager
    def catalog(self) -> Iterator[Catalog | None]:
        """The catalog, only to look; None while there is none, because nothing ran yet."""
        from hakiri.catalog import catalog_place, catalog_url

        url = catalog_url(self.settings, self.project)
        place = catalog_place(url, project=self.project, base=self.app.project_dir)
        if place.version() == 0:
            yield None
            return
        with place.open(is_look=True) as catalog:
            yield catalog


def store_place(app: App) -> StorePlace:
    """The store of the project that the app stands in.

    Pipelines are not looked at: what they brought can be read also while somebody edits them, and checking
    them takes longer than most questions. Raises NoProject and ManifestInvalid if the project itself cannot
    be read, StoreTooNew and UnreadableConfig if the store is not to be used.
    """
    from hakiri.store.config_file import read_config
    from hakiri.store.layout import StoreLayout

    project, settings = _own_words(app) or _whole_manifest(app)
    layout = StoreLayout(app.project_dir / settings.context.path / project)
    read_config(layout)
    return StorePlace(app=app, project=project, settings=settings, layout=layout)


def _own_words(app: App) -> tuple[str, Settings] | None:
    """Name and settings as `hakiri.toml` says them; None if anything is odd, for others to say what."""
    from hakiri.core.settings import resolve_settings
    from hakiri.core.settings.sections import SECTIONS

    try:
        said = tomllib.loads((app.project_dir / MANIFEST_NAME).read_text("utf-8"))
        name = said["project"]["name"]
        sections = {key: said[key] for key in SECTIONS if said.get(key)}
        settings = resolve_settings(flags=app.flags, env=app.env, manifest=sections, manifest_places={})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, HakiriError):
        return None
    if not isinstance(name, str) or not _NAME.fullmatch(name) or settings.warnings:
        return None
    return name, settings


def _whole_manifest(app: App) -> tuple[str, Settings]:
    from hakiri.cli.project import project_of, settings_of

    project = project_of(app)
    return project.name, settings_of(app, project)
