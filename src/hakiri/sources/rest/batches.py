"""Portions of records joined into batches that are worth a file, while the next one is on its way."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeAlias

import pyarrow as pa

from hakiri.core.clock import Clock
from hakiri.sources.contract import Batch, Cursor
from hakiri.sources.errors import ReadFailed
from hakiri.sources.rejects import Reject
from hakiri.sources.rest.reading import Portion

Portions: TypeAlias = Generator[Portion, None, None]
Settle: TypeAlias = Callable[[list[dict[str, Any]]], tuple[pa.RecordBatch, tuple[Reject, ...]]]

ENOUGH_BYTES = 8 * 2**20
# Of a slow API what was read is worth keeping earlier: it may be most of an hour's calls.
ENOUGH_SECONDS = 30.0


def one_ahead(portions: Portions) -> Portions:
    """The same portions; each is fetched while the one before it is worked on."""
    with closing(portions), ThreadPoolExecutor(1, thread_name_prefix="rest-page") as pool:
        coming = pool.submit(next, portions, None)
        while (portion := coming.result()) is not None:
            coming = pool.submit(next, portions, None)
            yield portion


def joined(
    portions: Portions,
    settle: Settle,
    *,
    before: Cursor,
    clock: Clock,
    enough_records: int,
    limit: int | None,
) -> Iterator[Batch]:
    """Batches of these portions, each with the cursor of its last one; `before` is that of the read.

    A failure comes after a batch of what was read before it. An empty batch is given only at the end, and
    only to say another cursor.
    """
    pending = _Pending(before, clock, enough_records)
    given = 0
    try:
        with closing(portions):
            for portion in portions:
                if portion.records and pending.is_enough():
                    given += len(pending.records)
                    yield pending.taken(settle)
                pending.add(portion)
                if limit is not None and given + len(pending.records) >= limit:
                    break
    except ReadFailed:
        if pending.records:
            yield pending.taken(settle)
        raise
    if pending.records or pending.is_news:
        yield pending.taken(settle)


class _Pending:
    """What was read and not given yet."""

    def __init__(self, before: Cursor, clock: Clock, enough_records: int) -> None:
        self._enough_records = enough_records
        self.records: list[dict[str, Any]] = []
        self._size_bytes = 0
        self._cursor, self._given = before, before
        self._clock = clock
        self._since = clock.monotonic()

    @property
    def is_news(self) -> bool:
        return self._cursor != self._given

    def is_enough(self) -> bool:
        return bool(self.records) and (
            len(self.records) >= self._enough_records
            or self._size_bytes >= ENOUGH_BYTES
            or self._clock.monotonic() - self._since >= ENOUGH_SECONDS
        )

    def add(self, portion: Portion) -> None:
        # Not +=, since the records belong to the page that they came with.
        self.records = [*self.records, *portion.records] if self.records else portion.records
        self._size_bytes += portion.size_bytes
        if portion.cursor is not None:
            self._cursor = portion.cursor

    def taken(self, settle: Settle) -> Batch:
        rows, rejects = settle(self.records)
        batch = Batch(rows=rows, rejects=rejects, cursor=self._cursor if self.is_news else None)
        self.records, self._size_bytes = [], 0
        self._given, self._since = self._cursor, self._clock.monotonic()
        return batch
