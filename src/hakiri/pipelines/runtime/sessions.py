"""One Spark session for all threads of a run, opened when somebody needs it and anew when it is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

    OpenSession = Callable[[], AbstractContextManager[SparkSession]]


class Sessions:
    """The session of this process. Nothing of Spark is started before the first `get`."""

    def __init__(self, open_session: OpenSession) -> None:
        self._open = open_session
        self._lock = threading.Lock()
        self._current: SparkSession | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def is_open(self) -> bool:
        return self._current is not None

    def get(self) -> SparkSession:
        """The session; the first caller waits until it is open."""
        with self._lock:
            if self._current is None:
                self._current = self._stack.enter_context(self._open())
            return self._current

    def rest(self) -> None:
        """Let go of the session because nobody needs it for a while; the next `get` opens another."""
        if (session := self._current) is not None:
            self.lose(session)

    def lose(self, session: SparkSession) -> None:
        """Let go of a session, whose server may be gone; the next `get` opens another. Twice is once."""
        with self._lock:
            if self._current is not session:
                return
            self._current = None
            stack, self._stack = self._stack, ExitStack()
        with suppress(Exception):  # it is lost already, and whoever lost it tells why
            stack.close()
