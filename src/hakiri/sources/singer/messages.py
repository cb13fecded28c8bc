"""The lines of a tap, by the specification of Singer: one JSON object each, told apart by `type`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows import BadJson, parse_json

MOST_LETTERS_TOLD = 40


# Not dataclasses: there is one for every row, and a tuple is made four times as fast.
class Record(NamedTuple):
    """A row of a stream. When it was extracted, and its version, are not kept."""

    stream: str
    values: dict[str, Any]


class Schema(NamedTuple):
    """What the rows of a stream look like from here on."""

    stream: str
    schema: dict[str, Any]
    key: tuple[str, ...]
    bookmarks: tuple[str, ...]


class State(NamedTuple):
    """Everything before it is read: whoever starts the tap with this value reads what comes after."""

    value: Any


class Other(NamedTuple):
    """A message that brings neither rows nor a state, such as ACTIVATE_VERSION."""

    kind: str


Message: TypeAlias = Record | Schema | State | Other


def message_in(line: bytes, number: int, mask: Callable[[str], str], *, keep_digits: bool = False) -> Message:
    """What a line says; raises PermanentFailure with its number for one that is no message, or not for us."""
    found = _object_in(line, number, mask, keep_digits=keep_digits)
    kind = found.get("type")
    match kind:
        case "RECORD":
            return Record(_text(found, "stream", number), _object(found, "record", number))
        case "STATE":
            if "value" not in found:
                raise _refusal(number, "is a STATE without a `value`")
            return State(found["value"])
        case "SCHEMA":
            return Schema(
                _text(found, "stream", number),
                _object(found, "schema", number),
                _names(found, "key_properties", number),
                _names(found, "bookmark_properties", number),
            )
        case "BATCH":
            raise PermanentFailure(
                f"line {number} of the tap is a BATCH: it gives its rows as files, which are not read",
                hint="take `batch_config` out of the tap's config, so that it gives every row as a RECORD",
            )
        case str():
            return Other(kind)
        case _:
            raise _refusal(number, "is a JSON object without a `type`")


def _object_in(line: bytes, number: int, mask: Callable[[str], str], *, keep_digits: bool) -> dict[str, Any]:
    try:
        found = parse_json(line, keep_digits=keep_digits)
    except BadJson as error:
        # What does not even begin like a message was printed by mistake, and is no row of anybody's.
        is_printed = not line.lstrip().startswith(b"{")
        problem = f"is no JSON: `{_shown(line, mask)}`" if is_printed else f"is {_without_subject(error)}"
        raise _refusal(number, problem) from None
    if not isinstance(found, dict):
        raise _refusal(number, "is JSON, but no object")
    return found


def _text(found: dict[str, Any], key: str, number: int) -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise _refusal(number, f"is a {found['type']} without a `{key}`")
    return value


def _object(found: dict[str, Any], key: str, number: int) -> dict[str, Any]:
    value = found.get(key)
    if not isinstance(value, dict):
        raise _refusal(number, f"is a {found['type']} whose `{key}` is no object")
    return value


def _names(found: dict[str, Any], key: str, number: int) -> tuple[str, ...]:
    value = found.get(key) or []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _refusal(number, f"is a {found['type']} whose `{key}` is no list of names")
    return tuple(value)


def _refusal(number: int, problem: str) -> PermanentFailure:
    return PermanentFailure(
        f"line {number} of the tap {problem}",
        hint="a tap writes nothing but Singer messages to stdout; its log belongs to stderr",
    )


def _without_subject(error: BadJson) -> str:
    return str(error).removeprefix("the body is ")


def _shown(line: bytes, mask: Callable[[str], str]) -> str:
    text = " ".join(mask(line.decode(errors="replace")).replace("`", "'").split())
    return text if len(text) <= MOST_LETTERS_TOLD else text[: MOST_LETTERS_TOLD - 1] + "…"
