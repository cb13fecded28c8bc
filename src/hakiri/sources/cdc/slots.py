"""Publications and replication slots: one of each for a table, so that tables are read side by side."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from hakiri.sources.cdc.failures import THERE_ALREADY
from hakiri.sources.cdc.positions import REWIND, Position, lsn_text
from hakiri.sources.cdc.server import Session, query
from hakiri.sources.cdc.tables import SourceTable
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.sql.relations import quoted

MOST_CHARS = 63
PLUGIN = "pgoutput"
DEFAULT_SCHEMA = "public"
_HASH_CHARS = 8
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot on the server. It keeps the log from `confirmed` on, and thereby `held_bytes` of it."""

    name: str
    plugin: str | None
    database: str | None
    is_lost: bool
    confirmed: int | None
    held_bytes: int


def slot_name(base: str, schema: str, table: str) -> str:
    """The name of a table's slot: readable, allowed, and no other table's.

    A name that had to be changed or cut ends with a hash of what it stands for. The dot after a schema is
    always changed, so that `a_b.c` and `a.b_c` do not meet.
    """
    plain = f"{base}_{table}" if schema == DEFAULT_SCHEMA else f"{base}_{schema}.{table}"
    allowed = _NOT_IN_NAMES.sub("_", plain.lower())
    if allowed == plain and len(plain) <= MOST_CHARS:
        return plain
    digest = hashlib.sha256(plain.encode()).hexdigest()[:_HASH_CHARS]
    return f"{allowed[: MOST_CHARS - _HASH_CHARS - 1]}_{digest}"


def find_slots(session: Session, names: list[str]) -> list[Slot]:
    return [Slot(**row) for row in session.rows(query("slots"), {"names": names})]


def find_slot(session: Session, name: str, database: str) -> Slot | None:
    """The slot, or None; raises PermanentFailure if the name is taken by one of another kind."""
    found = next(iter(find_slots(session, [name])), None)
    if found is not None and (found.plugin != PLUGIN or found.database != database):
        raise PermanentFailure(
            f"slot `{name}` is of another database or for another plugin", hint="name another `slot`"
        )
    return found


def slot_at(session: Session, name: str, database: str, position: Position) -> Slot:
    """The slot, which still has all changes after the position; raises PermanentFailure if it has not."""
    found = find_slot(session, name, database)
    if found is None:
        raise PermanentFailure(
            f"slot `{name}` is gone, and with it the changes after {lsn_text(position.lsn)}", hint=REWIND
        )
    if found.is_lost or found.confirmed is None:
        raise PermanentFailure(
            f"the server has thrown away the changes that slot `{name}` stood for",
            hint=f"raise `max_slot_wal_keep_size` or read more often; then {REWIND}",
        )
    if found.confirmed > position.lsn:
        raise PermanentFailure(
            f"slot `{name}` stands at {lsn_text(found.confirmed)}, after the cursor at "
            f"{lsn_text(position.lsn)}: somebody else has moved it",
            hint=f"give every pipeline a `slot` of its own; then {REWIND}",
        )
    return found


def publication_at(session: Session, name: str, table: SourceTable, position: Position) -> None:
    """See that the publication has carried all changes since the position; raises PermanentFailure."""
    if _publication(session, name, table) != position.publication:
        raise PermanentFailure(
            f"publication `{name}` was dropped or made anew, and changes since then may be missing",
            hint=REWIND,
        )


def make_publication(session: Session, name: str, table: SourceTable, *, may_create: bool) -> int:
    """The id of the publication that carries the table's changes, which is made if it may be."""
    order = f"{quoted(name)} {{}} TABLE ONLY {table.quoted}"
    found = session.rows(query("publication"), _about(name, table))
    if may_create and not found:
        session.refusal(f"CREATE PUBLICATION {order.format('FOR')}", of=THERE_ALREADY)
    elif may_create and not found[0]["has_table"]:
        session.order(f"ALTER PUBLICATION {order.format('SET')}")  # the table was dropped and made anew
    return _publication(session, name, table)


def _publication(session: Session, name: str, table: SourceTable) -> int:
    """The id of the publication; raises PermanentFailure unless all of the table's changes go through it."""
    found = session.rows(query("publication"), _about(name, table))
    if not found:
        raise PermanentFailure(
            f"there is no publication `{name}`",
            hint=f"CREATE PUBLICATION {quoted(name)} FOR TABLE ONLY {table.quoted}",
        )
    (row,) = found
    if not row["has_table"]:
        raise PermanentFailure(
            f"publication `{name}` is not for table `{table.name}`",
            hint=f"ALTER PUBLICATION {quoted(name)} ADD TABLE ONLY {table.quoted}; then {REWIND}",
        )
    hidden = row["covered"] is not None and {c.name for c in table.columns} - set(row["covered"])
    if not row["is_complete"] or row["has_filter"] or hidden:
        raise PermanentFailure(
            f"publication `{name}` leaves out some of the changes to table `{table.name}`",
            hint="publish inserts, updates, deletes and truncates of all rows and columns",
        )
    oid: int = row["oid"]
    return oid


def _about(name: str, table: SourceTable) -> dict[str, str]:
    return {"name": name, "schema": table.schema, "table": table.name}
