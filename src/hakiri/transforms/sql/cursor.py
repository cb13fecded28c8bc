"""A place in the tokens that moves forward, and how a parser says that something else should stand there."""

from __future__ import annotations

from typing import NoReturn

from hakiri.transforms.sql.errors import BadSql
from hakiri.transforms.sql.tokens import Kind, Token, tokens_of

# Parentheses, calls, subqueries and signs inside each other. Protobuf allows 100 messages; a call is two.
MOST_NESTED = 48


class Cursor:
    """Reads tokens one after the other. `index` may be set back to a place that was noted before."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._depth = 0
        self.index = 0

    @property
    def token(self) -> Token:
        return self._tokens[self.index]

    def ahead(self, count: int = 1) -> Token:
        """The token after this many more; the last one stands for all behind it."""
        return self._tokens[min(self.index + count, len(self._tokens) - 1)]

    def before(self) -> Token:
        return self._tokens[max(self.index - 1, 0)]

    def take(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def at_word(self, *words: str) -> bool:
        return self.token.word in words

    def at_words(self, *words: str) -> bool:
        """Whether all these words follow one another here."""
        return all(self.ahead(offset).word == word for offset, word in enumerate(words))

    def at_symbol(self, *symbols: str) -> bool:
        return self.token.kind is Kind.SYMBOL and self.token.text in symbols

    def at_name(self) -> bool:
        return self.token.kind in {Kind.WORD, Kind.QUOTED}

    def accept_word(self, *words: str) -> str:
        """Take the word if it is one of these, and say which; else the empty text."""
        if self.token.kind is Kind.WORD and self.token.word in words:
            return self.take().word
        return ""

    def accept_words(self, *words: str) -> bool:
        if not self.at_words(*words):
            return False
        self.index += len(words)
        return True

    def accept_symbol(self, symbol: str) -> bool:
        if not self.at_symbol(symbol):
            return False
        self.index += 1
        return True

    def expect_word(self, *words: str) -> str:
        return self.accept_word(*words) or self.unexpected(" or ".join(f"`{word}`" for word in words))

    def expect_symbol(self, symbol: str) -> None:
        if not self.accept_symbol(symbol):
            self.unexpected(f"`{symbol}`")

    def expect_name(self, what: str) -> str:
        """A name, in backticks or not."""
        if not self.at_name() or not self.token.value:
            self.unexpected(what)
        return self.take().value

    def expect_end(self) -> None:
        while self.accept_symbol(";"):
            pass
        if self.token.kind is not Kind.END:
            self.unexpected("the end of the text")

    def deeper(self) -> None:
        """Note that something begins inside something else; `shallower` when it has ended."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            self.fail(
                f"more than {MOST_NESTED} levels are nested in each other",
                "move an inner part into a CTE or into a step of its own",
            )

    def shallower(self, levels: int = 1) -> None:
        self._depth -= levels

    def unexpected(self, wanted: str) -> NoReturn:
        found = "the text ends" if self.token.kind is Kind.END else f"found `{_shown(self.token.text)}`"
        hint = "mend the text at this place"
        if self.token.kind is Kind.WORD and wanted.startswith("a"):
            hint = f"write `{_shown(self.token.text)}` in backticks if it is a name"
        self.fail(f"expected {wanted}, {found}", hint)

    def fail(self, problem: str, hint: str, at: Token | None = None) -> NoReturn:
        token = at or self.token
        raise BadSql(problem, line=token.line, column=token.column, hint=hint)


def _shown(text: str) -> str:
    """Backticks would end the quotation in the message; a long token would hide what is said about it."""
    short = text if len(text) <= 40 else f"{text[:40]}…"  # noqa: PLR2004
    return short.strip("`")
