"""How a task asks at the desk."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hakiri.core.clock import Clock
from hakiri.core.secrets import Secret
from hakiri.sources.desk.address import DeskAddress
from hakiri.sources.errors import TransientFailure

REPORT_SECONDS = 0.5


class _Line:
    """One connection to the desk, for one thread at a time."""

    def __init__(self, address: DeskAddress) -> None:
        self._address = address
        try:
            self._socket = address.connect()
        except OSError as error:
            raise _unreachable(address) from error
        self._socket.settimeout(None)
        self._stream = self._socket.makefile("rwb")
        if address.key:
            try:
                self.ask({"key": address.key})
            except BaseException:
                self.close()
                raise

    def ask(self, question: Mapping[str, Any]) -> Any:
        try:
            self._stream.write(json.dumps(question).encode() + b"\n")
            self._stream.flush()
            line = self._stream.readline()
        except OSError as error:
            raise _unreachable(self._address) from error
        if not line:
            raise _unreachable(self._address)
        return json.loads(line)

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


class DeskBudget:
    """The budget that is kept at the desk; safe for several threads, each on a line of its own."""

    def __init__(self, address: DeskAddress, name: str) -> None:
        self._address = address
        self._name = name
        self._idle: list[_Line] = []
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._lock:
            line = self._idle.pop() if self._idle else None
        line = line or _Line(self._address)
        try:
            line.ask({"turn": self._name})
            try:
                yield
            finally:
                line.ask({"answered": True})
        except BaseException:
            line.close()
            raise
        with self._lock:
            self._idle.append(line)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for line in idle:
            line.close()


class DeskReport:
    """Tells the desk now and then how many rows a read has given. Nobody fails because it cannot be heard."""

    def __init__(self, address: DeskAddress | None, label: str, clock: Clock) -> None:
        self._address = address if label else None
        self._label = label
        self._clock = clock
        self._line: _Line | None = None
        self._told_at = clock.monotonic()

    def rows(self, count: int) -> None:
        """That many so far."""
        now = self._clock.monotonic()
        if self._address is None or now - self._told_at < REPORT_SECONDS:
            return
        self._told_at = now
        try:
            self._line = self._line or _Line(self._address)
            self._line.ask({"rows": count, "of": self._label})
        except TransientFailure:
            self._address = None

    def close(self) -> None:
        if self._line is not None:
            self._line.close()


def desk_secrets(address: DeskAddress, names: Sequence[str]) -> dict[str, Secret]:
    """The named secrets, from a desk on this machine."""
    if not names:
        return {}
    line = _Line(address)
    try:
        answer = line.ask({"secrets": list(names)})
    finally:
        line.close()
    return {name: Secret(value) for name, value in answer["secrets"].items()}


def _unreachable(address: DeskAddress) -> TransientFailure:
    return TransientFailure(
        f"a task cannot reach the process that started it, at `{address}`",
        hint="keep that process running; on a cluster, let executors open connections to it",
    )
