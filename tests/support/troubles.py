"""Services that misbehave, and a wish to stop that nobody has to wait for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.http_api import Answerer, Call, HttpApi, Reply

from hakiri.pipelines.runtime.ground import Stop


class HastyStop(Stop):
    """Waits are written down, and over at once."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self.is_asked


@dataclass(slots=True)
class Trouble:
    """Answers calls that `is_hit` with what `answer` makes of them, until it was asked `times` times.

    `hits` are the calls that ran into it.
    """

    api: HttpApi
    is_hit: Callable[[Call], bool]
    answer: Callable[[Call, Reply], Reply]
    times: int | None = None
    hits: list[Call] = field(default_factory=list)

    @contextmanager
    def __call__(self) -> Iterator[Trouble]:
        """Be in the way until the block ends."""
        whole: Answerer = self.api.answer

        def answered(call: Call) -> Reply:
            is_over = self.times is not None and len(self.hits) >= self.times
            if is_over or not self.is_hit(call):
                return whole(call)
            self.hits.append(call)
            return self.answer(call, whole(call))

        self.api.answer = answered
        try:
            yield self
        finally:
            self.api.answer = whole


def says(status: int, **headers: str) -> Callable[[Call, Reply], Reply]:
    """It answers with this status, whatever it is asked."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda call, reply: Reply(status=status, body={"message": "not now"}, headers=named)


def half_a_body(call: Call, reply: Reply) -> Reply:
    """The connection ends in the middle of the answer."""
    content = reply.content()
    return Reply(body=content, headers=reply.headers, cut_after=len(content) // 2)


def torn_json(call: Call, reply: Reply) -> Reply:
    """The answer is as long as it says, and ends in the middle of a record."""
    content = reply.content()
    return Reply(body=content[: len(content) // 2], headers=reply.headers)


def hangs_up(call: Call, reply: Reply) -> Reply:
    """The connection is closed without a word."""
    raise ConnectionError


def every_record(change: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> Callable[[Call, Reply], Reply]:
    """What it gives is not what it has: each record becomes these."""

    def changed(call: Call, reply: Reply) -> Reply:
        records = json.loads(reply.content())
        return Reply(body=[other for record in records for other in change(record)], headers=reply.headers)

    return changed
