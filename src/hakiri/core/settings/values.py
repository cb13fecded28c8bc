"""The kinds of value a setting may have: how each is read from text or a manifest, and how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hakiri.core.grammar.durations import Duration
from hakiri.core.grammar.sizes import Size
from hakiri.core.grammar.text import BadText
from hakiri.core.secrets import MASK, Secret, mask_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Kind = Literal["text", "flag", "count", "duration", "size", "name", "names", "table"]
KIND_WRITTEN_AS = {
    "text": "a text",
    "flag": "`true` or `false`",
    "count": "a whole number from 1 to 10000",
    "duration": "a text like `15m`",
    "size": "a text like `2GB`",
    "name": "letters, digits, `.`, `-` and `_`, a letter or digit first",
    "names": "names of variables with commas between",
    "table": "a table",
}
LARGEST_COUNT = 10_000
LONGEST_NAME = 63
FLAG_WORDS = {"true": True, "yes": True, "on": True, "1": True} | dict.fromkeys(
    ("false", "no", "off", "0"), False
)
# Spark hides the same keys in its own pages (spark.redaction.regex).
SENSITIVE_WORDS = ("secret", "password", "passwd", "token", "access.key", "accesskey", "credential")


def read_text(kind: Kind, text: str, choices: Sequence[str] = ()) -> object:
    """The value that a flag or an environment variable holds; raises BadText."""
    if kind == "text":
        return _read_choice(text, choices)
    return _READERS[kind](text)


def read_manifest_value(kind: Kind, value: object, choices: Sequence[str] = ()) -> object:
    """The value that a manifest holds, as TOML types it or already parsed; raises BadText."""
    if kind == "table":
        return dict(flattened(value))
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "count":
        return _read_count(value, str(value))
    if kind == "names" and isinstance(value, list | tuple):
        return _read_names(value, str(value))
    if kind in {"text", "duration", "size", "name"} and isinstance(value, str):
        return read_text(kind, value, choices)
    if (kind == "duration" and isinstance(value, Duration)) or (kind == "size" and isinstance(value, Size)):
        return value
    raise _refusal(kind, f'"{value}"' if isinstance(value, str) else str(value), KIND_WRITTEN_AS[kind])


def flattened(value: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The entries of a table with dotted keys and texts for values, as Spark wants them.

    An unquoted `spark.sql.shuffle.partitions = 8` is a nest of tables in TOML; it means one entry.
    """
    from collections.abc import Mapping

    if not isinstance(value, Mapping):
        raise _refusal("table", _blanked(str(value)), KIND_WRITTEN_AS["table"])
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from flattened(item, f"{prefix}{key}.")
        elif isinstance(item, bool):
            yield f"{prefix}{key}", "true" if item else "false"
        elif isinstance(item, str | int | float):
            yield f"{prefix}{key}", str(item)
        else:
            raise _refusal("plain entry", f"{prefix}{key}", "a text, a number or a flag")


def shown_value(value: object) -> str:
    """The value as text for people, with the passwords and tokens of URLs masked."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, tuple):
        return ", ".join(value) or "(none)"
    return mask_url(str(value))


def is_sensitive_key(key: str) -> bool:
    """Whether the name of a Spark setting or URL parameter says that its value is a secret."""
    lower = key.lower()
    return any(word in lower for word in SENSITIVE_WORDS)


def mask_url(text: str) -> str:
    """The URL without its password and without parameters that are secrets; other texts stay as they are."""
    return mask_spans(text, _secret_spans(text))


def hidden_in_url(text: str) -> tuple[str, ...]:
    """The password and the secret parameters of the URL, as they are written in it."""
    return tuple(text[start:end] for start, end in _secret_spans(text))


def _secret_spans(url: str) -> list[tuple[int, int]]:
    import re

    _, mark, rest = url.partition("://")
    if not mark:
        return []
    start = len(url) - len(rest)
    parameters = re.compile(r"[?&;#]([^=?&;#]*)=([^&;]*)").finditer(url, start)
    spans = [match.span(2) for match in parameters if is_sensitive_key(match[1])]
    # Everything up to the last `@` counts as user and password: some drivers take a password with `/` or
    # `?` in it unquoted, and masking too much is better than too little.
    at = url.rfind("@", start)
    colon = url.find(":", start, max(at, start))
    if colon >= 0:
        spans.append((colon + 1, at))
    return [(first, end) for first, end in spans if first < end]


def _read_flag(text: str) -> bool:
    if text.lower() not in FLAG_WORDS:
        raise _refusal("flag", text, KIND_WRITTEN_AS["flag"])
    return FLAG_WORDS[text.lower()]


def _read_count_text(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST_COUNT))
    return _read_count(int(text) if is_number else None, text)


def _read_count(value: object, text: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_COUNT:
        raise _refusal("count", text, KIND_WRITTEN_AS["count"])
    return value


def _read_name(text: str) -> str:
    """A name that is safe as one part of a path on every file system."""
    import re

    if not re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}", text):
        raise _refusal("name", text, KIND_WRITTEN_AS["name"])
    return text


def _read_names_text(text: str) -> tuple[str, ...]:
    return _read_names(text.split(","), text)


def _read_names(names: Sequence[object], text: str) -> tuple[str, ...]:
    read = [name.strip() if isinstance(name, str) else "" for name in names]
    if not all(name.isascii() and name.isidentifier() for name in read):
        raise _refusal("names", text, KIND_WRITTEN_AS["names"])
    return tuple(dict.fromkeys(read))


def _read_table(text: str) -> Mapping[str, str]:
    import json

    try:
        return dict(flattened(json.loads(text)))
    except ValueError as error:
        raise _refusal("table", _blanked(text), "a JSON object", position=getattr(error, "pos", 0)) from None


def _blanked(text: str) -> str:
    """The shape of a text without its content: a table may hold secrets, and errors are printed."""
    return "".join("x" if character.isalnum() else character for character in text)


def _read_choice(text: str, choices: Sequence[str]) -> str:
    if choices and text not in choices:
        raise _refusal("choice", text, f"one of {', '.join(choices)}")
    return text


def _refusal(kind: str, text: str, expected: str, *, position: int = 0) -> BadText:
    hint = f"write {expected}"
    return BadText(kind, text, position=position, found=text[position:], expected=expected, hint=hint)


_READERS: Mapping[Kind, Callable[[str], object]] = {
    "flag": _read_flag,
    "count": _read_count_text,
    "duration": Duration.parse,
    "size": Size.parse,
    "name": _read_name,
    "names": _read_names_text,
    "table": _read_table,
}
