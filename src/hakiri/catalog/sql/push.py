"""The push queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

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
from hakiri.catalog.sql.database import Database, Row, Transaction, legible, listed, moment, parts_of, sure
from hakiri.catalog.sql.push_route import RouteState, lock_route, save_route
from hakiri.catalog.sql.push_rules import Entry, admit, choose, in_order, settle, without_rows_in_flight
from hakiri.core.ids import NodeId, SnapshotId, fresh_nonce

CHANGES_A_STATEMENT = 10_000
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
            state = lock_route(tx, route)
            if state is None:
                tx.run("add_route", **route._asdict())
                state = lock_route(tx, route) or RouteState(route=route)
            admitted = 0
            parts = [dict(part) for part in parts_of(newest.items(), CHANGES_A_STATEMENT)]
            for number, part in enumerate(parts):
                state, count = _admit(tx, state, part, now)
                admitted += count
                # After the first part for all that follow, after the last one for the claims.
                if len(newest) >= CHANGES_A_STATEMENT and number in (0, len(parts) - 1):
                    tx.run("learn_queue")
            save_route(tx, state)
            return admitted

        return self._database.write(work) if newest else 0

    def claim(
        self, route: Route, node: NodeId, now: datetime, *, limit: int, ttl: timedelta
    ) -> PushBatch | None:
        if limit < 1:
            raise ValueError(f"a batch has room for one change or more, not for {limit}")
        fresh = fresh_nonce()

        def work(tx: Transaction) -> PushBatch | None:
            known = lock_route(tx, route)
            if known is None:
                return None
            expired, state = _expired_batch(tx, known, now)
            if expired is not None:
                # Where to look for the next one is left as it is: others may have run out at the same time.
                row = tx.one("take_over_batch", batch=expired, node=node, until=now + ttl)
                return _batch(tx, route, sure(row))
            chosen, state = _next_changes(tx, state, limit)
            row = None
            if chosen:
                row = tx.one("add_batch", **route._asdict(), batch=fresh, node=node, until=now + ttl)
                tx.run("send_changes", **route._asdict(), batch=fresh, changes=_listed(chosen), now=now)
                state = state.sent(len(chosen), until=now + ttl)
            if state != known:
                save_route(tx, state)
            return None if row is None else _batch(tx, route, row)

        return self._database.write(work)

    def note_job(self, batch: PushBatch, job: str, now: datetime, ttl: timedelta) -> PushBatch:
        def work(tx: Transaction) -> PushBatch:
            lock_route(tx, batch.route)
            row = _held(tx, batch)
            if row["settled_at"] is not None:
                raise _lost(batch, "it is settled")
            until = max(moment(row["leased_until"]), now + ttl)
            tx.run("note_job", batch=batch.batch, job=job, until=until)
            return replace(batch, job=job, leased_until=until)

        return self._database.write(work)

    def settle(self, batch: PushBatch, answers: Mapping[ChangeKey, Answer], now: datetime) -> None:
        def work(tx: Transaction) -> None:
            state = lock_route(tx, batch.route)
            if _held(tx, batch)["settled_at"] is None and state is not None:
                save_route(tx, _settle(tx, state, batch, answers, now))

        self._database.write(work)

    def was_delivered(self, route: Route, change: Change) -> bool:
        row = self._database.one(
            "was_delivered",
            **route._asdict(),
            row=change.key.row,
            change_type=change.key.change_type,
            snapshot=change.snapshot,
        )
        return row is not None

    def replay(self, route: Route, now: datetime) -> int:
        def work(tx: Transaction) -> int:
            state = lock_route(tx, route)
            if state is None:
                return 0
            replayed = tx.run("replay_rejected", **route._asdict(), now=now)
            save_route(tx, state.replayed(replayed))
            return replayed

        return self._database.write(work)

    def tally(self, route: Route) -> PushTally:
        row = self._database.one("route", **route._asdict())
        if row is None:
            return PushTally()
        return PushTally(
            pending=row["pending"],
            in_flight=row["in_flight"],
            delivered=row["delivered"],
            rejected=row["rejected"],
        )

    def page(
        self, route: Route, state: PushState, *, after: ChangeKey | None = None, limit: int = 1000
    ) -> tuple[QueuedChange, ...]:
        row, change_type = after or _BEFORE_ALL
        rows = self._database.all(
            "queued_changes", **route._asdict(), state=state, row=row, change_type=change_type, limit=limit
        )
        return tuple(_queued_change(row) for row in rows)


def _admit(
    tx: Transaction, state: RouteState, changes: Mapping[ChangeKey, Change], now: datetime
) -> tuple[RouteState, int]:
    """Queue a part of the changes, and say how many of them wait now."""
    route = state.route._asdict()
    delivered = _delivered(tx, state.route, changes.values())
    fresh = {key: change for key, change in changes.items() if (key, change.snapshot) not in delivered}
    admissions = admit(fresh, _queued(tx, state.route, fresh), state.last_position)
    replaced = [admission.replaces for admission in admissions if admission.replaces is not None]
    if replaced:
        tx.run("drop_queued", **route, changes=_listed(replaced))
    rows = (_row(state.route, each.entry, each.change.payload, now) for each in admissions)
    tx.fill("push_queue", _QUEUED, rows)
    were_rejected = sum(entry.state is PushState.REJECTED for entry in replaced)
    admitted = replace(
        state,
        pending=state.pending + len(admissions) - (len(replaced) - were_rejected),
        rejected=state.rejected - were_rejected,
        last_position=max([state.last_position, *(each.entry.position for each in admissions)]),
    )
    return admitted, len(admissions)


def _delivered(tx: Transaction, route: Route, changes: Iterable[Change]) -> set[tuple[ChangeKey, SnapshotId]]:
    """Which of the changes were delivered already; perhaps others of their rows too."""
    rows: dict[SnapshotId, set[int]] = {}
    for change in changes:
        rows.setdefault(change.snapshot, set()).add(change.key.row)
    return {
        (ChangeKey(row["row_id"], row["change_type"]), snapshot)
        for snapshot, of_snapshot in rows.items()
        for row in tx.all(
            "delivered_of_rows", **route._asdict(), snapshot=snapshot, rows=_listed_rows(of_snapshot)
        )
    }


def _queued(tx: Transaction, route: Route, keys: Iterable[ChangeKey]) -> list[Entry]:
    """Everything that is queued of the rows of these changes."""
    rows = _listed_rows({key.row for key in keys})
    return [_entry(row) for row in tx.all("queued_of_rows", **route._asdict(), rows=rows)]


def _expired_batch(tx: Transaction, state: RouteState, now: datetime) -> tuple[str | None, RouteState]:
    """The batch whose lease ran out first, if there is one."""
    if state.first_expiry is None or state.first_expiry > now:
        return None, state
    first = tx.one("first_open_batch", **state.route._asdict())
    if first is None:
        return None, replace(state, first_expiry=None)
    expiry = moment(first["leased_until"])
    return (first["batch"] if expiry <= now else None), replace(state, first_expiry=expiry)


def _next_changes(tx: Transaction, state: RouteState, limit: int) -> tuple[list[Entry], RouteState]:
    """The changes of the next batch. Looks further the more of those that wait may not go yet."""
    route = state.route
    waiting: list[Entry] = []
    queued: list[Entry] = []
    first, look_at = state.first_position, limit
    found_at = state.last_position + 1
    while len(waiting) < limit:
        rows = tx.all("waiting_changes", **route._asdict(), first=first, limit=look_at)
        entries = [_entry(row) for row in rows]
        if entries:
            found_at = min(found_at, entries[0].position)
            of_rows = _queued(tx, route, [entry.key for entry in entries])
            waiting += without_rows_in_flight(entries, of_rows)
            queued += of_rows
        if len(entries) < look_at:
            break
        first, look_at = entries[-1].position + 1, look_at * 2
    return choose(waiting, queued, limit), replace(state, first_position=found_at)


def _batch(tx: Transaction, route: Route, row: Row) -> PushBatch:
    changes = {_entry(change): change for change in tx.all("changes_of_batch", batch=row["batch"])}
    return PushBatch(
        route=route,
        batch=row["batch"],
        node=NodeId(row["node_id"]),
        fence=row["fence"],
        leased_until=moment(row["leased_until"]),
        changes=tuple(_change(changes[entry]) for entry in in_order(changes)),
        job=row["job"],
    )


def _held(tx: Transaction, batch: PushBatch) -> Row:
    """The row of a batch, if it is still the one that was given out. Raises LeaseLost."""
    row = tx.one("batch", **batch.route._asdict(), batch=batch.batch)
    if row is None:
        raise _lost(batch, "there is no such batch")
    if (row["node_id"], row["fence"]) != (batch.node, batch.fence):
        raise _lost(batch, f"node `{row['node_id']}` has it with fence {row['fence']}")
    return row


def _lost(batch: PushBatch, why: str) -> LeaseLost:
    return LeaseLost(f"push batch `{batch.batch}`", batch.fence, why)


def _settle(
    tx: Transaction, state: RouteState, batch: PushBatch, answers: Mapping[ChangeKey, Answer], now: datetime
) -> RouteState:
    route = state.route
    payloads = {_entry(row): row["payload"] for row in tx.all("changes_of_batch", batch=batch.batch)}
    sent = in_order(payloads)
    missing = [f"{entry.key.row}:{entry.key.change_type}" for entry in sent if entry.key not in answers]
    if missing:
        raise AnswerMissing(missing)
    by_key = {entry.key: payload for entry, payload in payloads.items()}
    queued = _queued(tx, route, by_key)
    settlement = settle(
        sent, (entry for entry in queued if entry.state is PushState.PENDING), answers, state.last_position
    )
    # Before they leave the queue: whoever finds a change in neither place would have lost it.
    tx.fill(
        "push_delivered",
        _DELIVERED,
        ((*route, *each.key, each.snapshot, legible(each.message), now) for each in settlement.delivered),
    )
    tx.run("drop_changes_of_batch", batch=batch.batch)
    for entry, position in settlement.moved:
        tx.run("move_change", **route._asdict(), old_position=entry.position, position=position)
    tx.fill(
        "push_queue", _QUEUED, (_row(route, entry, by_key[entry.key], now) for entry in settlement.staying)
    )
    tx.run("settle_batch", batch=batch.batch, now=now)
    return replace(
        state,
        pending=state.pending + settlement.count_staying(PushState.PENDING),
        in_flight=state.in_flight - len(sent),
        rejected=state.rejected + settlement.count_staying(PushState.REJECTED),
        delivered=state.delivered + len(settlement.delivered),
        last_position=settlement.last_position,
    )


def _row(route: Route, entry: Entry, payload: str, now: datetime) -> tuple[object, ...]:
    fate = (entry.state, entry.attempts, legible(entry.message), entry.position, now)
    return (*route, *entry.key, entry.snapshot, payload, *fate)


def _entry(row: Row) -> Entry:
    return Entry(
        key=ChangeKey(row["row_id"], row["change_type"]),
        snapshot=SnapshotId(row["snapshot_id"]),
        state=PushState(row["state"]),
        position=row["position"],
        attempts=row["attempts"],
        message=row["message"],
    )


def _change(row: Row) -> Change:
    return Change(
        key=ChangeKey(row["row_id"], row["change_type"]),
        snapshot=SnapshotId(row["snapshot_id"]),
        payload=row["payload"],
    )


def _queued_change(row: Row) -> QueuedChange:
    return QueuedChange(
        change=_change(row),
        state=PushState(row["state"]),
        attempts=row["attempts"],
        message=row["message"],
        updated_at=moment(row["updated_at"]),
    )


def _listed(entries: Iterable[Entry]) -> str:
    return listed("change", ((*entry.key, entry.snapshot) for entry in entries))


def _listed_rows(rows: Iterable[int]) -> str:
    return listed("row", ((row,) for row in rows))
