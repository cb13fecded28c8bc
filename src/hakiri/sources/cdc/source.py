"""Reading a Postgres by its log: what is made on the server, what is read, and up to where.

A table begins with a snapshot: the server exports it together with the place in the log to which it belongs,
and the cursor after it names that place. Every later read gives the changes from its cursor up to where the
log ended when the read began. The slot, which keeps the log, is moved only at the start of a read and only to
the cursor that the read was given, because that one is stored. Whoever dies in between reads the same again.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from hakiri.sources.cdc.failures import GONE, IN_USE, RIGHTS
from hakiri.sources.cdc.positions import REWIND, Position, lsn_text
from hakiri.sources.cdc.replay import replay
from hakiri.sources.cdc.server import SOME_MOMENTS, Server, Session, query
from hakiri.sources.cdc.slots import (
    Slot,
    find_slot,
    find_slots,
    make_publication,
    publication_at,
    slot_at,
    slot_name,
)
from hakiri.sources.cdc.snapshot import enter_snapshot, table_rows
from hakiri.sources.cdc.stream import make_slot, stream
from hakiri.sources.cdc.tables import (
    Column,
    SourceTable,
    find_table,
    find_tables,
    refuse_unseen_changes,
    wanted_columns,
)
from hakiri.sources.contract import Batch, Read
from hakiri.sources.errors import PermanentFailure, TransientFailure

OLDEST_MAJOR = 14  # the oldest that is still maintained; it sets what the queries may ask for


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the config says about things on the server; None is derived."""

    schema: str
    slot: str | None
    publication: str | None
    may_create: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """A server whose log can be decoded, safe on disk up to `flushed`."""

    version_text: str
    database: str
    role: str
    may_replicate: bool
    flushed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One table on one server, and its slot and publication there."""

    state: ServerState
    table: SourceTable
    slot: str
    publication: str


def list_tables(server: Server, schema: str, only: Collection[str] | None) -> list[SourceTable]:
    """The tables that can be named; nothing is asked of the log."""
    with server.session() as session:
        return find_tables(session, schema, only)


def read_table(server: Server, names: Names, read: Read) -> Iterator[Batch]:
    """The table's snapshot if there is no cursor, else the changes after it; a sample if there is a limit."""
    with server.session() as session:
        target = _target(session, names, read.table)
        batches: Generator[Batch, None, None]
        if read.cursor is not None:
            batches = _changes(server, session, target, read, Position.parse(read.cursor, read.table))
        elif read.limit is not None:
            # Somebody wants a look: nothing is made on the server, and there is no place to go on from.
            columns = wanted_columns(target.table, read.schema)
            batches = (
                Batch(rows=rows) for rows in table_rows(session, target.table, columns, limit=read.limit)
            )
        else:
            batches = _snapshot(server, session, target, names, read)
        given = 0
        with closing(batches):
            for batch in batches:
                yield batch
                given += batch.rows.num_rows
                if read.limit is not None and given >= read.limit:
                    break


def check_source(server: Server, names: Names) -> str:
    """See whether tables can be read by the log; one line about the server and its slots."""
    with server.session() as session:
        state = _server_state(session)
        (rights,) = session.rows(query("rights"))
        tables = find_tables(session, names.schema, None)
        base = names.slot or f"hakiri_{state.database}"
        slots = find_slots(session, [slot_name(base, names.schema, table.name) for table in tables])
    with server.replication(may_replicate=state.may_replicate):
        pass  # that it can be had is all
    if names.may_create and names.publication is None and not rights["may_publish"]:
        raise PermanentFailure(
            f"role `{state.role}` may not make publications in database `{state.database}`", hint=RIGHTS
        )
    if not slots and rights["free_slots"] <= 0:
        raise PermanentFailure(
            "all replication slots of the server are taken",
            hint="raise `max_replication_slots`, or drop slots that nobody reads",
        )
    keyless = sum(not table.key for table in tables)
    parts = [
        f"Postgres {state.version_text}",
        f"{len(tables)} tables in schema `{names.schema}`"
        + (f", {keyless} without a key" if keyless else ""),
        *map(_slot_words, slots),
        f"{rights['free_slots']} slots free",
    ]
    return "; ".join(parts)


def _slot_words(slot: Slot) -> str:
    if slot.is_lost:
        return f"slot `{slot.name}` has lost its changes"
    return f"slot `{slot.name}` holds {slot.held_bytes:,} bytes of the log"


def _target(session: Session, names: Names, name: str) -> Target:
    state = _server_state(session)
    table = find_table(session, names.schema, name)
    slot = slot_name(names.slot or f"hakiri_{state.database}", names.schema, name)
    return Target(state=state, table=table, slot=slot, publication=names.publication or slot)


def _server_state(session: Session) -> ServerState:
    """Raises PermanentFailure if the log of the server cannot be decoded."""
    major = session.connection.info.server_version // 10_000
    if major < OLDEST_MAJOR:
        raise PermanentFailure(
            f"the server is Postgres {major}, and {OLDEST_MAJOR} is the oldest that can be read by its log",
            hint="upgrade the server, or read it with the connector `sql`",
        )
    (row,) = session.rows(query("server"))
    if row["is_standby"]:
        raise PermanentFailure(
            "the server is a standby, which keeps no slots of its own",
            hint="write the primary server in `url`",
        )
    if row["wal_level"] != "logical":
        raise PermanentFailure(
            f"the server's log is not made for reading: `wal_level` is `{row['wal_level']}`",
            hint="set `wal_level = logical` and restart the server",
        )
    return ServerState(
        version_text=row["version_text"].split()[0],
        database=row["database"],
        role=row["role"],
        may_replicate=bool(row["may_replicate"]),
        flushed=row["flushed"],
    )


def _snapshot(
    server: Server, session: Session, target: Target, names: Names, read: Read
) -> Generator[Batch, None, None]:
    """The table at one place of the log, from which its slot has all changes."""
    publication = make_publication(
        session,
        target.publication,
        target.table,
        may_create=names.may_create and names.publication is None,
    )
    since = _enter_snapshot(server, session, target, may_create=names.may_create)
    table = find_table(session, names.schema, read.table)
    if table.file != target.table.file:
        # Rows of before such a change cannot be seen in any snapshot.
        raise TransientFailure(f"table `{read.table}` was rewritten when its snapshot was taken")
    columns = wanted_columns(table, read.schema)
    position = _position(table, columns, since, publication)
    held: Batch | None = None
    for rows in table_rows(session, table, columns):
        if held is not None:
            yield held
        held = Batch(rows=rows)
    if held is not None:
        yield Batch(rows=held.rows, cursor=position.at(since))


def _enter_snapshot(server: Server, session: Session, target: Target, *, may_create: bool) -> int:
    """Have the session see one snapshot; the place in the log to which it belongs.

    A new slot comes with its snapshot. One that is there already keeps at least as much: it is left as it
    is, whoever needs it, and another one that ends at once gives the snapshot and its place.
    """
    for seconds in SOME_MOMENTS.waits():
        slot = _usable_slot(session, target, may_create=may_create)
        with server.replication(may_replicate=target.state.may_replicate) as replication:
            exported = make_slot(replication, target.slot if slot is None else None)
            if exported is not None and slot is not None:
                # Whoever makes a slot in this moment may find its place only after ours.
                slot = find_slot(session, target.slot, target.state.database)
                is_kept = slot is not None and slot.confirmed is not None and slot.confirmed <= exported.lsn
                exported = exported if is_kept else None
            if exported is not None:
                enter_snapshot(session, exported.snapshot, target.table)
                return exported.lsn
        session.context.wait(seconds)
    raise TransientFailure(f"slot `{target.slot}` is being made by somebody else")


def _usable_slot(session: Session, target: Target, *, may_create: bool) -> Slot | None:
    """The slot, or None if there is none yet; one that has lost its changes is of use to nobody, and goes."""
    slot = find_slot(session, target.slot, target.state.database)
    if slot is not None and slot.is_lost and may_create:
        session.refusal(query("drop_slot"), {"slot": target.slot}, of=(GONE, IN_USE))
        return None
    if slot is None and not may_create:
        raise PermanentFailure(
            f"there is no slot `{target.slot}`",
            hint=f"SELECT pg_create_logical_replication_slot('{target.slot}', 'pgoutput')",
        )
    return slot


def _changes(
    server: Server, session: Session, target: Target, read: Read, since: Position
) -> Generator[Batch, None, None]:
    table = target.table
    refuse_unseen_changes(table, since)
    columns = wanted_columns(table, read.schema)
    publication_at(session, target.publication, table, since)
    slot = slot_at(session, target.slot, target.state.database, since)
    if since.lsn > target.state.flushed:
        raise PermanentFailure(
            f"the cursor at {lsn_text(since.lsn)} is after the end of the server's log, which is another one",
            hint=REWIND,
        )
    if slot.confirmed != since.lsn:
        # The cursor that was given is stored: the server may forget what came before it.
        place = {"slot": target.slot, "lsn": lsn_text(since.lsn)}
        session.when_free(target.slot, lambda: session.refusal(query("advance"), place, of=(IN_USE,)))
    position = _position(table, columns, since.lsn, since.publication)
    with (
        server.replication(may_replicate=target.state.may_replicate) as replication,
        stream(replication, slot=target.slot, publication=target.publication, since=since.lsn) as events,
    ):
        yield from replay(
            events,
            until=target.state.flushed,
            session=session,
            table=table,
            columns=columns,
            position=position,
        )


def _position(table: SourceTable, columns: Sequence[Column], lsn: int, publication: int) -> Position:
    return Position(
        lsn=lsn,
        table=table.oid,
        publication=publication,
        columns={column.name: column.number for column in columns},
    )
