"""A typed error on its way through Spark, which carries nothing but text."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from hakiri.core.errors import HakiriError, Place
from hakiri.sources.errors import PermanentFailure, RateLimited, ReadFailed

_SIGN = "hakiri-failure"
_SIGNED = re.compile(rf"{_SIGN} (\{{.*?\}})(?:\n|$)")


class TaskFailed(Exception):
    """What a task raises: one line that tells the driver which error it is."""


def told(error: Exception, mask: Callable[[str], str]) -> TaskFailed:
    """The error as a line of text without a secret in it."""
    if isinstance(error, TaskFailed):
        return error
    if not isinstance(error, HakiriError):
        error = _from_a_bug(error)
    content = {
        "code": error.code,
        "message": mask(str(error)),
        "hint": mask(error.hint),
        "seconds": error.seconds if isinstance(error, RateLimited) else None,
        "places": [[place.file, place.line] for place in error.places],
    }
    return TaskFailed(f"{_SIGN} {json.dumps(content)}")


def failure_in(text: str) -> HakiriError | None:
    """The error that a task told, if there is one in what Spark says."""
    found = _SIGNED.search(text)
    if found is None:
        return None
    content = json.loads(found[1])
    kind = next((kind for kind in _kinds(HakiriError) if kind.code == content["code"]), ReadFailed)
    error = kind.__new__(kind)
    HakiriError.__init__(
        error, content["message"], hint=content["hint"], places=[Place(*place) for place in content["places"]]
    )
    if isinstance(error, RateLimited):
        error.seconds = float(content["seconds"])
    return error


def _from_a_bug(error: Exception) -> PermanentFailure:
    """An error that a connector did not mean to raise, with the last line of code that was on its way."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return PermanentFailure(
        f"the connector failed with {type(error).__name__}: {error}{where}",
        hint="this is a fault of the connector; raise TransientFailure for what may work the next time",
    )


def _kinds(base: type[HakiriError]) -> Iterator[type[HakiriError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
