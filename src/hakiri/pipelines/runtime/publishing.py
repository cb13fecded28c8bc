"""Views follow commits, without a commit having to wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from hakiri.core.errors import HakiriError
from hakiri.core.ids import TableName
from hakiri.pipelines.errors import ViewsBehind
from hakiri.pipelines.runtime.steps import Reached, Step
from hakiri.store.publishing import Publisher


class Publishing:
    """Publishes tables in a thread of its own, each as soon as possible after it changed.

    While one publication goes on, further commits gather, and one more covers them all. Leaving the block
    waits for the last. A table that cannot be published hides no other, and is tried again when it is marked
    again; who waited for it asks whether it is `behind`. A bug is raised where the block ends.
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
        self._behind: dict[TableName, HakiriError | OSError] = {}
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
        changed = set(tables)
        if not changed:
            return
        with self._wake:
            self._changed |= changed
            self._marks += 1
            self._wake.notify_all()

    def wait(self) -> None:
        """Wait until readers see whatever was marked before, or it is known that they cannot."""
        with self._wake:
            marks = self._marks
            self._wake.wait_for(lambda: self._marks_done >= marks or self._failure is not None)

    def behind(self, pipeline: str, tables: Iterable[TableName]) -> ViewsBehind | None:
        """What keeps readers from seeing what was committed to one of these tables, if anything does."""
        with self._wake:
            known = [(table, self._behind[table]) for table in tables if table in self._behind]
        return ViewsBehind.of(pipeline, *known[0]) if known else None

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
                behind = self._published(tables)
                seen = tuple(table for table in tables if table not in behind)
                if seen:
                    self._reached(Step.VIEWS_PUBLISHED)
                    self._told(seen)
            except BaseException as error:
                with self._wake:
                    self._failure = error  # raised where the block ends; views can be derived again any time
                    self._wake.notify_all()
                return
            with self._wake:
                self._behind = {
                    table: why for table, why in self._behind.items() if table not in tables
                } | behind
                self._marks_done = marks
                self._wake.notify_all()

    def _published(self, tables: tuple[TableName, ...]) -> dict[TableName, HakiriError | OSError]:
        """Publish them, all at once or else each on its own; those that could not be, and why."""
        try:
            self._publisher.publish(tables)
        except (HakiriError, OSError) as error:
            if len(tables) == 1:
                return {tables[0]: error}
        else:
            return {}
        return {table: why for each in tables for table, why in self._published((each,)).items()}
