"""What DuckDB says went wrong, in words that lead on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hakiri.core.nearest import nearest
from hakiri.store.query.errors import (
    DamagedFile,
    QueryFailed,
    SqlRefused,
    StoreIsReadOnly,
    UnknownTable,
)

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from hakiri.store.errors import StoreError

_UNKNOWN_TABLE = re.compile(r"Table with name (?P<table>.+?) does not exist")
_OWN_ADVICE = re.compile(r"\nDid you mean .*")
_LINE = re.compile(r"^LINE (?P<number>\d+):(?P<rest>.*\n)(?P<marks> *)(?=\^)", re.MULTILINE)
_READ_ONLY = "attached in read-only mode"
# Words of readers that met bytes which are not what was written.
_BROKEN_BYTES = re.compile(r"parquet|decompress|thrift|TProtocol|snappy|zstd|corrupt", re.IGNORECASE)
# What DuckDB itself says begins with the kind of the error; what its readers of files say does not.
_OF_A_KIND = re.compile(r"[\w ]+ Error: ")
_CONTROL_SIGNS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# The names of DuckDB's errors for a statement that can never run, whatever the data.
_WRONG_STATEMENT = frozenset(
    {
        "BinderException",
        "CatalogException",
        "InvalidInputException",
        "InvalidTypeException",
        "NotImplementedException",
        "ParserException",
        "PermissionException",
        "SyntaxException",
    }
)


def in_our_words(
    error: duckdb.Error,
    *,
    root: Path,
    tables: Callable[[], Iterable[str]],
    lines_before: int = 0,
    is_bound: bool = False,
) -> StoreError:
    """The error that a person reads; `tables` are asked for only if one is not known.

    `lines_before` stood before the statement that are not of the person; it is less than 0 if lines of the
    person stood there that DuckDB was not given. A statement that was bound before
    is right, and only failed.
    """
    message = _OWN_ADVICE.sub("", str(error)).strip()
    message = _CONTROL_SIGNS.sub("\ufffd", message)
    message = _LINE.sub(lambda found: _moved(found, lines_before), message)
    if path := _file_in(root, message):
        return DamagedFile(path, _why(message))
    if unknown := _UNKNOWN_TABLE.search(message):
        known, table = list(tables()), unknown["table"]
        return UnknownTable(message, table, meant=nearest(table, known), is_empty=not known)
    if _READ_ONLY in message:
        return StoreIsReadOnly(message)
    is_damage = _BROKEN_BYTES.search(message) is not None or not _OF_A_KIND.match(message)
    if type(error).__name__ in _WRONG_STATEMENT and not (is_damage or is_bound):
        return SqlRefused(message)
    return QueryFailed(message, "`hakiri context check` says which file is damaged" if is_damage else "")


def _moved(found: re.Match[str], lines_before: int) -> str:
    """The line that DuckDB shows, with its number in what the person has written, and the marks below it."""
    number = str(max(int(found["number"]) - lines_before, 1))
    return f"LINE {number}:{found['rest']}{' ' * (len(found['marks']) + len(number) - len(found['number']))}"


def _file_in(root: Path, message: str) -> str | None:
    """The file of the store that the message names, below the root."""
    named = re.search(rf"{re.escape(str(root))}/(?P<path>[^\"'\n]+?\.parquet)", message)
    return named["path"] if named else None


def _why(message: str) -> str:
    if re.search(r"no files found|no such file|does not exist", message, re.IGNORECASE):
        return "it is not there"
    first = message.partition("\n")[0].partition(": ")[2] or message
    return first[:1].lower() + first[1:].rstrip(".")
