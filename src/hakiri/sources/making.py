"""From a source's declaration to a connector that can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.core.errors import Place
from hakiri.sources.config import SourceConfig, read_config
from hakiri.sources.registry import connector_class

if TYPE_CHECKING:
    from hakiri.sources.contract import Connector, Context


def make_connector(
    name: str,
    config: Mapping[str, Any],
    *,
    secrets: tuple[str, ...],
    code_root: Path | None,
    place: Place,
    context: Context,
) -> Connector:
    """The connector of this name with its config read; raises UnknownConnector and BadSourceConfig.

    `secrets` are the names that the pipeline declares, and `place` is where it declares the source.
    """
    kind, checked = declared_connector(name, config, secrets=secrets, code_root=code_root, place=place)
    return kind(checked, context)


def declared_connector(
    name: str,
    config: Mapping[str, Any],
    *,
    secrets: tuple[str, ...],
    code_root: Path | None,
    place: Place,
) -> tuple[type[Connector], SourceConfig]:
    """The connector's class and its config, checked; nothing of the source is touched."""
    kind = connector_class(name, code_root, place)
    return kind, read_config(kind.Config, config, connector=name, place=place, secrets=secrets)
