"""Types written as text: a strict part of Spark's grammar, without defaults, comments or anything else.

Spark reads such text with its SQL parser. What does not fit the grammar here never gets there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hakiri.transforms.verify.limits import DEEPEST_TYPE, LONGEST_TEXT_BYTES
from hakiri.transforms.verify.words import words

_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|`(?:[^`]|``)+`|\d+|[<>(),:])", re.ASCII)
_SIMPLE = words("""
    boolean byte tinyint short smallint int integer long bigint float real double date timestamp
    timestamp_ntz timestamp_ltz string binary variant void null decimal dec numeric time
    """)
_WITH_NUMBERS = {"decimal": 2, "dec": 2, "numeric": 2, "char": 1, "character": 1, "varchar": 1, "time": 1}
_NEEDS_NUMBER = frozenset({"char", "character", "varchar"})
_INTERVAL_FIELDS = words("year month day hour minute second")
_JSON_KEYS = {
    "struct": {"type", "fields"},
    "array": {"type", "elementType", "containsNull"},
    "map": {"type", "keyType", "valueType", "valueContainsNull"},
}
_FIELD_KEYS = frozenset({"name", "type", "nullable", "metadata"})


class _NotAType(Exception):
    """The text leaves the grammar here."""


def is_type(text: str) -> bool:
    """Whether a text is one type, such as `decimal(10, 2)` or `array<struct<a: int>>`."""
    return _reads(text, lambda tokens: tokens.type())


def is_schema(text: str) -> bool:
    """Whether a text is a type, a list of columns such as `a int, b string`, or Spark's JSON for a type."""
    if text.lstrip().startswith("{"):
        return _is_json_type(text)
    return is_type(text) or _reads(text, lambda tokens: tokens.fields(end=None))


def _reads(text: str, read: Any) -> bool:
    try:
        tokens = _Tokens(text)
        read(tokens)
        tokens.expect_end()
    except _NotAType:
        return False
    return True


class _Tokens:
    """Reads a type from the left. Every method raises _NotAType where the text leaves the grammar."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens_of(text))
        self._next = 0
        self._depth = 0

    def type(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST_TYPE:
            raise _NotAType
        self._one_type(self._take().lower())
        self._depth -= 1

    def _one_type(self, name: str) -> None:
        if name in ("array", "map", "struct"):
            self._expect("<")
            if name == "struct":
                self.fields(end=">")
                return
            self.type()
            if name == "map":
                self._expect(",")
                self.type()
            self._expect(">")
        elif name == "interval":
            self._interval()
        elif name in _WITH_NUMBERS and self._peek() == "(":
            self._numbers(_WITH_NUMBERS[name])
        elif name not in _SIMPLE or name in _NEEDS_NUMBER:
            raise _NotAType
        elif name == "string" and self._peek() == "collate":
            self._take()
            self._name()

    def fields(self, *, end: str | None) -> None:
        if end is not None and self._peek() == end:
            self._take()
            return
        while True:
            self._name()
            if self._peek() == ":":
                self._take()
            self.type()
            if self._peek() == "not":
                self._take()
                self._expect("null")
            if self._peek() != ",":
                break
            self._take()
        if end is not None:
            self._expect(end)

    def expect_end(self) -> None:
        if self._next != len(self._tokens):
            raise _NotAType

    def _interval(self) -> None:
        if self._peek() in _INTERVAL_FIELDS:
            self._take()
            if self._peek() == "to":
                self._take()
                if self._take().lower() not in _INTERVAL_FIELDS:
                    raise _NotAType

    def _numbers(self, most: int) -> None:
        self._expect("(")
        for count in range(1, most + 1):
            if not self._take().isdigit():
                raise _NotAType
            if count < most and self._peek() == ",":
                self._take()
            else:
                break
        self._expect(")")

    def _name(self) -> None:
        taken = self._take()
        if not (taken[0].isalpha() or taken[0] in "_`"):
            raise _NotAType

    def _peek(self) -> str:
        return self._tokens[self._next].lower() if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        if self._next >= len(self._tokens):
            raise _NotAType
        self._next += 1
        return self._tokens[self._next - 1]

    def _expect(self, wanted: str) -> None:
        if self._take().lower() != wanted:
            raise _NotAType


def _tokens_of(text: str) -> Iterator[str]:
    if len(text) > LONGEST_TEXT_BYTES:
        raise _NotAType
    at, end = 0, len(text.rstrip(" \t\r\n"))
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _NotAType
        yield match[1]
        at = match.end()


def _is_json_type(text: str) -> bool:
    try:
        return len(text) <= LONGEST_TEXT_BYTES and _is_type_value(json.loads(text, object_pairs_hook=_unique))
    except (ValueError, RecursionError, _NotAType):
        return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of two equal keys Python keeps the last, and whoever reads the text next may keep the first.
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotAType
    return found


def _is_type_value(value: Any, depth: int = 0) -> bool:
    if depth > DEEPEST_TYPE:
        return False
    if isinstance(value, str):
        return "<" not in value and is_type(value)
    keys = _JSON_KEYS.get(str(value.get("type"))) if isinstance(value, dict) else None
    if keys is None or value.keys() - keys:
        return False
    inner = [value[key] for key in ("elementType", "keyType", "valueType") if key in value]
    fields = value.get("fields", [])
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        return False
    # Metadata can hold a default value, which is SQL again.
    if any(field.keys() - _FIELD_KEYS or field.get("metadata") for field in fields):
        return False
    inner += [field.get("type") for field in fields]
    return all(_is_type_value(each, depth + 1) for each in inner)
