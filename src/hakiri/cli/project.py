"""What commands need of the project they work on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hakiri.cli.app import MANIFEST_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hakiri.catalog.opening import Place as CatalogPlace
    from hakiri.cli.app import App
    from hakiri.core.errors import Place
    from hakiri.core.settings import Settings
    from hakiri.manifest import Project


def project_of(app: App) -> Project:
    """The project's manifest, loaded and checked; raises NoProject and ManifestInvalid."""
    from hakiri.manifest import load_project

    return load_project(app.project_dir)


def settings_of(app: App, project: Project | None = None) -> Settings:
    """Every setting for this call, and a warning on stderr for each variable that looks like a mistake.

    Without a project there are still flags, the environment and defaults.
    """
    from hakiri.core.settings import resolve_settings

    manifest: Mapping[str, Mapping[str, object]] = {}
    places: Mapping[str, Place] = {}
    if project is None and os.path.lexists(app.project_dir / MANIFEST_NAME):
        project = project_of(app)
    if project is not None:
        manifest, places = project.settings, project.setting_places()
    settings = resolve_settings(flags=app.flags, env=app.env, manifest=manifest, manifest_places=places)
    for warning in settings.warnings:
        app.console.warn(warning)
    return settings


def catalog_place_of(app: App, settings: Settings, project: Project | None) -> CatalogPlace:
    """Where the project keeps its state, without looking; raises BadCatalogUrl and MissingExtra."""
    from hakiri.catalog import catalog_place, catalog_url

    name = project.name if project is not None else ""
    return catalog_place(catalog_url(settings, name), project=name, base=app.project_dir)
