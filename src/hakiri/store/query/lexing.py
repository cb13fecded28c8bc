"""The pieces that a text of SQL is made of, as far as it matters what is quoted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

# Texts, names and comments, whether they end or not. An E or a dollar sign within a word begins none.
_QUOTED = r"""
      (?<![\w$])[eE]'(?P<escaped>(?:[^'\\]+|\\.?|'')*)(?P<end_escaped>'?)
    | '(?P<text>(?:[^']+|'')*)(?P<end_text>'?)
    | "(?P<name>(?:[^"]+|"")*)(?P<end_name>"?)
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$(?P<dollar>.*?)(?P<end_dollar>\$(?P=tag)\$|\Z)
    | (?P<line>--[^\n]*)
    | (?P<block>/\*)
    """
_PIECE = re.compile(rf"{_QUOTED} | (?P<word>\w[\w$]*) | \S", re.VERBOSE | re.DOTALL)
# The same without what is only passed over, for statements with a million values.
_END = re.compile(rf"{_QUOTED} | (?P<end>;)", re.VERBOSE | re.DOTALL)
_BLOCK_MARK = re.compile(r"/\*|\*/")


class PieceKind(Enum):
    """What a piece is."""

    TEXT = auto()
    NAME = auto()
    COMMENT = auto()
    WORD = auto()
    SIGN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text or a name without its quotes, a comment, a word, or any other sign.

    `start` and `end` are its place, with the quotes. `is_whole` is False for what begins and never ends,
    `has_escapes` is True for a text whose backslashes mean other signs.
    """

    kind: PieceKind
    said: str
    start: int
    end: int
    is_whole: bool = True
    has_escapes: bool = False

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words, which are in capitals."""
        return self.kind is PieceKind.WORD and self.said.upper() in words

    def is_sign(self, sign: str) -> bool:
        return self.kind is PieceKind.SIGN and self.said == sign


def pieces(sql: str) -> Iterator[Piece]:
    """The pieces of a text from its start to its end; blanks between them are none."""
    at = 0
    while found := _PIECE.search(sql, at):
        piece = _block(sql, found.start()) if found["block"] else _piece(found)
        yield piece
        at = piece.end


def statement_end(sql: str) -> int:
    """Where the first semicolon stands that means one, or the end of the text."""
    at = 0
    while found := _END.search(sql, at):
        if found["end"]:
            return found.start()
        at = _block(sql, found.start()).end if found["block"] else found.end()
    return len(sql)


def is_ended(sql: str) -> bool:
    """Whether nothing is left open, and the last that is said is a semicolon."""
    said = [piece for piece in pieces(sql) if piece.kind is not PieceKind.COMMENT or not piece.is_whole]
    return bool(said) and all(piece.is_whole for piece in said) and said[-1].is_sign(";")


def _piece(found: re.Match[str]) -> Piece:
    kind, said, is_whole, has_escapes = PieceKind.SIGN, found.group(), True, False
    if found["escaped"] is not None:
        kind, said = PieceKind.TEXT, found["escaped"].replace("''", "'")
        is_whole, has_escapes = bool(found["end_escaped"]), "\\" in said
    elif found["text"] is not None:
        kind, said, is_whole = PieceKind.TEXT, found["text"].replace("''", "'"), bool(found["end_text"])
    elif found["name"] is not None:
        kind, said, is_whole = PieceKind.NAME, found["name"].replace('""', '"'), bool(found["end_name"])
    elif found["dollar"] is not None:
        kind, said, is_whole = PieceKind.TEXT, found["dollar"], bool(found["end_dollar"])
    elif found["line"]:
        kind = PieceKind.COMMENT
    elif found["word"]:
        kind = PieceKind.WORD
    return Piece(
        kind=kind,
        said=said,
        start=found.start(),
        end=found.end(),
        is_whole=is_whole,
        has_escapes=has_escapes,
    )


def _block(sql: str, start: int) -> Piece:
    """The comment that begins there, with those within it."""
    depth, end = 0, len(sql)
    for mark in _BLOCK_MARK.finditer(sql, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            end = mark.end()
            break
    return Piece(kind=PieceKind.COMMENT, said=sql[start:end], start=start, end=end, is_whole=depth == 0)
