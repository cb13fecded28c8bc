"""Changing one key of a JSON text, so that no other byte changes; and values as JSON text."""

from __future__ import annotations

import json
import re
from typing import Any

from hakiri.manifest.errors import BadChange
from hakiri.manifest.json_layout import JsonLayout, scan_json
from hakiri.manifest.layout import KeyPath, Spot, dotted

WIDEST_LINE = 100
DEFAULT_INDENT = "  "


def json_text(value: Any, *, indent: str = DEFAULT_INDENT, margin: str = "", used: int = 0) -> str:
    """A value as JSON: on one line where it fits, else with one member a line.

    `margin` is how far the line it stands on is indented, `used` how much of that line is taken.
    """
    flat = json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict) and value:
        flat = "{ " + flat[1:-1] + " }"
    if not isinstance(value, dict | list) or not value or used + len(flat) <= WIDEST_LINE:
        return flat
    return _expanded(value, indent, margin)


def json_document(data: dict[str, Any]) -> str:
    """A whole file: the object always over several lines, with a final newline."""
    return _expanded(data, DEFAULT_INDENT, "") + "\n"


def json_set(text: str, path: KeyPath, value: Any) -> str:
    """Give the key at this path this value, where it stands or at the end of the object it belongs to."""
    layout = scan_json(text)
    spot = layout.spots.get(path)
    if spot is not None:
        return text[: spot.value_start] + _rendered(text, spot.start, value) + text[spot.value_end :]
    parent, key = path[:-1], path[-1]
    if isinstance(key, int):
        raise BadChange(f"there is no `{dotted(path)}`", hint=f"set the whole of `{dotted(parent)}`")
    holder = layout.spots.get(parent)
    if holder is None:
        return json_set(text, parent, {key: value})
    if text[holder.value_start] != "{":
        raise BadChange(f"`{dotted(parent)}` is not an object", hint=f"set `{dotted(parent)}` itself")
    members = _members(layout, parent)
    if not members:
        return (
            text[: holder.value_start]
            + _rendered(text, holder.start, {key: value})
            + text[holder.value_end :]
        )
    last = members[-1]
    blank = text[len(text[: last.start].rstrip()) : last.start] if len(members) > 1 or "\n" in text else " "
    pair = f"{json.dumps(key, ensure_ascii=False)}: {_rendered(text, last.start, value)}"
    return f"{text[: last.value_end]},{blank or ' '}{pair}{text[last.value_end :]}"


def json_remove(text: str, path: KeyPath) -> str:
    """Take out the key at this path, with the comma that it needs no more."""
    layout = scan_json(text)
    spot, members = layout.spots[path], _members(layout, path[:-1])
    number = members.index(spot)
    if number > 0:
        start, end = members[number - 1].value_end, spot.value_end
    elif len(members) > 1:
        start, end = spot.start, members[1].start
    else:
        holder = layout.spots[path[:-1]]
        start, end = holder.value_start + 1, holder.value_end - 1
    return text[:start] + text[end:]


def _expanded(value: Any, indent: str, margin: str) -> str:
    inner = margin + indent
    if isinstance(value, dict):
        keys = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        lines = [
            f"{inner}{key}{json_text(item, indent=indent, margin=inner, used=len(inner) + len(key))}"
            for key, item in zip(keys, value.values(), strict=True)
        ]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    lines = [f"{inner}{json_text(item, indent=indent, margin=inner, used=len(inner))}" for item in value]
    return "[\n" + ",\n".join(lines) + f"\n{margin}]"


def _rendered(text: str, start: int, value: Any) -> str:
    """The value in the manner of the text: its indentation, its line ends, or all on one line."""
    step = re.search(r"\n([ \t]+)\S", text)
    if step is None:
        return json.dumps(value, ensure_ascii=False)
    line_start = text.rfind("\n", 0, start) + 1
    margin = re.compile(r"[ \t]*").match(text, line_start)
    written = json_text(
        value, indent=step[1], margin=margin.group() if margin else "", used=start - line_start
    )
    return written.replace("\n", "\r\n") if "\r\n" in text else written


def _members(layout: JsonLayout, parent: KeyPath) -> list[Spot]:
    inside = [
        spot
        for path, spot in layout.spots.items()
        if len(path) == len(parent) + 1 and path[: len(parent)] == parent
    ]
    return sorted(inside, key=lambda spot: spot.start)
