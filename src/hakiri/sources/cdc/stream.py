"""The replication protocol: a slot's messages as they come, and what the server says in between.

psycopg has no words for it, but its layer above libpq has all that is needed: a query that turns the
connection into one on which both sides send. See "Streaming Replication Protocol" in the documentation of
Postgres.
"""

from __future__ import annotations

import select
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

from hakiri.sources.cdc.failures import IN_USE
from hakiri.sources.cdc.positions import lsn_text, parse_lsn
from hakiri.sources.cdc.server import Session
from hakiri.sources.cdc.slots import PLUGIN
from hakiri.sources.errors import TransientFailure
from hakiri.sources.sql.relations import quoted, text_literal

ASK_AFTER_MILLISECONDS = 1_000
MOST_LEFT_OVER = 1_000
_CHANGE = ord("w")
_STATUS = ord("k")
_CHANGE_HEAD_BYTES = 25
# Kind, written, flushed and applied up to, time, and whether an answer is wanted.
_OUR_STATUS = struct.Struct(">cQQQqB")


@dataclass(frozen=True, slots=True)
class SentUpTo:
    """The server has sent all transactions whose commit ends at or before this place."""

    lsn: int


Event: TypeAlias = bytes | SentUpTo


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A snapshot that shows exactly the transactions before `lsn`, while its session does nothing else."""

    lsn: int
    snapshot: str


def make_slot(replication: Session, name: str | None) -> Exported | None:
    """A new slot with the snapshot that belongs to it, or None if there is one of this name already.

    Without a name it ends with the session. Waits until all transactions that write now have ended.
    """
    pid = replication.connection.info.backend_pid
    named = quoted(name) if name is not None else f"hakiri_snapshot_{pid} TEMPORARY"
    command = f"CREATE_REPLICATION_SLOT {named} LOGICAL {PLUGIN} EXPORT_SNAPSHOT"
    with replication.call():
        try:
            row = replication.connection.execute(command).fetchone()
        except psycopg.errors.DuplicateObject:
            return None
        except psycopg.errors.LockNotAvailable:
            raise TransientFailure(
                "a snapshot waits for transactions that write, and they have not ended for minutes",
                hint="end the oldest ones: SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY 2",
            ) from None
    assert row is not None  # noqa: S101 - the command answers with one row
    return Exported(lsn=parse_lsn(row["consistent_point"]), snapshot=row["snapshot_name"])


@contextmanager
def stream(replication: Session, *, slot: str, publication: str, since: int) -> Iterator[Iterator[Event]]:
    """The messages of a slot from `since` on, without end. The slot itself is not moved by it."""
    options = f"proto_version '1', publication_names {text_literal(quoted(publication))}"
    command = f"START_REPLICATION SLOT {quoted(slot)} LOGICAL {lsn_text(since)} ({options})".encode()
    replication.when_free(slot, lambda: _refusal(replication, command))
    yield _events(replication, since)
    _end(replication)


def _refusal(replication: Session, command: bytes) -> str | None:
    """Start the stream: None, or the SQLSTATE of a slot that is in use."""
    with replication.call():
        result = replication.connection.pgconn.exec_(command)
    if result.status == ExecStatus.COPY_BOTH:
        return None
    state = _text(result.error_field(DiagnosticField.SQLSTATE))
    if state == IN_USE:
        return state
    raise replication.failed(state, _message(result))


def _events(replication: Session, since: int) -> Iterator[Event]:
    pgconn = replication.connection.pgconn
    arrivals = select.poll()
    arrivals.register(pgconn.socket, select.POLLIN)
    # Nothing is said to be safe but what was safe before: the slot stays where it is. The time is nobody's.
    question = _OUR_STATUS.pack(b"r", since, since, since, 0, 1)
    with replication.answers():
        while True:
            size, data = pgconn.get_copy_data(1)
            if size > 0:
                event = bytes(data)
                if event[0] == _CHANGE:
                    yield event[_CHANGE_HEAD_BYTES:]
                elif event[0] == _STATUS:
                    yield SentUpTo(int.from_bytes(event[1:9]))
                continue
            if size < 0:
                raise _ended(replication)
            if not arrivals.poll(ASK_AFTER_MILLISECONDS):
                pgconn.put_copy_data(question)
                pgconn.flush()
            pgconn.consume_input()


def _ended(replication: Session) -> Exception:
    """Why the server has ended a stream that has no end."""
    result = replication.connection.pgconn.get_result()
    if result is None or result.status != ExecStatus.FATAL_ERROR:
        return TransientFailure("Postgres has ended the stream of changes")
    return replication.failed(_text(result.error_field(DiagnosticField.SQLSTATE)), _message(result))


def _end(replication: Session) -> None:
    """Say good-bye and wait a little for the answer: the slot is free then for the next reader.

    A server in the middle of a large transaction does not listen; it notices the end of the connection.
    """
    pgconn = replication.connection.pgconn
    arrivals = select.poll()
    arrivals.register(pgconn.socket, select.POLLIN)
    with suppress(psycopg.OperationalError):  # all was read: a connection that is gone is an end as well
        pgconn.put_copy_end()
        pgconn.flush()
        for _ in range(MOST_LEFT_OVER):
            size, _ = pgconn.get_copy_data(1)
            if size < 0 or (size == 0 and not arrivals.poll(ASK_AFTER_MILLISECONDS)):
                return
            pgconn.consume_input()


def _message(result: PGresult) -> str:
    primary = _text(result.error_field(DiagnosticField.MESSAGE_PRIMARY))
    return primary or result.get_error_message()


def _text(field: bytes | None) -> str | None:
    return None if field is None else field.decode("utf-8", "replace")
