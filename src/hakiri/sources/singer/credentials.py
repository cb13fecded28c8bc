"""Secrets in the config of a tap that are written out: seen by the names of their keys, and taken apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hakiri.core.secrets import Secret
from hakiri.sources.config import Template

# The ends of keys that hold nothing but a secret, in the spelling of `_folded`.
_ENDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
)
_PASSWORD_IN_URL = re.compile(r"://[^/@\s:]*:[^/@\s]+@")


def is_written_out(key: str, text: str) -> bool:
    """Whether the text is, or holds, a secret itself and not the name of one."""
    if not text or Template(text).names:
        return False
    return _folded(key).endswith(_ENDS) or _PASSWORD_IN_URL.search(text) is not None


def place_of_secret(config: Any, key: str = "", place: str = "") -> str | None:
    """Where in a config a secret is written out, as a dotted path; None if none is."""
    if isinstance(config, str | Template):
        return place if is_written_out(key, str(config)) else None
    steps: list[tuple[str, str, Any]] = []
    if isinstance(config, Mapping):
        steps = [(name, f"{place}.{name}" if place else name, value) for name, value in config.items()]
    elif isinstance(config, list):
        steps = [(key, f"{place}[{number}]", value) for number, value in enumerate(config)]
    found = (place_of_secret(value, name, where) for name, where, value in steps)
    return next((where for where in found if where is not None), None)


def taken_apart(config: Any, secrets: dict[str, Secret], key: str = "") -> Any:
    """The config with `${NAME}` for every secret that is written out, which is added under that name."""
    if isinstance(config, str) and is_written_out(key, config):
        name = _free_name(key, secrets)
        secrets[name] = Secret(config)
        return f"${{{name}}}"
    if isinstance(config, Mapping):
        return {name: taken_apart(value, secrets, name) for name, value in config.items()}
    if isinstance(config, list):
        return [taken_apart(value, secrets, key) for value in config]
    return config


def _folded(key: str) -> str:
    return re.sub(r"[^a-z]", "", key.lower())


def _free_name(key: str, taken: Mapping[str, Secret]) -> str:
    words = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).upper()).strip("_")
    name = wanted = words if words[:1].isalpha() else f"TAP_{words}"
    number = 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
