"""The content hash: 16 bytes that are equal for rows of equal content, whatever wrote them.

The canonical form of a row is written down in `docs/format.md`. `content_hash` is that page in code, for one
row; `content_hashes` does the same for a batch, column by column.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.core.ids import EPOCH
from hakiri.store.rows import HASH_BYTES, HIDDEN
from hakiri.store.texts import nested_texts, value_texts

_EXACT = 2**53  # below it every whole number is a float of its own
_MICROSECOND = timedelta(microseconds=1)
_DIGEST_BYTES = 32
_ROWS_A_STEP = 16_384  # so that the texts of a step stay in the processor's cache
_BYTES_A_STEP = 64 << 20
_LARGE_BYTES = 1 << 29  # where the joined texts might need offsets of 64 bits


def content_hash(row: Mapping[str, Any]) -> bytes:
    """The content hash of one row of Python values, as `to_pylist` gives them."""
    text = b""
    for name in sorted(row, key=str.encode):
        if row[name] is not None and name not in HIDDEN:
            value = _text(row[name])
            is_sized = isinstance(row[name], str | bytes | list | dict)
            size = f"{len(value)}:".encode() if is_sized else b""
            text += f"{len(name.encode())}:{name}=".encode() + size + value + b";"
    return hashlib.sha256(text).digest()[:HASH_BYTES]


def _text(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, list | dict):
        plain = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return plain.encode()
    return _leaf(value).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        pairs = [[_plain(key), _plain(inner)] for key, inner in value]
        return sorted(pairs, key=lambda pair: json.dumps(pair[0], sort_keys=True, ensure_ascii=False))
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return None if value is None else value.hex() if isinstance(value, bytes) else _leaf(value)


def _leaf(value: Any) -> str:
    return _LEAVES.get(type(value), str)(value)


def _float_leaf(value: float) -> str:
    if value != value:  # noqa: PLR0124 - that is what NaN is
        return "7ff8000000000000"
    is_whole = value.is_integer() and abs(value) < _EXACT
    return str(int(value)) if is_whole else struct.pack(">d", value).hex()


def _decimal_leaf(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _moment_leaf(value: datetime) -> str:
    return str((value.replace(tzinfo=value.tzinfo or UTC) - EPOCH) // _MICROSECOND)


def _time_leaf(value: time) -> str:
    return _moment_leaf(datetime.combine(EPOCH, value))


_LEAVES: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        bool: lambda value: str(value).lower(),
        float: _float_leaf,
        Decimal: _decimal_leaf,
        datetime: _moment_leaf,
        date: lambda value: str((value - EPOCH.date()).days),
        time: _time_leaf,
        timedelta: lambda value: str(value // _MICROSECOND),
    }
)


def content_hashes(rows: pa.RecordBatch) -> pa.FixedSizeBinaryArray:
    """The content hash of every row; columns of the store's own are left out."""
    return hashed(rows).hashes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """The content hashes of rows, and the bytes of their canonical forms: sizes that content decides."""

    hashes: pa.FixedSizeBinaryArray
    sizes: np.ndarray[Any, np.dtype[np.int64]]


def hashed(rows: pa.RecordBatch) -> Hashed:
    """Every row with its content hash and size."""
    steps = [_digested(step) for step in _steps(rows)]
    whole = np.frombuffer(b"".join(digests for digests, _ in steps), np.uint8).reshape(-1, _DIGEST_BYTES)
    return Hashed(
        hashes=pa.Array.from_buffers(
            pa.binary(HASH_BYTES),
            rows.num_rows,
            [None, pa.py_buffer(np.ascontiguousarray(whole[:, :HASH_BYTES]))],
        ),
        sizes=np.concatenate([sizes for _, sizes in steps]),
    )


def content_sum(hashes: pa.FixedSizeBinaryArray) -> int:
    """The sum of content hashes modulo 2**128: the same for the same rows in any order."""
    if not len(hashes):
        return 0
    start = hashes.offset * HASH_BYTES
    raw = np.frombuffer(hashes.buffers()[1], ">u4", count=len(hashes) * 4, offset=start)
    # Columns of 32 bits, summed in 64: room for more rows than a batch can have.
    parts: list[int] = raw.reshape(-1, 4).sum(axis=0, dtype=np.uint64).tolist()
    return sum(part << shift for part, shift in zip(parts, (96, 64, 32, 0), strict=True)) % 2**128


def _steps(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    fitting = _BYTES_A_STEP * rows.num_rows // max(rows.nbytes, 1)
    size = max(1, min(_ROWS_A_STEP, fitting))
    for start in range(0, max(rows.num_rows, 1), size):
        yield rows.slice(start, size)


def _digested(rows: pa.RecordBatch) -> tuple[bytes, np.ndarray[Any, np.dtype[np.int64]]]:
    sha256 = hashlib.sha256
    joined = _canonical(rows)
    if joined is None:
        return sha256().digest() * rows.num_rows, np.zeros(rows.num_rows, np.int64)
    width = np.int64 if pa.types.is_large_binary(joined.type) else np.int32
    offsets = np.frombuffer(joined.buffers()[1], width, count=len(joined) + 1)
    text = joined.buffers()[2].to_pybytes()
    digests = [sha256(text[start:end]).digest() for start, end in pairwise(offsets.tolist())]
    return b"".join(digests), np.diff(offsets).astype(np.int64)


def _canonical(rows: pa.RecordBatch) -> pa.Array | None:
    """The canonical form of every row, or None if all of them are empty."""
    kind = pa.large_binary() if rows.nbytes > _LARGE_BYTES else pa.binary()
    pieces: list[pa.Array | bytes] = []
    named = sorted(zip(rows.schema.names, rows.columns, strict=True), key=lambda pair: pair[0].encode())
    for name, column in named:
        if name in HIDDEN or column.null_count == len(column):
            continue
        own = [f"{len(name.encode())}:{name}=".encode(), *_value(column, kind), b";"]
        pieces += own if column.null_count == 0 else [_joined(own, kind)]
    return _joined(pieces, kind, replacement=b"") if pieces else None


def _value(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array | bytes, ...]:
    if pa.types.is_nested(column.type):
        text = pa.array(nested_texts(column), pa.string()).cast(kind)
    else:
        text, is_sized = value_texts(column)
        text = text.cast(kind)
        if not is_sized:
            return (text,)
    return pc.binary_length(text).cast(pa.string()).cast(kind), b":", text


def _joined(
    pieces: list[pa.Array | bytes], kind: pa.DataType, *, replacement: bytes | None = None
) -> pa.Array:
    """One text a row; with a piece that is NULL it is NULL, or the piece is the replacement."""
    merged: list[pa.Array | bytes] = []
    for piece in pieces:
        if merged and isinstance(piece, bytes) and isinstance(merged[-1], bytes):
            merged[-1] += piece
        else:
            merged.append(piece)
    parts = [pa.scalar(piece, kind) if isinstance(piece, bytes) else piece for piece in merged]
    if replacement is None:
        return pc.binary_join_element_wise(*parts, pa.scalar(b"", kind))
    return pc.binary_join_element_wise(
        *parts, pa.scalar(b"", kind), null_handling="replace", null_replacement=replacement
    )
