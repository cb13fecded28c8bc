"""Which file of the store a statement would write.

DuckDB keeps the views from being changed. It does not keep `COPY … TO` from writing over a file of the store,
since to it that is a file like any other. Its own limits do not help: `allowed_directories` lists folders
that may be used, for reading and for writing alike, once `enable_external_access` has closed all others.

So what is said is judged: this keeps people and agents from accidents. What writes, and where nobody can tell
from the statement, is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise, zip_longest
from pathlib import Path

from hakiri.store.query.errors import SqlRefused
from hakiri.store.query.lexing import Piece, PieceKind, pieces

# The statements that may have a `COPY` outside of brackets; within them it is a part of any.
_COPIERS = frozenset({"COPY", "EXPLAIN", "MULTI", "PREPARE"})
_SETTERS = frozenset({"PRAGMA", "SET", "VARIABLE_SET"})
_WRITERS = _SETTERS | {"ATTACH", "CALL", "EXPORT"}
# Settings that say where DuckDB is to write something.
_PLACE_SETTINGS = re.compile(r"director|path|output|location")
_WRITING_FUNCTIONS = frozenset({"enable_logging", "enable_profile", "enable_profiling"})
_WRITING_WORD = re.compile(rf"copy|{'|'.join(sorted(_WRITING_FUNCTIONS))}", re.IGNORECASE)
_NAMING_OPTIONS = frozenset({"filename_pattern", "file_extension"})
# `file:/x`, `file:///x`, `file://host/x`, and the kind of a database in front of its path.
_PREFIX = re.compile(r"file:(?://[^/]*)?(?=/)|\w+:")
# Signs of a value that is not known yet, or made of several.
_OPERATORS = frozenset("|?$")
_IN_FULL = "write the path in full, as one text in quotes"


def written_into(root: Path, *, kind: str, sql: str) -> str | None:
    """The path in a statement that lies in the folder `root` and might be written, or None.

    Raises SqlRefused for a statement that writes where it does not say plainly, or all over a folder that
    the store lies in.
    """
    if kind not in _WRITERS and not _WRITING_WORD.search(sql):
        return None
    said = [piece for piece in pieces(sql) if piece.kind is not PieceKind.COMMENT]
    folders = list(_folders(kind, said))
    if above := next((text for text in folders if _is_above(root, text)), None):
        raise SqlRefused(f"the store lies in `{above}`, and might be written over", "write to another folder")
    return next((text for text in [*folders, *_targets(kind, said)] if _is_inside(root, text)), None)


def is_inside(root: Path, path: Path) -> bool:
    """Whether a path lies in the folder, by whatever way."""
    try:
        real = path.resolve()
        return real.is_relative_to(root.resolve()) or any(
            _is_same(each, root) for each in (real, *real.parents)
        )
    except (OSError, RuntimeError, ValueError):
        return False  # no path that the system knows


def _folders(kind: str, said: Sequence[Piece]) -> Iterator[str]:
    """Where a statement writes a file, or a folder full of them."""
    for at, piece in enumerate(said):
        is_part = at > 0 and said[at - 1].is_sign("(")
        if piece.is_word("COPY") and (is_part or (kind in _COPIERS and sum(map(_step, said[:at])) == 0)):
            yield from _copied_to(said[at + 1 :])
    if kind == "EXPORT":
        yield from _plain(said)


def _targets(kind: str, said: Sequence[Piece]) -> Iterator[str]:
    """What else a statement names that is written, now or by later ones."""
    if kind == "ATTACH":
        yield from _attached(said)
    elif kind == "CALL":
        yield from _plain(_bracket(said))
    elif kind in _SETTERS:
        yield from _set(said)
    for at, (piece, after) in enumerate(pairwise(said), start=1):
        if piece.said.lower() in _WRITING_FUNCTIONS and after.is_sign("("):
            yield from _plain(_bracket(said[at:]))


def _copied_to(rest: Sequence[Piece]) -> Iterator[str]:
    """The text behind the `TO` of a `COPY`; what stands before is read."""
    depth = 0
    for at, piece in enumerate(rest):
        depth += _step(piece)
        if depth < 0 or (depth == 0 and piece.is_word("FROM")):
            return
        if depth == 0 and piece.is_word("TO"):
            target, options = rest[at + 1 : at + 2], rest[at + 2 :]
            is_text = bool(target) and target[0].kind in {PieceKind.TEXT, PieceKind.NAME}
            if not is_text or target[0].has_escapes or (options and options[0].kind is PieceKind.TEXT):
                raise SqlRefused("the target of `COPY` is not a plain text", "write the path in quotes")
            _refuse_names_elsewhere(options)
            yield target[0].said
            return


def _refuse_names_elsewhere(options: Sequence[Piece]) -> None:
    """Options of a `COPY` must not lead out of its folder."""
    if any(piece.said.lower() in _NAMING_OPTIONS for piece in options) and any(
        piece.has_escapes or (piece.kind is not PieceKind.SIGN and "/" in piece.said) for piece in options
    ):
        raise SqlRefused("the names of files have a `/` in them", "name the folder behind `TO` alone")


def _attached(said: Sequence[Piece]) -> Iterator[str]:
    """The path of the database."""
    rest = [
        piece for piece in said[1:] if not piece.is_word("OR", "REPLACE", "DATABASE", "IF", "NOT", "EXISTS")
    ]
    path, after = rest[:1], rest[1:2]
    is_alone = not after or after[0].is_word("AS")
    has_options = bool(after) and after[0].is_sign("(") and path[0].kind is not PieceKind.WORD
    if not (is_alone or has_options):
        raise SqlRefused("the path of `ATTACH` is not a plain text", _IN_FULL)
    yield from _plain(path, has_words=True)


def _set(said: Sequence[Piece]) -> Iterator[str]:
    """What a setting is set to, if that is a place."""
    named = [piece for piece in said[1:] if not piece.is_word("GLOBAL", "LOCAL", "SESSION")]
    name = named[0].said.lower() if named else ""
    if name == "home_directory":
        raise SqlRefused("`home_directory` would lead `~` elsewhere", "write paths in full instead")
    if _PLACE_SETTINGS.search(name):
        yield from _plain(named[1:], has_words=True)


def _plain(said: Sequence[Piece], *, has_words: bool = False) -> Iterator[str]:
    """What may be a path; raises SqlRefused if one is put together only when the statement runs."""
    kinds = {PieceKind.TEXT, PieceKind.NAME, *([PieceKind.WORD] if has_words else [])}
    for piece, after in zip_longest(said, said[1:]):
        if piece.kind in kinds:
            yield piece.said
        is_operator = piece.kind is PieceKind.SIGN and piece.said in _OPERATORS
        if piece.has_escapes or is_operator or (after is not None and _is_made(piece, after)):
            raise SqlRefused("where this writes is not said plainly", _IN_FULL)


def _is_made(piece: Piece, after: Piece) -> bool:
    """Whether two pieces together are one value: a function, texts in a row, a text in another notation."""
    is_text = after.kind is PieceKind.TEXT
    is_function = piece.kind in {PieceKind.WORD, PieceKind.NAME} and after.is_sign("(")
    is_notation = piece.kind is PieceKind.WORD and len(piece.said) == 1 and is_text
    return is_function or is_notation or (piece.kind is PieceKind.TEXT and is_text)


def _bracket(said: Sequence[Piece]) -> Sequence[Piece]:
    """From the first bracket that opens to the one that closes it."""
    depth, first = 0, 0
    for at, piece in enumerate(said):
        if depth == 0 and piece.is_sign("("):
            first = at
        depth += _step(piece)
        if depth == 0 and piece.is_sign(")"):
            return said[first : at + 1]
    return said[first:]


def _step(piece: Piece) -> int:
    return piece.is_sign("(") - piece.is_sign(")")


def _is_inside(root: Path, text: str) -> bool:
    return any(is_inside(root, path) for path in _paths(text))


def _is_above(root: Path, text: str) -> bool:
    try:
        return any(root.resolve().is_relative_to(path.resolve()) for path in _paths(text))
    except (OSError, RuntimeError, ValueError):
        return False  # no path that the system knows


def _paths(text: str) -> Iterator[Path]:
    """All that DuckDB may take a text for: it follows `~` with the rest as it is."""
    yield Path(text)
    if text.startswith("~"):
        with suppress(RuntimeError):  # nobody has a home
            yield Path(str(Path("~").expanduser()) + text[1:])
    if prefix := _PREFIX.match(text):
        yield from _paths(text[prefix.end() :])


def _is_same(one: Path, other: Path) -> bool:
    """Whether both are the same folder, also where letters count alike or a folder is seen at two places."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
