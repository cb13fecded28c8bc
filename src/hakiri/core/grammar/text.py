"""Reading a short text from left to right, and refusing it at the position where it goes wrong."""

from __future__ import annotations

from hakiri.core.errors import ExitCode, HakiriError

LONGEST_SHOWN = 60
DIGITS = frozenset("0123456789")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class BadText(HakiriError):
    """A text that does not follow its grammar.

    `position` counts from 0, as slices do; the message counts from 1, as people and editors do.
    """

    code = "grammar.bad_text"
    exit_code = ExitCode.USAGE

    def __init__(
        self, kind: str, text: str, *, position: int, expected: str, hint: str, found: str | None = None
    ) -> None:
        self.kind = kind
        self.text = text
        self.position = position
        self.expected = expected
        self.found = text[position : position + 1] if found is None else found
        whole = f"`{shortened(text)}`" if text else "an empty text"
        seen = f"unexpected `{shortened(self.found)}`" if self.found else "unexpected end"
        super().__init__(
            f"{whole} is not a {kind}: {seen} at position {position + 1} ({expected} was expected)", hint=hint
        )

    def inside(self, kind: str, text: str, *, offset: int, hint: str) -> BadText:
        """The same refusal, told about the longer text in which this one begins at `offset`."""
        return BadText(
            kind, text, position=offset + self.position, expected=self.expected, hint=hint, found=self.found
        )


class OutOfCalendar(HakiriError):
    """A moment that would lie before the year 1 or after the year 9999."""

    code = "grammar.out_of_calendar"
    exit_code = ExitCode.USAGE


def shortened(text: str) -> str:
    """The text on one line and at most 60 characters long, fit to stand in a message."""
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return printable if len(printable) <= LONGEST_SHOWN else printable[: LONGEST_SHOWN - 1] + "…"


class Reader:
    """Walks over one text and knows where it is, so that every refusal can say where."""

    def __init__(self, kind: str, text: str, *, hint: str) -> None:
        self.kind = kind
        self.text = text
        self.hint = hint
        self.position = 0

    @property
    def is_at_end(self) -> bool:
        return self.position >= len(self.text)

    @property
    def next_character(self) -> str:
        return self.text[self.position : self.position + 1]

    def take_character(self, wanted: str) -> bool:
        """Step over the next character if it is one of `wanted`."""
        if self.is_at_end or self.next_character not in wanted:
            return False
        self.position += 1
        return True

    def take_digits(self, *, at_most: int | None = None) -> str:
        return self._take_while(DIGITS, at_most)

    def take_letters(self) -> str:
        return self._take_while(LETTERS, None)

    def refusal(self, expected: str, *, at: int | None = None) -> BadText:
        """The error for the next character or, with `at`, for everything from there to here."""
        if at is None:
            return BadText(self.kind, self.text, position=self.position, expected=expected, hint=self.hint)
        found = self.text[at : self.position]
        return BadText(self.kind, self.text, position=at, expected=expected, hint=self.hint, found=found)

    def _take_while(self, wanted: frozenset[str], at_most: int | None) -> str:
        start = self.position
        end = len(self.text) if at_most is None else min(len(self.text), start + at_most)
        while self.position < end and self.text[self.position] in wanted:
            self.position += 1
        return self.text[start : self.position]
