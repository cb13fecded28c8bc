"""The push queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from hakiri.catalog.contract.push import (
    Answer,
    Change,
    ChangeKey,
    PushBatch,
    PushState,
    PushTally,
    QueuedChange,
    Route,
)
from hakiri.catalog.errors import AnswerMissing, LeaseLost
from hakiri.catalog.sql.database import Database, Row, Transaction, legible, listed, moment, sure
from hakiri.catalog.sql.push_rules import Entry, admit, choose, in_order, settle, without_rows_in_flight
from hakiri.core.ids import NodeId, SnapshotId, fresh_token

CHANGES_A_STATEMENT = 10_000
BATCH_ID_DIGITS = 32
_BEFORE_ALL = ChangeKey(-(2**63), "")
_QUEUED = (
    "sink",
    "model",
    "row_id",
    "change_type",
    "snapshot_id",
    "payload",
    "state",
    "attempts",
    "message",
    "position",
    "updated_at",
)
_DELIVERED = ("sink", "model", "row_id", "change_type", "snapshot_id", "message", "delivered_at")


class SqlPushQueue:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enqueue(self, route: Route, changes: Iterable[Change], now: datetime) -> int:
        newest = {change.key: change for change in changes}

        def work(tx: Transaction) -> int:
            if _lock(tx, route) is None:
                tx.run("add_route", **route._asdict())
            books = sure_books(_lock(tx, route))
            admitted = 0
            for part in _parts(newest):
                books, count = _admit(tx, books, part, now)
                admitted += count
            _save(tx, books)
            return admitted

        return self._database.write(work) if newest else 0
