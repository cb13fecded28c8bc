"""How a CSV begins: its first row, what it names the columns, and how its lines end."""

from __future__ import annotations

import csv
import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

import pyarrow as pa
import pyarrow.csv as pa_csv

from hakiri.core.errors import Place
from hakiri.sources.errors import UnreadableFile
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.files.listing import FoundFile
from hakiri.sources.files.streams import BOM, NO_CHARACTER

if TYPE_CHECKING:
    import _csv

LineEnd: TypeAlias = Literal["\n", "\r\n", "\r"]

# A row does not fit into more: Arrow reads blocks, and a quote that is never closed would swallow a file.
MOST_BYTES_OF_ROW = 8 * 1024**2
FIRST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLayout:
    """How a file is written: the names as they stand in it, the columns they are, and how its lines end."""

    raw_names: tuple[str, ...]
    columns: tuple[str, ...]
    line_end: LineEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """The first row as it stands there, how its line ends, and all that follows, if that was read already."""

    record: str
    line_end: LineEnd
    rest: bytes | None


def read_head(text: BinaryIO, file: FoundFile, config: FilesConfig) -> tuple[CsvLayout | None, bytes | None]:
    """The layout, and all that follows the header if that is short and has no quotes in it.

    There is no layout in an empty file. Raises UnreadableFile for a header that is none.
    """
    start = _first_record(text, file, config.quote)
    if start is None:
        return None, None
    fields = _fields_of(start.record, config)
    header = config.header
    if header is True:
        if NO_CHARACTER in start.record:
            problem = (
                f"its header has bytes that are not {config.encoding}; say in `encoding` how it is written"
            )
            raise UnreadableFile(file.name, problem, Place(file.name, 1))
        columns = [name.strip() or f"c{number}" for number, name in enumerate(fields, start=1)]
    else:
        columns = list(header) if header else [f"c{number}" for number in range(1, len(fields) + 1)]
        fields = columns
    twice = [name for name, count in Counter(map(str.casefold, columns)).items() if count > 1]
    if twice:
        raise UnreadableFile(file.name, f"its header has `{twice[0]}` more than once", Place(file.name, 1))
    layout = CsvLayout(raw_names=tuple(fields), columns=tuple(columns), line_end=start.line_end)
    body = start.rest
    if body is not None and header is not True:
        body = start.record.encode() + b"\n" + body
    has_quotes = body is not None and bool(config.quote) and config.quote.encode() in body
    return layout, None if has_quotes else body


def _fields_of(record: str, config: FilesConfig) -> list[str]:
    try:
        return next(records_in([record], config))
    except csv.Error:
        # A field that is too long for this reader: a first row that is no header.
        names: list[str] = pa_csv.read_csv(
            pa.BufferReader(record.encode()),
            read_options=pa_csv.ReadOptions(autogenerate_column_names=True, block_size=MOST_BYTES_OF_ROW),
            parse_options=pa_csv.ParseOptions(
                delimiter=config.delimiter, quote_char=config.quote or False, newlines_in_values=True
            ),
        ).column_names
        return names


def records_in(lines: Iterable[str], config: FilesConfig) -> _csv.Reader:
    """The rows of these lines, by the standard library, which counts lines."""
    if config.quote:
        return csv.reader(lines, delimiter=config.delimiter, quotechar=config.quote)
    return csv.reader(lines, delimiter=config.delimiter, quoting=csv.QUOTE_NONE)


def _first_record(text: BinaryIO, file: FoundFile, quote: str) -> _Start | None:
    """The first row that is not empty."""
    head = b""
    while len(head) <= MOST_BYTES_OF_ROW:
        piece = text.read(max(FIRST_BYTES, len(head)))
        head += piece
        # A decoder that is not told of the end takes a character that is cut in two.
        known = getincrementaldecoder("utf-8")().decode(head.removeprefix(BOM)).lstrip("\r\n")
        end = _end_of_record(known, quote)
        is_all = len(piece) < FIRST_BYTES
        # A carriage return at the very end may be half of a line end.
        if end is not None and (end + 1 < len(known) or is_all):
            line_end = _line_end(known, end)
            rest = known[end + len(line_end) :].encode() if is_all else None
            return _Start(record=known[:end], line_end=line_end, rest=rest)
        if is_all:
            return _Start(record=known, line_end="\n", rest=b"") if known else None
    problem = f"its first row is longer than {MOST_BYTES_OF_ROW // 1024**2} MiB"
    raise UnreadableFile(file.name, problem, Place(file.name, 1))


def _end_of_record(text: str, quote: str) -> int | None:
    is_quoted = False
    for sign in re.finditer(rf"[\r\n{re.escape(quote)}]", text):
        if sign[0] == quote:
            is_quoted = not is_quoted
        elif not is_quoted:
            return sign.start()
    return None


def _line_end(text: str, end: int) -> LineEnd:
    if text[end] == "\n":
        return "\n"
    return "\r\n" if text[end + 1 : end + 2] == "\n" else "\r"
