"""Changing one key of a TOML text, so that no other byte changes.

The text is cut and joined at the places that the scanner found. `tomlkit` could edit its own tree instead,
but it puts a new key below the comment of the next table, and takes that comment along when a table goes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any

from hakiri.manifest.errors import BadChange
from hakiri.manifest.layout import KeyPath, Spot, SpotKind, dotted
from hakiri.manifest.toml_layout import Section, TomlLayout, scan_toml
from hakiri.manifest.toml_text import toml_key, toml_value

_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|(?P<comment>#[^\r\n]*)',
    re.DOTALL,
)
_COMMA = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*,")
_BLANK_LINE = re.compile(r"[ \t\r]*\n")
_WRITTEN_AS_VALUE = {SpotKind.ENTRY, SpotKind.MEMBER, SpotKind.ITEM}

Span = tuple[int, int]


def toml_set(text: str, path: KeyPath, value: Any) -> str:
    """Give the key at this path this value, where it stands or at the end of the table it belongs to."""
    layout = scan_toml(text)
    spot = layout.spots.get(path)
    if spot is not None and spot.kind in _WRITTEN_AS_VALUE:
        return text[: spot.value_start] + toml_value(value, path) + text[spot.value_end :]
    if spot is not None and isinstance(path[-1], int):
        entries = _data_at(text, path[:-1])
        return toml_set(text, path[:-1], [*entries[: path[-1]], value, *entries[path[-1] + 1 :]])
    if spot is not None:
        text = toml_remove(text, path)
    return _add(text, path, value)


def toml_remove(text: str, path: KeyPath) -> str:
    """Take out the key at this path with everything below it, and the comments that are on its lines."""
    for start, end in reversed(_spans_of(text, path)):
        text = text[:start] + text[end:]
    return text


def toml_comments_of(text: str, path: KeyPath) -> tuple[str, ...]:
    """The comments that go when `toml_remove` takes out this path."""
    return tuple(
        comment for start, end in _spans_of(text, path) for comment in toml_comments(text[start:end])
    )


def toml_comments(text: str) -> tuple[str, ...]:
    """All comments of a text."""
    return tuple(match["comment"] for match in _COMMENT.finditer(text) if match["comment"])


def newline_of(text: str) -> str:
    """The line end that the text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def _add(text: str, path: KeyPath, value: Any) -> str:
    parent, key = path[:-1], path[-1]
    layout = scan_toml(text)
    spot = layout.spots.get(parent)
    if isinstance(key, int):
        raise BadChange(f"there is no `{dotted(path)}`", hint=f"set the whole of `{dotted(parent)}`")
    if spot is None:
        return _add(text, parent, {key: value})
    if spot.kind in _WRITTEN_AS_VALUE:
        return _add_inline(text, layout, path, value)
    section, names, after = _line_before(layout, spot, parent)
    line = f"{toml_key(*names, key)} = {toml_value(value, path)}"
    if after is None:
        return _insert_line(text, section.header_end, line, indent="") if section.path else line + "\n" + text
    line_start = text.rfind("\n", 0, after.start) + 1
    return _insert_line(text, after.value_end, line, indent=text[line_start : after.start])


def _line_before(
    layout: TomlLayout, spot: Spot, parent: KeyPath
) -> tuple[Section, tuple[str, ...], Spot | None]:
    """The section that gets the new line, the names before the key, and the entry that it follows."""
    if spot.kind is not SpotKind.IMPLIED:
        section = next((section for section in layout.sections if section.path == parent), None)
        if section is None:
            raise BadChange(f"`{dotted(parent)}` is a list", hint="name one of its entries by number or name")
        return section, (), section.entries[-1][1] if section.entries else None
    for section in layout.sections:
        below = [entry for path, entry in section.entries if path[: len(parent)] == parent]
        if below:
            return section, _names(parent[len(section.path) :]), below[-1]
    section = max(
        (section for section in layout.sections if parent[: len(section.path)] == section.path),
        key=lambda section: len(section.path),
    )
    names = _names(parent[len(section.path) :])
    return section, names, section.entries[-1][1] if section.entries else None


def _names(path: KeyPath) -> tuple[str, ...]:
    return tuple(str(part) for part in path)


def _insert_line(text: str, offset: int, line: str, *, indent: str) -> str:
    newline = newline_of(text)
    end = text.find("\n", offset)
    if end < 0:
        return f"{text}{newline}{indent}{line}"
    return f"{text[: end + 1]}{indent}{line}{newline}{text[end + 1 :]}"


def _add_inline(text: str, layout: TomlLayout, path: KeyPath, value: Any) -> str:
    parent = path[:-1]
    spot = layout.spots[parent]
    if text[spot.value_start] != "{":
        raise BadChange(f"`{dotted(parent)}` is not a table", hint=f"set `{dotted(parent)}` itself")
    ends = [inner.value_end for where, inner in layout.spots.items() if _is_below(where, parent)]
    pair = f"{toml_key(str(path[-1]))} = {toml_value(value, path)}"
    if not ends:
        return f"{text[: spot.value_start]}{{ {pair} }}{text[spot.value_end :]}"
    return f"{text[: max(ends)]}, {pair}{text[max(ends) :]}"


def _is_below(path: KeyPath, parent: KeyPath) -> bool:
    return len(path) > len(parent) and path[: len(parent)] == parent


def _data_at(text: str, path: KeyPath) -> Any:
    here: Any = tomllib.loads(text)
    for part in path:
        here = here[part]
    return here


def _spans_of(text: str, path: KeyPath) -> list[Span]:
    """What must be cut out of the text to take out this path, in order and without overlap."""
    layout = scan_toml(text)
    spans: list[Span] = []
    block: list[Section] = []  # sections that go and follow each other, with all that is between them
    for section in layout.sections:
        if section.path and section.path[: len(path)] == path:
            block.append(section)
            continue
        spans += _block_span(text, block)
        block = []
        spans += [_line_span(text, spot) for entry, spot in section.entries if entry[: len(path)] == path]
    spans += _block_span(text, block)
    return spans or _inline_spans(text, layout, path)


def _block_span(text: str, block: list[Section]) -> list[Span]:
    """The sections with the comment that stands right above them, and the blank lines that follow."""
    if not block:
        return []
    start = text.rfind("\n", 0, block[0].start) + 1
    above = text[:start].splitlines(keepends=True)
    comments = 0
    while comments < len(above) and above[-1 - comments].lstrip().startswith("#"):
        comments += 1
    # A comment that also touches the lines above it may belong to those, so it stays.
    if comments and (comments == len(above) or not above[-1 - comments].strip()):
        start -= sum(map(len, above[-comments:]))
        above = above[:-comments]
    end = _line_end(text, block[-1].end)
    if not above or not above[-1].strip():
        while (blank := _BLANK_LINE.match(text, end)) is not None:
            end = blank.end()
    return [(start, end)]


def _line_span(text: str, spot: Spot) -> Span:
    return text.rfind("\n", 0, spot.start) + 1, _line_end(text, spot.value_end)


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


def _inline_spans(text: str, layout: TomlLayout, path: KeyPath) -> list[Span]:
    """The same for something between braces or brackets, with the comma that it needs no more."""
    doomed = sorted(
        (
            spot
            for where, spot in layout.spots.items()
            if where[: len(path)] == path and spot.kind in _WRITTEN_AS_VALUE
        ),
        key=lambda spot: spot.start,
    )
    outermost: list[Spot] = []
    for spot in doomed:
        if not outermost or spot.start >= outermost[-1].value_end:
            outermost.append(spot)
    holder = next(
        spot
        for length in range(len(path) - 1, -1, -1)
        if (spot := layout.spots[path[:length]]).kind in _WRITTEN_AS_VALUE
    )
    inside = [spot for spot in layout.spots.values() if _is_direct(spot, holder, layout.spots.values())]
    kept = [spot for spot in inside if spot not in outermost]
    if not kept:
        return [(holder.value_start + 1, holder.value_end - 1)]
    return [_member_span(text, spot, sorted(inside, key=lambda spot: spot.start)) for spot in outermost]


def _is_direct(spot: Spot, holder: Spot, all_spots: Iterable[Spot]) -> bool:
    """Whether this is a member or item of the holder itself, and not of something in between."""
    if spot.kind not in {SpotKind.MEMBER, SpotKind.ITEM} or not _lies_in(spot, holder):
        return False
    return not any(
        _lies_in(spot, other) and _lies_in(other, holder)
        for other in all_spots
        if other.kind in _WRITTEN_AS_VALUE
    )


def _lies_in(inner: Spot, outer: Spot) -> bool:
    return outer.value_start < inner.start and inner.value_end < outer.value_end


def _member_span(text: str, spot: Spot, siblings: list[Spot]) -> Span:
    number = siblings.index(spot)
    if number + 1 < len(siblings):
        return spot.start, siblings[number + 1].start
    comma = _COMMA.match(text, spot.value_end)
    before = siblings[number - 1].value_end
    if comma is None and "#" not in text[before : spot.start]:
        return before, spot.value_end
    # A comment between the two stays, and with it the comma before, which a list may have at its end.
    return spot.start, comma.end() if comma else spot.value_end
