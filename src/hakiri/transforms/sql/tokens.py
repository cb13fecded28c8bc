"""SQL text cut into words, quoted names, strings, numbers and symbols, as Spark's lexer cuts it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from hakiri.transforms.sql.errors import BadSql

LONGEST_TEXT = 250_000


class Kind(Enum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "the end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is what stands there; `value` is what it means: a name without backticks, a string's letters."""

    kind: Kind
    text: str
    value: str
    start: int
    line: int
    column: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """A keyword as keywords are compared; nothing for every other kind of token."""
        return self.text.upper() if self.kind is Kind.WORD else ""


_TOKEN = re.compile(
    r"""
    (?P<gap> (?: [ \t\n\f\r\x0b\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]
               | --(?:\\\n|[^\r\n])* )+ )
    | (?P<comment> /\* )
    | (?P<raw> [rR] (?: '[^']*' | "[^"]*" ) )
    | (?P<string> ' (?: [^'\\] | \\. | '' )* ' | " (?: [^"\\] | \\. | "" )* " )
    | (?P<quoted> ` (?: [^`] | `` )* ` )
    # What goes on with a letter is a name: `1a`, and `t.1a` is two of them.
    | (?P<number> (?: (?: [0-9]+\.[0-9]* | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)? (?:[bB][dD]|[dDfF])?
                    | [0-9]+[eE][+-]?[0-9]+ (?:[bB][dD]|[dDfF])?
                    | [0-9]+ (?:[bB][dD]|[dDfFlLsSyY])? ) (?!\w) )
    | (?P<word> \w+ )
    | (?P<symbol> <=> | <> | != | <= | >= | !> | !< | == | \|\| | \|> | :: | -> | =>
                | [-+*/%&|^~!=<>()\[\]{},.:;?@$\#\\] )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_]+")

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_HIGHEST_LETTER = 0x10FFFF


def tokens_of(text: str) -> list[Token]:
    """All tokens, the last of kind END. Raises BadSql where Spark's lexer would stop."""
    if len(text) > LONGEST_TEXT:
        raise BadSql(
            f"the text has {len(text)} characters, and {LONGEST_TEXT} are allowed",
            line=1,
            column=1,
            hint="split the transform into several steps",
        )
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    at, line, line_start = 0, 1, 0
    while at < len(text):
        found, column = _TOKEN.match(text, at), at - line_start + 1
        if found is None:
            raise _uncut(text[at], line, column)
        end, group = found.end(), found.lastgroup
        if group == "comment":
            end = _after_comment(text, at, line, column)
        elif group != "gap":
            kind, value = _meaning(str(group), found[0], line, column)
            yield Token(kind, found[0], value, at, line, column)
        if breaks := text.count("\n", at, end):
            line, line_start = line + breaks, text.rindex("\n", at, end) + 1
        at = end
    yield Token(Kind.END, "", "", at, line, at - line_start + 1)


def _after_comment(text: str, at: int, line: int, column: int) -> int:
    if text.startswith("/*+", at):
        raise BadSql(
            "hints in comments are not supported", line=line, column=column, hint="remove the `/*+ … */`"
        )
    depth, end = 0, at
    while edge := _COMMENT_EDGE.search(text, end):
        depth, end = depth + (1 if edge[0] == "/*" else -1), edge.end()
        if depth == 0:
            return end
    raise BadSql("the comment has no end", line=line, column=column, hint="close it with `*/`")


def _meaning(group: str, text: str, line: int, column: int) -> tuple[Kind, str]:
    if group == "word" and not _PLAIN_WORD.fullmatch(text):
        raise BadSql(
            f"`{text}` has letters that a name without quotes cannot have",
            line=line,
            column=column,
            hint="write the name in backticks",
        )
    match group:
        case "raw":
            return Kind.STRING, text[2:-1]
        case "string":
            return Kind.STRING, _unescaped(text, line, column)
        case "quoted":
            return Kind.QUOTED, text[1:-1].replace("``", "`")
    return Kind[group.upper()], text


def _uncut(letter: str, line: int, column: int) -> BadSql:
    if letter in "'\"`":
        return BadSql(
            f"the quote {letter} has no end", line=line, column=column, hint="close it with the same quote"
        )
    return BadSql(
        f"the character `{letter}` means nothing in SQL", line=line, column=column, hint="remove it"
    )


def _unescaped(quoted: str, line: int, column: int) -> str:
    quote = quoted[0]

    def letter(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        if code is None:
            return chr(int(found[3], 8)) if found[3] else _ESCAPED.get(found[4], found[4])
        if int(code, 16) > _HIGHEST_LETTER or 0xD800 <= int(code, 16) <= 0xDFFF:  # noqa: PLR2004  # surrogates
            raise BadSql(
                f"`{found[0]}` is no character", line=line, column=column, hint="write the character itself"
            )
        return chr(int(code, 16))

    # Both in one pass: a doubled quote may stand right behind a backslash that belongs to another.
    parts = re.split(f"((?:\\\\.)|{quote}{quote})", quoted[1:-1], flags=re.DOTALL)
    if len(parts) == 1:
        return parts[0]
    return _ESCAPE.sub(letter, "".join("\\" + quote if part == quote * 2 else part for part in parts))
