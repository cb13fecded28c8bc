"""Finding every key of a TOML text. `tomllib` gives values without places; this gives places without values.

Only text that `tomllib` accepted comes here, so there is no error to report and the scanner can be small.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

from hakiri.manifest.layout import KeyPath, Spot, SpotKind

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
# A date and a time may be parted by one space.
_BARE_VALUE = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^,\]}\s#]+|[^,\]}\s#]+")


@dataclass(slots=True)
class Section:
    """One header with the lines under it; the lines before the first header have the empty path."""

    path: KeyPath
    start: int
    header_end: int
    entries: list[tuple[KeyPath, Spot]] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The end of the last thing that is written here, comments after it left out."""
        return self.entries[-1][1].value_end if self.entries else self.header_end


@dataclass(frozen=True, slots=True)
class TomlLayout:
    """Every key path with its spot, and the sections in the order of the file."""

    spots: dict[KeyPath, Spot]
    sections: list[Section]


def scan_toml(text: str) -> TomlLayout:
    """Find every key of a valid TOML text."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._spots: dict[KeyPath, Spot] = {(): Spot(SpotKind.ROOT, 0, 0, len(text))}
        self._lengths: dict[KeyPath, int] = {}  # of the arrays of tables

    def scan(self) -> TomlLayout:
        sections = [Section((), 0, 0)]
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                sections.append(self._header())
            else:
                section = sections[-1]
                section.entries.append(self._pair(section.path, SpotKind.ENTRY))
            self._skip(_BLANK)
        return TomlLayout(self._spots, sections)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match.group()

    def _key(self) -> list[str]:
        """A key with its dots, and the cursor after it."""
        parts: list[str] = []
        while True:
            self._skip(_SPACES)
            bare = self._take(_BARE_KEY)
            parts.append(bare if bare is not None else tomllib.loads(f"k = {self._take(_QUOTED)}")["k"])
            self._skip(_SPACES)
            if not self._text.startswith(".", self._at):
                return parts
            self._at += 1

    def _header(self) -> Section:
        start = self._at
        is_list = self._text.startswith("[[", start)
        self._at += 2 if is_list else 1
        parts = self._key()
        self._at += 2 if is_list else 1
        spot = Spot(SpotKind.HEADER, start, start, self._at)

        path: KeyPath = ()
        for part in parts[:-1]:
            path = (*path, part)
            self._spots.setdefault(path, Spot(SpotKind.IMPLIED, start, start, self._at))
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        path = (*path, parts[-1])
        if is_list:
            self._spots.setdefault(path, spot)
            number = self._lengths.get(path, 0)
            self._lengths[path] = number + 1
            path = (*path, number)
        self._spots[path] = spot
        return Section(path, start, self._at)

    def _pair(self, base: KeyPath, kind: SpotKind) -> tuple[KeyPath, Spot]:
        start = self._at
        parts = self._key()
        for length in range(1, len(parts)):
            self._spots.setdefault((*base, *parts[:length]), Spot(SpotKind.IMPLIED, start, start, self._at))
        self._at += 1  # the equals sign
        self._skip(_SPACES)
        path = (*base, *parts)
        return path, self._value(path, kind, start)

    def _value(self, path: KeyPath, kind: SpotKind, start: int) -> Spot:
        value_start = self._at
        if self._text[value_start] == "[":
            self._list(path)
        elif self._text[value_start] == "{":
            self._table(path)
        elif self._take(_QUOTED) is None:
            self._take(_BARE_VALUE)
        spot = Spot(kind, start, value_start, self._at)
        self._spots[path] = spot
        return spot

    def _list(self, path: KeyPath) -> None:
        self._at += 1
        number = 0
        self._skip(_BLANK)
        while self._text[self._at] != "]":
            self._value((*path, number), SpotKind.ITEM, self._at)
            number += 1
            self._to_next()
        self._at += 1

    def _table(self, path: KeyPath) -> None:
        self._at += 1
        self._skip(_BLANK)
        while self._text[self._at] != "}":
            self._pair(path, SpotKind.MEMBER)
            self._to_next()
        self._at += 1

    def _to_next(self) -> None:
        self._skip(_BLANK)
        if self._text[self._at] == ",":
            self._at += 1
            self._skip(_BLANK)
