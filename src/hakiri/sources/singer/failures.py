"""What it means that a tap has failed. It tells by an exit code and in the words of its log, and no more."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hakiri.sources.errors import AuthExpired, PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.singer.leash import SIGNALLED

LINES_TOLD = 3


def _status(codes: str) -> str:
    """A status of HTTP as logs write it: a number alone may be anything, a part of a path too."""
    before = r"(?:http|status|code|error|response)\W{0,3}(?:code\W{0,2})?"
    return rf"{before}(?:{codes})\b|\b(?:{codes}) (?:client|server) error"


# Singer gives codes no meaning, so the last lines of the log are all there is to tell failures apart.
_AUTH = re.compile(
    rf"{_status('401')}|unauthori[sz]ed|authentication failed|(?:invalid|bad) credentials|invalid[_ ]grant",
    re.IGNORECASE,
)
_PASSING = re.compile(
    rf"{_status('429|5[0-9][0-9]')}|timed out|time-?out|connection ?(?:reset|refused|aborted|error)"
    r"|too many requests|rate limit|temporar(?:y|ily) (?:failure|error|unavailable)|unreachable",
    re.IGNORECASE,
)
_NO_DISCOVERY = re.compile(
    r"(?:unrecognized arguments|no such option|unknown (?:option|flag)).*--?discover", re.IGNORECASE
)


def failure_of(tap: str, code: int, log: Sequence[str], *, has_given: bool) -> ReadFailed:
    """The error for a tap that has ended with this code; `has_given` if it gave rows before.

    A tap that was killed, or worked before, may work the next time. One that failed at its start will not,
    unless its log says that it could not reach its source.
    """
    words = " | ".join(log[-LINES_TOLD:])
    ended = f"was ended by signal {code - SIGNALLED}" if code > SIGNALLED else f"failed with code {code}"
    problem = f"the tap `{tap}` {ended}" + (f": {words}" if words else ", and its log is empty")
    if code <= SIGNALLED and _AUTH.search(words):
        return AuthExpired(problem, hint="check the credentials in the tap's config")
    if code > SIGNALLED or has_given or _PASSING.search(words):
        return TransientFailure(problem, hint="run it again; it goes on from the last state that was kept")
    return PermanentFailure(problem, hint="check `config`, and whether this tap needs other keys in it")


def lacks_discovery(log: Sequence[str]) -> bool:
    """Whether a tap says that it knows no `--discover`."""
    return any(_NO_DISCOVERY.search(line) for line in log)
