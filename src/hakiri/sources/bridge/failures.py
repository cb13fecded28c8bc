"""A typed error on its way through Spark, which carries nothing but text."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterator

from hakiri.core.errors import HakiriError, Place
from hakiri.sources.errors import ReadFailed

_SIGN = "hakiri-failure"
# What JSON gives back as it was; an error's other facts stay where it was raised.
_PLAIN = (str, int, float, type(None))
_SIGNED = re.compile(rf"{_SIGN} (\{{.*?\}})(?:\n|$)")


class TaskFailed(Exception):
    """What a task raises: one line that tells the driver which error it is."""


def told(error: HakiriError, masked: Callable[[str], str]) -> TaskFailed:
    """The error as a line of text without a secret in it, and with the traceback of what it was caused by."""
    facts = {name: value for name, value in vars(error).items() if isinstance(value, _PLAIN)}
    content = {
        "code": error.code,
        "message": masked(str(error)),
        "facts": {name: masked(value) if isinstance(value, str) else value for name, value in facts.items()},
        "places": [[place.file, place.line] for place in error.places],
        "traceback": masked("".join(traceback.format_exception(error.__cause__))) if error.__cause__ else "",
    }
    return TaskFailed(f"{_SIGN} {json.dumps(content)}")


def failure_in(text: str) -> HakiriError | None:
    """The error that a task told, if there is one in what Spark says; what caused it is in a note."""
    found = _SIGNED.search(text)
    if found is None:
        return None
    content = json.loads(found[1])
    kind = next((kind for kind in _kinds(HakiriError) if kind.code == content["code"]), ReadFailed)
    error = kind.__new__(kind, content["message"])
    vars(error).update(content["facts"], places=tuple(Place(*place) for place in content["places"]))
    if content["traceback"]:
        error.add_note(f"In a Spark task:\n{content['traceback'].rstrip()}")
    return error


def _kinds(base: type[HakiriError]) -> Iterator[type[HakiriError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
