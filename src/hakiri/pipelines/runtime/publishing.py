"""Views follow commits, without a commit having to wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from hakiri.core.ids import TableName
from hakiri.pipelines.runtime.steps import Reached, Step
from hakiri.store.publishing import Publisher


class Publishing:
    """Publishes tables in a thread of its own, each as soon as possible after it changed.

    While one publication goes on, further commits gather, and one more covers them all. Leaving the block
    waits for the last; what went wrong is raised there.
    """

    def __init__(
        self, publisher: Publisher, reached: Reached, told: Callable[[tuple[TableName, ...]], None]
    ) -> None:
        self._publisher = publisher
        self._reached = reached
        self._told = told
        self._changed: set[TableName] = set()
        self._marks = self._marks_done = 0
        self._wake = threading.Condition()
        self._is_ending = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="hakiri-views", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._wake:
            self._is_ending = True
            self._wake.notify_all()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def mark(self, tables: Iterable[TableName]) -> None:
        """These tables have changed in the catalog."""
        with self._wake:
            self._changed.update(tables)
            self._marks += 1
            self._wake.notify_all()

    def wait(self) -> None:
        """Wait until readers see whatever was marked before, or it is known that they cannot."""
        with self._wake:
            marks = self._marks
            self._wake.wait_for(lambda: self._marks_done >= marks or self._failure is not None)

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._changed and not self._is_ending:
                    self._wake.wait()
                if not self._changed:
                    return
                tables, marks = tuple(sorted(self._changed)), self._marks
                self._changed.clear()
            try:
                self._reached(Step.VIEWS_STARTED)
                self._publisher.publish(tables)
                self._reached(Step.VIEWS_PUBLISHED)
                self._told(tables)
            except BaseException as error:
                with self._wake:
                    self._failure = error  # raised where the block ends; views can be derived again any time
                    self._wake.notify_all()
                return
            with self._wake:
                self._marks_done = marks
                self._wake.notify_all()
