"""The contract as a value: its roles and their methods."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable

from hakiri.catalog import Catalog


def roles() -> dict[str, type]:
    properties = {name: each for name, each in vars(Catalog).items() if isinstance(each, property)}
    return {name: typing.get_type_hints(each.fget)["return"] for name, each in properties.items()}


def methods(role: type) -> dict[str, Callable[..., object]]:
    return {name: each for name, each in vars(role).items() if inspect.isfunction(each) and name[0] != "_"}
