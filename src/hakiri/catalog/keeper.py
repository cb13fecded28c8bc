"""Holding on to what is being worked on: leases of chunks and of pipelines are renewed while work goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import TracebackType
from typing import Self

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.errors import CatalogError, LeaseLost
from hakiri.core.clock import Clock
from hakiri.core.ids import ChunkId, PipelineId

# Three tries before a lease runs out: one answer may be lost, and one may be late.
_TRIES = 3

_Key = tuple[PipelineId, ChunkId, int]


class LeaseKeeper:
    """Renews, in a thread of its own, every lease it was given until it is told to drop it.

    A lease that was lost is dropped, and `on_lost` is told of the attempt. Whoever works on that finds out at
    the commit at the latest: the catalog refuses it.
    """

    def __init__(
        self, catalog: Catalog, clock: Clock, ttl: timedelta, *, on_lost: Callable[[ChunkAttempt], None]
    ) -> None:
        self._catalog = catalog
        self._clock = clock
        self._ttl = ttl
        self._on_lost = on_lost
        self._attempts: dict[_Key, ChunkAttempt] = {}
        self._leases: dict[PipelineId, Lease] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="hakiri-leases", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def hold(self, attempts: Iterable[ChunkAttempt]) -> None:
        with self._lock:
            self._attempts.update({_key(attempt): attempt for attempt in attempts})

    def drop(self, attempts: Iterable[ChunkAttempt]) -> None:
        with self._lock:
            for attempt in attempts:
                self._attempts.pop(_key(attempt), None)

    def hold_pipeline(self, lease: Lease) -> None:
        with self._lock:
            self._leases[lease.pipeline] = lease

    def drop_pipeline(self, pipeline: PipelineId) -> None:
        with self._lock:
            self._leases.pop(pipeline, None)

    def _keep(self) -> None:
        while not self._stopped.wait(self._ttl.total_seconds() / _TRIES):
            try:
                self._renew()
            except CatalogError:
                continue  # tried again in time; whoever works meets the same error when it commits

    def _renew(self) -> None:
        with self._lock:
            attempts, leases = list(self._attempts.values()), list(self._leases.values())
        now = self._clock.now()
        for lease in leases:
            try:
                self._catalog.leases.renew(lease, now, self._ttl)
            except LeaseLost:
                self.drop_pipeline(lease.pipeline)
        if not attempts:
            return
        kept = {_key(attempt) for attempt in self._catalog.queue.renew_some(attempts, now, self._ttl)}
        lost = [attempt for attempt in attempts if _key(attempt) not in kept]
        for attempt in lost:
            with self._lock:
                was_held = self._attempts.pop(_key(attempt), None) is not None
            if was_held:
                self._on_lost(attempt)


def _key(attempt: ChunkAttempt) -> _Key:
    return attempt.pipeline, attempt.chunk, attempt.number
