"""Changes to a pipeline as people type them: `backfill.window=30d`, `tables=["a", "b"]`."""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import Any, Final, NoReturn

from hakiri.manifest.errors import BadChange
from hakiri.manifest.layout import KeyPath, dotted

_PART = re.compile(r"""\[(\d+)\]|"((?:\\.|[^"\\])*)"|'([^']*)'|([^.\["']+)""")


class Removal(Enum):
    """The change that takes a key out."""

    REMOVE = "remove"


REMOVE: Final = Removal.REMOVE


def value_from_text(text: str) -> Any:
    """What a value on a command line means: JSON if it is JSON, else the text itself."""

    def refuse(_: str) -> NoReturn:
        raise ValueError

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return text


def parse_path(text: str) -> KeyPath:
    """A dotted path: `backfill.window`, `tables[0].name`, `source.config."a.b"`; raises BadChange."""
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        if parts and text[position] != "[":
            if text[position] != ".":
                break
            position += 1
        match = _PART.match(text, position)
        if match is None:
            break
        number, double, single, bare = match.groups()
        if number is not None:
            parts.append(int(number))
        else:
            parts.append(
                double.replace('\\"', '"') if double is not None else single if bare is None else bare
            )
        position = match.end()
    if position < len(text) or not parts:
        raise BadChange(f"`{text}` is not a path of a key", hint="write it like `backfill.window`")
    return tuple(parts)


def resolve(data: Any, path: KeyPath) -> KeyPath:
    """The path with the names of list entries, like the table in `tables.issues.as`, made numbers."""
    found: list[str | int] = []
    here = data
    for part in path:
        if isinstance(here, list):
            number = _entry_number(here, str(part), path)
            found.append(number)
            here = here[number]
        else:
            found.append(part)
            here = here.get(part) if isinstance(here, dict) else None
    return tuple(found)


def is_there(data: Any, path: KeyPath) -> bool:
    """Whether the data has something at this path, whose list entries are numbers that exist."""
    for part in path:
        if not isinstance(data, dict | list) or (isinstance(data, dict) and part not in data):
            return False
        data = _inside(data, part)
    return True


def changed(data: Any, path: KeyPath, value: Any) -> Any:
    """A copy of the data with this one change; the entry of a list must exist."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    is_removal = value is REMOVE and not rest
    if isinstance(data, list) and isinstance(key, int):
        return [*data[:key], *([] if is_removal else [changed(data[key], rest, value)]), *data[key + 1 :]]
    if not isinstance(data, dict | None):
        raise BadChange(f"there is no `{dotted(path)}` to change", hint="set the value that is around it")
    members = dict(data or {})
    if is_removal:
        del members[key]
    else:
        members[key] = changed(members.get(key), rest, value)
    return members


def without_empty(data: Any) -> Any:
    """The data without empty tables and lists, which vanish from TOML with the last thing in them."""
    if isinstance(data, dict):
        cleaned = {key: without_empty(item) for key, item in data.items()}
        return {key: item for key, item in cleaned.items() if item not in ({}, [])}
    return [without_empty(item) for item in data] if isinstance(data, list) else data


def _inside(data: Any, part: str | int) -> Any:
    return data.get(part) if isinstance(data, dict) else data[part]


def _entry_number(entries: list[Any], part: str, path: KeyPath) -> int:
    if part.isdecimal() and int(part) < len(entries):
        return int(part)
    for number, entry in enumerate(entries):
        names = (entry.get("name"), entry.get("id"), entry.get("as")) if isinstance(entry, dict) else (entry,)
        if part in names:
            return number
    raise BadChange(
        f"there is no entry `{part}` for `{dotted(path)}`", hint="name an entry by number or by name"
    )
