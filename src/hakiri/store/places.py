"""From the folder of a project to its store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hakiri.catalog import Catalog, catalog_place, catalog_url
from hakiri.core.settings import Settings, resolve_settings
from hakiri.manifest import load_project
from hakiri.store.config_file import read_config
from hakiri.store.layout import StoreLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """The store of a project. Nothing of it is opened yet."""

    root: Path
    project: str
    settings: Settings

    @property
    def layout(self) -> StoreLayout:
        return StoreLayout(self.root / self.settings.context.path / self.project)

    @contextmanager
    def catalog(self) -> Iterator[Catalog | None]:
        """The catalog, only to look; None while there is none, because nothing ran yet."""
        url = catalog_url(self.settings, self.project)
        place = catalog_place(url, project=self.project, base=self.root)
        if place.version() == 0:
            yield None
            return
        with place.open(is_look=True) as catalog:
            yield catalog


def store_place(folder: Path, env: Mapping[str, str]) -> StorePlace:
    """The store of the project in this folder. Raises NoProject, ManifestInvalid, and StoreTooNew."""
    root = folder.resolve()
    project = load_project(root)
    settings = resolve_settings(
        flags={}, env=env, manifest=project.settings, manifest_places=project.setting_places()
    )
    place = StorePlace(root=root, project=project.name, settings=settings)
    read_config(place.layout)
    return place
