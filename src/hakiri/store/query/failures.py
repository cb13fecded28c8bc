"""What DuckDB says went wrong, in words that lead on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.nearest import nearest
from hakiri.store.query.errors import (
    DamagedFile,
    QueryFailed,
    SqlRefused,
    StoreIsReadOnly,
    UnknownTable,
)
from hakiri.store.query.guarding import is_inside

if TYPE_CHECKING:
    import duckdb

    from hakiri.store.errors import StoreError

DAMAGE_HINT = "`hakiri context check` says which file is damaged"
_UNKNOWN_TABLE = re.compile(r"Table with name (?P<table>.+?) does not exist")
_OWN_ADVICE = re.compile(r"\nDid you mean .*")
_LINE = re.compile(r"^LINE (?P<number>\d+):(?P<rest>.*\n)(?P<marks> *)(?=\^)", re.MULTILINE)
_READ_ONLY = "attached in read-only mode"
_PLACE = "\n\nLINE "
# A pattern that no file fits, of somebody who did not ask for a table.
_NO_FILE = re.compile(r"no files found that match", re.IGNORECASE)
_QUOTED_PATH = re.compile(r"([\"'])(?P<path>/[^\n]+?)\1")
_OTHER_FILE = re.compile(r"\bfile [\"']|\bextension\b", re.IGNORECASE)
# Words of readers that met bytes which are not what was written.
_BROKEN_BYTES = re.compile(r"parquet|decompress|thrift|TProtocol|snappy|zstd|corrupt", re.IGNORECASE)
# What DuckDB itself says begins with the kind of the error; what its readers of files say does not.
_OF_A_KIND = re.compile(r"[\w ]+ Error: ")
_CONTROL_SIGNS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# The names of DuckDB's errors that say nothing of files: those are about the statement, or about a value.
_NOT_OF_FILES = frozenset(
    {
        "BinderException",
        "CatalogException",
        "ConversionException",
        "ParserException",
        "SyntaxException",
    }
)
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
    # What the person has written stands below: a word there says nothing of what went wrong.
    said, name = message.partition(_PLACE)[0], type(error).__name__
    path = None if name in _NOT_OF_FILES else _file_in(root, said)
    if path is not None:
        return DamagedFile(path, _why(said))
    if unknown := _UNKNOWN_TABLE.search(said):
        known, table = list(tables()), unknown["table"]
        return UnknownTable(message, table, meant=nearest(table, known), is_empty=not known)
    if _READ_ONLY in said:
        return StoreIsReadOnly(message)
    is_broken = name not in _NOT_OF_FILES and _is_broken(said)
    is_wrong = name in _WRONG_STATEMENT or _NO_FILE.search(said) is not None
    if is_wrong and not is_broken and not is_bound:
        return SqlRefused(message)
    # No file of the store is named here: where any other is, or should be, it is not the store's.
    is_damage = is_broken and name != "IOException" and not _OTHER_FILE.search(said)
    return QueryFailed(message, DAMAGE_HINT if is_damage else "")


def _is_broken(said: str) -> bool:
    """Whether readers met bytes that are not what was written, of whatever file."""
    if _NO_FILE.search(said):
        return False
    return _BROKEN_BYTES.search(said) is not None or not _OF_A_KIND.match(said)


def _moved(found: re.Match[str], lines_before: int) -> str:
    """The line that DuckDB shows, with its number in what the person has written, and the marks below it."""
    number = str(max(int(found["number"]) - lines_before, 1))
    return f"LINE {number}:{found['rest']}{' ' * (len(found['marks']) + len(number) - len(found['number']))}"


def _file_in(root: Path, said: str) -> str | None:
    """The file of the store that is named, below the root."""
    if named := re.search(rf"{re.escape(str(root))}/(?P<path>[^\"'\n]+?\.parquet)", said):
        return named["path"]
    real_root = root.resolve()
    for found in _QUOTED_PATH.finditer(said):
        if is_inside(root, Path(found["path"])):
            real = Path(found["path"]).resolve()
            return str(real.relative_to(real_root) if real.is_relative_to(real_root) else real)
    return None


def _why(message: str) -> str:
    if re.search(r"no files found|no such file|does not exist", message, re.IGNORECASE):
        return "it is not there"
    first = message.partition("\n")[0].partition(": ")[2] or message
    return first[:1].lower() + first[1:].rstrip(".")
