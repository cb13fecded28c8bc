"""Finding a connector by its name: built in, of an installed package, or of the project."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.sources.errors import BrokenConnector, UnknownConnector

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from hakiri.sources.contract import Connector

# A project's file is run under one name in the process, by one thread at a time.
_LOADING = threading.Lock()
ENTRY_POINTS = "hakiri.connectors"
FOLDER = "connectors"
BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "files": "hakiri.sources.files:FilesConnector",
        "github": "hakiri.sources.github:GithubConnector",
        "postgres-cdc": "hakiri.sources.cdc:PostgresCdcConnector",
        "rest": "hakiri.sources.rest:RestConnector",
        "shopify": "hakiri.sources.shopify:ShopifyConnector",
        "singer": "hakiri.sources.singer:SingerConnector",
        "sql": "hakiri.sources.sql:SqlConnector",
    }
)


class Origin(StrEnum):
    BUILT_IN = "built in"
    PACKAGE = "package"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A connector that can be named, not loaded yet. `where` tells a person where it comes from."""

    name: str
    origin: Origin
    where: str


def known_connectors(root: Path | None) -> dict[str, Known]:
    """Every connector by name. The project's own comes before an installed one, and that before ours."""
    known = {name: Known(name=name, origin=Origin.BUILT_IN, where="hakiri") for name in BUILT_IN}
    for point in _entry_points().values():
        where = point.dist.name if point.dist is not None else point.value
        known[point.name] = Known(name=point.name, origin=Origin.PACKAGE, where=where)
    for path in _project_files(root):
        known[path.stem] = Known(name=path.stem, origin=Origin.PROJECT, where=f"{FOLDER}/{path.name}")
    return dict(sorted(known.items()))


def connector_class(name: str, root: Path | None, place: Place) -> type[Connector]:
    """The connector of this name, loaded; raises UnknownConnector and BrokenConnector.

    `root` is the project's folder. Without one, as in a Spark task far from it, the project's connectors are
    those that can be imported as `connectors.<name>`, which is how the engine ships them.
    """
    everything = known_connectors(root)
    known = everything.get(name) or everything.get(_module_name(name))
    if known is None:
        if root is None and importlib.util.find_spec(f"{FOLDER}.{_module_name(name)}"):
            with _loading(name, place):
                shipped = importlib.import_module(f"{FOLDER}.{_module_name(name)}")
            return _only_connector(shipped, name, place)
        raise UnknownConnector(name, list(everything), place, meant=nearest(name, everything))
    match known.origin:
        case Origin.BUILT_IN:
            module, _, attribute = BUILT_IN[name].partition(":")
            found: type[Connector] = getattr(importlib.import_module(module), attribute)
            return found
        case Origin.PACKAGE:
            with _loading(name, place):
                loaded = _entry_points()[name].load()
            return _checked(loaded, name, place)
        case Origin.PROJECT:
            assert root is not None  # noqa: S101 - only a project has connectors of its own
            return _only_connector(_loaded(root, name, place), name, place)


def _entry_points() -> Mapping[str, EntryPoint]:
    return _entry_points_on(tuple(sys.path))


@lru_cache(maxsize=8)
def _entry_points_on(_: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """What is installed on this path: all packages are looked at for it, and plans ask for many pipelines."""
    from importlib.metadata import entry_points

    return MappingProxyType({point.name: point for point in entry_points(group=ENTRY_POINTS)})


def _project_files(root: Path | None) -> list[Path]:
    if root is None:
        return []
    return sorted(path for path in (root / FOLDER).glob("*.py") if not path.name.startswith((".", "_")))


def _module_name(name: str) -> str:
    return name.replace("-", "_")


def _loaded(root: Path, name: str, place: Place) -> ModuleType:
    """The project's file as a module of its own, never one of another project in this process."""
    path = root / FOLDER / f"{_module_name(name)}.py"
    spec = importlib.util.spec_from_file_location(f"hakiri_project_connectors.{_module_name(name)}", path)
    assert spec is not None  # noqa: S101 - a path that ends in .py has a loader
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    with _LOADING:
        # Dataclasses and pydantic look their own module up while the file is still being run.
        sys.modules[spec.name] = module
        try:
            with _loading(name, place):
                spec.loader.exec_module(module)
        finally:
            del sys.modules[spec.name]
    return module


@contextmanager
def _loading(name: str, place: Place) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        raise BrokenConnector(name, f"{type(error).__name__}: {error}", place) from error


def _only_connector(module: ModuleType, name: str, place: Place) -> type[Connector]:
    from hakiri.sources.contract import Connector

    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Connector) and value.__module__ == module.__name__
    ]
    # A base class of the author's own is no second connector.
    leaves = [kind for kind in own if not any(other is not kind and issubclass(other, kind) for other in own)]
    if len(leaves) != 1:
        found = "no class in it is a Connector" if not leaves else "several classes in it are Connectors"
        raise BrokenConnector(name, found, place)
    return _checked(leaves[0], name, place)


def _checked(found: object, name: str, place: Place) -> type[Connector]:
    from hakiri.sources.contract import Connector

    if not (isinstance(found, type) and issubclass(found, Connector)):
        raise BrokenConnector(name, f"`{found!r}` is no Connector", place)
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise BrokenConnector(name, f"`{found.__name__}` lacks {', '.join(missing)}", place)
    return found
