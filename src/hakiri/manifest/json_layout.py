"""Finding every key of a JSON text. Only text that `json` accepted comes here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from hakiri.manifest.layout import KeyPath, Spot, SpotKind

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_BARE_VALUE = re.compile(r"[^,\]}\s]+")


@dataclass(frozen=True, slots=True)
class JsonLayout:
    """Every key path with its spot, and the keys that an object gives a second time."""

    spots: dict[KeyPath, Spot]
    repeated: list[tuple[KeyPath, Spot]]


def scan_json(text: str) -> JsonLayout:
    """Find every key of a valid JSON text."""
    scanner = _Scanner(text)
    scanner.value((), SpotKind.ROOT)
    return JsonLayout(scanner.spots, scanner.repeated)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.spots: dict[KeyPath, Spot] = {}
        self.repeated: list[tuple[KeyPath, Spot]] = []

    def value(self, path: KeyPath, kind: SpotKind, start: int | None = None) -> None:
        self._skip()
        value_start = self._at
        match self._text[value_start]:
            case "[":
                self._list(path)
            case "{":
                self._object(path)
            case '"':
                self._take(_STRING)
            case _:
                self._take(_BARE_VALUE)
        spot = Spot(kind, value_start if start is None else start, value_start, self._at)
        if path in self.spots:
            self.repeated.append((path, spot))
        else:
            self.spots[path] = spot

    def _skip(self) -> None:
        self._take(_BLANK)

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match.group()

    def _list(self, path: KeyPath) -> None:
        self._at += 1
        number = 0
        self._skip()
        while self._text[self._at] != "]":
            self.value((*path, number), SpotKind.ITEM)
            number += 1
            self._to_next()
        self._at += 1

    def _object(self, path: KeyPath) -> None:
        self._at += 1
        self._skip()
        while self._text[self._at] != "}":
            start = self._at
            key = json.loads(self._take(_STRING))
            self._skip()
            self._at += 1  # the colon
            self.value((*path, key), SpotKind.MEMBER, start)
            self._to_next()
        self._at += 1

    def _to_next(self) -> None:
        self._skip()
        if self._text[self._at] == ",":
            self._at += 1
            self._skip()
