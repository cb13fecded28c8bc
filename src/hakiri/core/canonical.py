"""One text for one value, so that equal values have equal hashes everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time

from hakiri.core.errors import HakiriError


class NotCanonical(HakiriError):
    """A value that JSON cannot say in exactly one way."""

    code = "canonical.unfit_value"

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(f"the value at `{path}` has no canonical JSON: {why}", hint="use plain JSON values")


def canonical_json(value: object) -> str:
    """The value as JSON: keys sorted by code point, no blanks, nothing escaped that need not be.

    Mappings, lists, tuples, texts, numbers, flags and None are taken; keys are texts. A moment with an
    offset is written in UTC with `Z`, so equal moments are equal texts; dates, times and moments without
    one are written as ISO 8601. Numbers are written as Python writes them, so `1` and `1.0` differ.
    Everything else, also NaN, Infinity and half a surrogate pair, raises NotCanonical.
    """
    try:
        return json.dumps(
            _plain(value, "$"), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except RecursionError:
        raise NotCanonical("$", "it is nested too deeply or holds itself") from None


def sha256_of(value: object) -> str:
    """`sha256:` and the hexadecimal hash of the value's canonical JSON in UTF-8."""
    import hashlib  # 7 ms, and most commands hash nothing

    return f"sha256:{hashlib.sha256(canonical_json(value).encode()).hexdigest()}"


def _plain(value: object, path: str) -> object:
    if isinstance(value, float) and value - value != 0:
        raise NotCanonical(path, f"`{value}` is not a number in JSON")
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return _checked_text(value, path)
    if isinstance(value, datetime):
        return _moment_text(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_checked_key(key, path): _plain(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    raise NotCanonical(path, f"`{type(value).__name__}` is not a JSON type")


def _moment_text(moment: datetime) -> str:
    if moment.tzinfo is None:
        return moment.isoformat()
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def _checked_key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise NotCanonical(path, f"the key `{key!r}` is not a text")
    return _checked_text(key, path)


def _checked_text(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotCanonical(path, "the text is not valid Unicode") from None
    return text
