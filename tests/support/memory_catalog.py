"""A catalog in memory, made of the model: right, or wrong in one way, to see whether the checks notice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from inspect import Signature, signature
from types import SimpleNamespace
from typing import Any, get_type_hints

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.testing.calls import Call, Refusal
from hakiri.catalog.testing.pipeline_model import PipelineModel, new_pipeline, predict
from hakiri.core.ids import PipelineId

A_MOMENT_SECONDS = 0.0005  # long enough for another thread to come in between


def let_others_in() -> None:
    threading.Event().wait(A_MOMENT_SECONDS)


@dataclass(frozen=True)
class Handle:
    """Looks like a catalog: `handle.queue.claim(...)` is one call of `answer`."""

    answer: Callable[[Call], object]

    def check(self) -> tuple[()]:
        return ()

    def __getattr__(self, role: str) -> Any:
        return _Role(self.answer, role)


@dataclass(frozen=True)
class _Role:
    answer: Callable[[Call], object]
    role: str

    def __getattr__(self, method: str) -> Any:
        signature = _signature(self.role, method)

        def call(*positional: object, **named: object) -> object:
            given = signature.bind(self, *positional, **named).arguments
            return self.answer(
                Call(self.role, method, {name: given[name] for name in given if name != "self"})
            )

        return call


@cache
def _signature(role: str, method: str) -> Signature:
    kind = get_type_hints(getattr(Catalog, role).fget)["return"]
    return signature(getattr(kind, method))


class MemoryCatalog:
    """Keeps every promise. Broken ones are made by overriding a part of it."""

    def __init__(self) -> None:
        self.pipelines: dict[PipelineId, PipelineModel] = {}
        self.lock = threading.RLock()
        self.numbers = 0

    def handle(self) -> Any:
        return Handle(self.answer)

    def answer(self, call: Call) -> object:
        with self.lock:
            model = self.read(call)
            after, answer = predict(model, call, self.chosen(call))
            self.write(call, after)
            return answer

    def read(self, call: Call) -> PipelineModel:
        return self.pipelines.get(call.pipeline) or new_pipeline(call.pipeline)

    def write(self, call: Call, after: PipelineModel) -> None:
        self.pipelines[call.pipeline] = after

    def chosen(self, call: Call) -> object:
        """The nonces and numbers that the catalog chooses by itself."""
        if call.method == "claim_some":
            return tuple(self.fresh() for _ in range(call.arguments["limit"]))
        return self.fresh()

    def fresh(self) -> SimpleNamespace:
        with self.lock:
            self.numbers += 1
            return SimpleNamespace(nonce=f"nonce-{self.numbers}", seq=self.numbers)


class ClaimsBeforeLocking(MemoryCatalog):
    """Looks for an open chunk first, and locks the pipeline only to write down what it found."""

    def answer(self, call: Call) -> object:
        if call.method != "claim":
            return super().answer(call)
        after, answer = predict(self.read(call), call, self.fresh())
        let_others_in()
        with self.lock:
            self.write(call, replace(self.read(call), chunks=after.chunks))
            return answer


class ReadsStale(MemoryCatalog):
    """Answers every other read of a pipeline from what the last read found."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[PipelineId, PipelineModel] = {}

    def read(self, call: Call) -> PipelineModel:
        if "now" in call.arguments or call.method == "release":
            return super().read(call)
        cached = self.cache.pop(call.pipeline, None)
        if cached is None:
            cached = self.cache[call.pipeline] = super().read(call)
        return cached

    def write(self, call: Call, after: PipelineModel) -> None:
        if "now" in call.arguments or call.method == "release":
            super().write(call, after)


class LosesWrites(MemoryCatalog):
    """Forgets one cursor in five that it said it keeps."""

    puts = 0

    def write(self, call: Call, after: PipelineModel) -> None:
        self.puts += call.method == "put"
        if call.method != "put" or self.puts % 5:
            super().write(call, after)


class TearsCommits(MemoryCatalog):
    """Shows a chunk as done before the cursor that comes with it is written."""

    def write(self, call: Call, after: PipelineModel) -> None:
        if call.method == "commit":
            super().write(call, replace(after, cursors=self.read(call).cursors))
            self.lock.release()
            let_others_in()
            self.lock.acquire()
            after = replace(self.read(call), cursors=after.cursors)
        super().write(call, after)


class ForgetsFences(MemoryCatalog):
    """Forgets a lease when it is released, so that the next fence is 1 again."""

    def write(self, call: Call, after: PipelineModel) -> None:
        super().write(call, replace(after, lease=None) if after.is_released else after)


class BelievesTheOld(MemoryCatalog):
    """Lets an attempt commit that another one has overtaken."""

    def answer(self, call: Call) -> object:
        with self.lock:
            answer = super().answer(call)
            if call.method != "commit" or answer is None:
                return answer
            attempt, model = call.arguments["attempt"], self.read(call)
            held = model.chunks.find(attempt.chunk)
            if held is None or held.chunk.status is not ChunkStatus.RUNNING or held.attempt is None:
                return answer
            latest = Call("queue", "commit", {**call.arguments, "attempt": held.attempt})
            return super().answer(latest)


class IgnoresLeases(MemoryCatalog):
    """Lets anybody write who once held the lease."""

    def answer(self, call: Call) -> object:
        with self.lock:
            answer = super().answer(call)
            current = self.read(call).lease
            if not isinstance(answer, Refusal) or not call.arguments.get("under") or current is None:
                return answer
            return super().answer(Call(call.role, call.method, {**call.arguments, "under": current}))


class NumbersByHandle(MemoryCatalog):
    """Has each handle draw ten numbers at a time, as a sequence with a cache does."""

    def handle(self) -> Any:
        with self.lock:
            self.numbers += 1_000
            own = iter(range(self.numbers, self.numbers + 1_000))

        def fresh() -> SimpleNamespace:
            number = next(own)
            return SimpleNamespace(nonce=f"nonce-{number}", seq=number)

        def answer(call: Call) -> object:
            with self.lock:
                limit = call.arguments.get("limit") if call.method == "claim_some" else None
                chosen = fresh() if limit is None else tuple(fresh() for _ in range(limit))
                after, answer = predict(self.read(call), call, chosen)
                self.write(call, after)
                return answer

        return Handle(answer)


class IgnoresTheCap(MemoryCatalog):
    """Counts the chunks being worked on before it locks the pipeline."""

    def answer(self, call: Call) -> object:
        if call.method != "claim" or call.arguments.get("parallelism") is None:
            return super().answer(call)
        parallelism, now = call.arguments["parallelism"], call.arguments["now"]
        is_full = self.read(call).chunks.next_open(now, parallelism) is None
        let_others_in()
        return super().answer(
            Call("queue", "claim", {**call.arguments, "parallelism": 0 if is_full else None})
        )


BROKEN = (
    ClaimsBeforeLocking,
    ReadsStale,
    LosesWrites,
    TearsCommits,
    ForgetsFences,
    BelievesTheOld,
    IgnoresLeases,
    NumbersByHandle,
    IgnoresTheCap,
)
