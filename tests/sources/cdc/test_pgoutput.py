"""The messages of `pgoutput`, byte by byte."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.sources.cdc.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Delete,
    Insert,
    Message,
    Note,
    Relation,
    RelationColumn,
    Truncate,
    Update,
    parse_message,
)

ROW = b"\x00\x03" + b"t\x00\x00\x00\x01" + b"7" + b"n" + b"u"
KEY = b"\x00\x03" + b"t\x00\x00\x00\x01" + b"6" + b"n" + b"n"
EXAMPLES: list[tuple[bytes, Message]] = [
    (b"B" + struct.pack(">QqI", 0x16B3748, 0, 731), Begin(commit_lsn=0x16B3748, xid=731)),
    (b"C" + struct.pack(">BQQq", 0, 1, 0x16B3778, 0), Commit(end_lsn=0x16B3778)),
    (
        b"R"
        + struct.pack(">I", 16385)
        + b"public\x00t\x00d"
        + b"\x00\x02"
        + b"\x01id\x00"
        + struct.pack(">Ii", 23, -1)
        + b"\x00price\x00"
        + struct.pack(">Ii", 1700, 655366),
        Relation(
            oid=16385,
            columns=(
                RelationColumn(name="id", type_oid=23, modifier=-1, is_in_identity=True),
                RelationColumn(name="price", type_oid=1700, modifier=655366, is_in_identity=False),
            ),
        ),
    ),
    (b"I" + struct.pack(">I", 5) + b"N" + ROW, Insert(relation=5, new=[b"7", None, UNCHANGED])),
    (b"U" + struct.pack(">I", 5) + b"N" + ROW, Update(relation=5, new=[b"7", None, UNCHANGED])),
    (
        b"U" + struct.pack(">I", 5) + b"K" + KEY + b"N" + ROW,
        Update(relation=5, new=[b"7", None, UNCHANGED], old=[b"6", None, None]),
    ),
    (
        b"U" + struct.pack(">I", 5) + b"O" + KEY + b"N" + ROW,
        Update(relation=5, new=[b"7", None, UNCHANGED], old=[b"6", None, None], is_old_whole=True),
    ),
    (b"D" + struct.pack(">I", 5) + b"K" + KEY, Delete(relation=5, old=[b"6", None, None])),
    (b"T" + struct.pack(">iB2I", 2, 1, 5, 9), Truncate(relations=(5, 9))),
    (b"Y" + struct.pack(">I", 99) + b"public\x00mood\x00", Note()),
    (b"O" + struct.pack(">Q", 1) + b"elsewhere\x00", Note()),
]


@pytest.mark.parametrize(("data", "message"), EXAMPLES)
def test_a_message_is_read(data: bytes, message: Message) -> None:
    assert parse_message(data) == message


@given(example=st.sampled_from(EXAMPLES), share=st.floats(0, 1, exclude_max=True))
def test_a_message_that_is_cut_off_is_refused(example: tuple[bytes, Message], share: float) -> None:
    data, message = example
    if isinstance(message, Note):
        return  # nothing in it is of interest
    with pytest.raises(ValueError, match=r"is cut off|there is no message"):
        parse_message(data[: int(len(data) * share)])


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_or_read_and_nothing_else_happens(data: bytes) -> None:
    with suppress(ValueError):
        assert parse_message(data) is not None
