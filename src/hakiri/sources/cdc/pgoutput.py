"""The messages of Postgres's own output plugin, `pgoutput`, in version 1 of its protocol.

Values stay the texts that Postgres sends. See "Logical Replication Message Formats" in its documentation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias


class Unchanged(Enum):
    """Stands for a large value that an update did not touch and that Postgres therefore does not send."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED
Value: TypeAlias = bytes | Unchanged | None
Values: TypeAlias = list[Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """The transaction's changes follow. `commit_lsn` is where its commit begins in the log."""

    commit_lsn: int
    xid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """All changes of the transaction were given. `end_lsn` is where its commit ends in the log."""

    end_lsn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationColumn:
    name: str
    type_oid: int
    modifier: int
    is_in_identity: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table as it was when the changes that follow were made."""

    oid: int
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    relation: int
    new: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """`old` is there if the key changed, or if the table's identity is full; `is_old_whole` tells which."""

    relation: int
    new: Values
    old: Values | None = None
    is_old_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    relation: int
    old: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate:
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message that changes no row: the name of a type, or where a transaction came from."""


Message: TypeAlias = Begin | Commit | Relation | Insert | Update | Delete | Truncate | Note

_BEGIN = struct.Struct(">QqI")
_COMMIT = struct.Struct(">BQQq")
_OID = struct.Struct(">I")
_COUNT = struct.Struct(">h")
_LENGTH = struct.Struct(">i")
_COLUMN_TYPE = struct.Struct(">Ii")
_TRUNCATE = struct.Struct(">iB")
_WHOLE = ord("O")
_NEW = ord("N")
_NULL = ord("n")
_TEXT = ord("t")


def parse_message(data: bytes) -> Message:
    """One message; raises ValueError for bytes that are none."""
    kind = data[:1]
    read = _READERS.get(kind)
    if read is None:
        raise ValueError(f"there is no message of kind {kind!r}")
    try:
        return read(data[1:])
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"a message of kind {kind!r} is cut off") from error


def _begin(body: bytes) -> Begin:
    commit_lsn, _, xid = _BEGIN.unpack(body)
    return Begin(commit_lsn=commit_lsn, xid=xid)


def _commit(body: bytes) -> Commit:
    _, _, end_lsn, _ = _COMMIT.unpack(body)
    return Commit(end_lsn=end_lsn)


def _insert(body: bytes) -> Insert:
    return Insert(relation=_OID.unpack_from(body)[0], new=_values(body, 5)[0])


def _delete(body: bytes) -> Delete:
    return Delete(relation=_OID.unpack_from(body)[0], old=_values(body, 5)[0])


def _truncate(body: bytes) -> Truncate:
    count, _ = _TRUNCATE.unpack_from(body)
    return Truncate(relations=struct.unpack_from(f">{count}I", body, _TRUNCATE.size))


def _note(_: bytes) -> Note:
    return Note()


def _update(body: bytes) -> Update:
    (relation,) = _OID.unpack_from(body)
    kind = body[4]
    if kind == _NEW:
        return Update(relation=relation, new=_values(body, 5)[0])
    old, end = _values(body, 5)
    new, _ = _values(body, end + 1)
    return Update(relation=relation, new=new, old=old, is_old_whole=kind == _WHOLE)


def _values(body: bytes, start: int) -> tuple[Values, int]:
    """The values of a row that begins at `start`, and where it ends."""
    (count,) = _COUNT.unpack_from(body, start)
    place = start + _COUNT.size
    values: Values = []
    for _ in range(count):
        kind = body[place]
        place += 1
        if kind == _TEXT:
            (length,) = _LENGTH.unpack_from(body, place)
            place += _LENGTH.size
            if place + length > len(body):
                raise IndexError("the value goes on after the end")
            values.append(body[place : place + length])
            place += length
        else:
            values.append(None if kind == _NULL else UNCHANGED)
    return values, place


def _relation(body: bytes) -> Relation:
    (oid,) = _OID.unpack_from(body)
    _, place = _name(body, _OID.size)
    _, place = _name(body, place)
    place += 1  # the kind of identity; which columns belong to it is told with each of them
    (count,) = _COUNT.unpack_from(body, place)
    place += _COUNT.size
    columns = []
    for _ in range(count):
        is_in_identity = bool(body[place] & 1)
        name, place = _name(body, place + 1)
        type_oid, modifier = _COLUMN_TYPE.unpack_from(body, place)
        place += _COLUMN_TYPE.size
        columns.append(
            RelationColumn(name=name, type_oid=type_oid, modifier=modifier, is_in_identity=is_in_identity)
        )
    return Relation(oid=oid, columns=tuple(columns))


def _name(body: bytes, start: int) -> tuple[str, int]:
    end = body.find(b"\0", start)
    if end < 0:
        raise IndexError("the name does not end")
    return body[start:end].decode(), end + 1


_READERS: Mapping[bytes, Callable[[bytes], Message]] = MappingProxyType(
    {
        b"B": _begin,
        b"C": _commit,
        b"D": _delete,
        b"I": _insert,
        b"O": _note,
        b"R": _relation,
        b"T": _truncate,
        b"U": _update,
        b"Y": _note,
    }
)
