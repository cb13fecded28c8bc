"""SQL text cut into words, quoted names, strings, numbers and symbols, as Spark's lexer cuts it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from hakiri.transforms.sql.errors import BadSql

LONGEST_TEXT = 1_000_000


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


_SPACE = re.compile(r"[ \t\n\f\r\x0b\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+")
_LINE_COMMENT = re.compile(r"--(?:\\\n|[^\r\n])*")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_STRING = re.compile(r"'(?:[^'\\]|\\.|'')*'" + r'|"(?:[^"\\]|\\.|"")*"', re.DOTALL)
_RAW_STRING = re.compile(r"[rR](?:'[^']*'|\"[^\"]*\")", re.DOTALL)
_QUOTED = re.compile(r"`(?:[^`]|``)*`", re.DOTALL)
_WORD = re.compile(r"\w+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_]+")
# A number with a dot ends where no letter follows: in `t.1a` the dot is no decimal point.
_NUMBER = re.compile(
    r"(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?:BD|[DF])?(?![A-Za-z0-9_])"
    r"|\d+[eE][+-]?\d+(?:BD|[DF])?|\d+(?:BD|[DFLSY])?)",
    re.ASCII | re.IGNORECASE,
)
_SYMBOL = re.compile(r"<=>|<>|!=|<=|>=|!>|!<|==|\|\||\|>|::|->|=>|[-+*/%&|^~!=<>()\[\]{},.:;?@$#\\]")

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
        end = _after_gap(text, at, line, at - line_start + 1)
        if end == at:
            kind, end, value = _next(text, at, line, at - line_start + 1)
            yield Token(kind, text[at:end], value, at, line, at - line_start + 1)
        breaks = text.count("\n", at, end)
        if breaks:
            line, line_start = line + breaks, text.rindex("\n", at, end) + 1
        at = end
    yield Token(Kind.END, "", "", at, line, at - line_start + 1)


def _after_gap(text: str, at: int, line: int, column: int) -> int:
    """Where the spaces or the comment that begin here end; the same place if there are none."""
    if gap := _SPACE.match(text, at) or _LINE_COMMENT.match(text, at):
        return gap.end()
    if not text.startswith("/*", at):
        return at
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


def _next(text: str, at: int, line: int, column: int) -> tuple[Kind, int, str]:
    if found := _RAW_STRING.match(text, at):
        return Kind.STRING, found.end(), found[0][2:-1]
    if found := _STRING.match(text, at):
        return Kind.STRING, found.end(), _unescaped(found[0], line, column)
    if found := _QUOTED.match(text, at):
        return Kind.QUOTED, found.end(), found[0][1:-1].replace("``", "`")
    number, word = _NUMBER.match(text, at), _WORD.match(text, at)
    if number and (word is None or number.end() >= word.end()):
        return Kind.NUMBER, number.end(), number[0]
    if word:
        if not _PLAIN_WORD.fullmatch(word[0]):
            raise BadSql(
                f"`{word[0]}` has letters that a name without quotes cannot have",
                line=line,
                column=column,
                hint="write the name in backticks",
            )
        return Kind.WORD, word.end(), word[0]
    if found := _SYMBOL.match(text, at):
        return Kind.SYMBOL, found.end(), found[0]
    if text[at] in "'\"`":
        raise BadSql(
            f"the quote {text[at]} has no end", line=line, column=column, hint="close it with the same quote"
        )
    raise BadSql(
        f"the character `{text[at]}` means nothing in SQL", line=line, column=column, hint="remove it"
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
