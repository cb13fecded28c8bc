"""The two streams of a command: asked-for data on stdout, everything said to a person on stderr."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console as RichConsole

BOLD, RED, GREEN, YELLOW, CYAN = "1", "1;31", "32", "33", "36"

# Only the fixed words of a message are coloured: with colours off the text says the same.
_STYLED_WORDS = {
    r"^(error\[[^\]]*\]:)": RED,
    r"^(warning:)": YELLOW,
    r"^(\s*hint:)": CYAN,
    r"^(\s*-->)": CYAN,
}
# A table that nobody reads on a screen is never cut, however long its cells are.
_UNBOUNDED_WIDTH = 100_000


def may_use_colors(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Whether `stream` gets colours: a terminal, or FORCE_COLOR; never with NO_COLOR."""
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return stream.isatty() and env.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def with_styled_words(text: str) -> str:
    """The same text with `error[…]:`, `warning:`, `hint:` and `-->` at line starts in colour."""
    for words, style in _STYLED_WORDS.items():
        text = re.sub(words, styled(r"\1", style), text, flags=re.MULTILINE)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Where a command writes. `out` carries what was asked for, `err` all the rest."""

    out: TextIO
    err: TextIO
    out_has_colors: bool = False
    err_has_colors: bool = False
    env: Mapping[str, str]
    is_quiet: bool = False
    is_verbose: bool = False

    def print(self, text: str) -> None:
        """Write a part of the report that was asked for."""
        self.out.write(f"{text}\n")

    def data(self, report: object) -> None:
        """Write a report as one line of JSON: `{"schema_version": 1, …}`. Call it again to stream."""
        from hakiri.cli.reports.envelope import to_json

        self.out.write(f"{to_json(report)}\n")
        self.out.flush()

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Write rows under their column names. Cells are cut to the screen, never in a file or a pipe."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        console = self.rich_out()
        with console.capture() as captured:
            console.print(table)
        self.out.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))

    def diff(self, text: str) -> None:
        """Write a unified diff; the signs at the line starts say it all, colours help the eye."""
        styles = {"+": GREEN, "-": RED, "@": CYAN}
        for line in text.splitlines():
            style = None if line.startswith(("+++", "---")) else styles.get(line[:1])
            self.print(self.highlighted(line, style) if style else line)

    def note(self, text: str) -> None:
        """Tell a person something that is not the report; silent with `--quiet`."""
        if not self.is_quiet:
            self._say(text)

    def detail(self, text: str) -> None:
        """Tell a person something that only `--verbose` asks for."""
        if self.is_verbose:
            self._say(text)

    def warn(self, text: str, *, hint: str = "") -> None:
        """Tell a person that something may be wrong; silent with `--quiet`."""
        self.note(f"warning: {text}" + (f"\nhint: {hint}" if hint else ""))

    def error(self, text: str) -> None:
        """Say what went wrong. Never silent."""
        self._say(text)

    def highlighted(self, text: str, style: str) -> str:
        """`text` in colour if stdout has colours."""
        return styled(text, style) if self.out_has_colors else text

    def rich_out(self) -> RichConsole:
        """A rich console on stdout that follows the same rules for colours."""
        return self._rich(self.out, has_colors=self.out_has_colors)

    def rich_err(self) -> RichConsole:
        """A rich console on stderr, for progress, that follows the same rules for colours."""
        return self._rich(self.err, has_colors=self.err_has_colors)

    def _say(self, text: str) -> None:
        self.out.flush()  # where both streams end up in one file, they stand there in the order of saying
        self.err.write(f"{with_styled_words(text) if self.err_has_colors else text}\n")
        self.err.flush()

    def _rich(self, stream: TextIO, *, has_colors: bool) -> RichConsole:
        from rich.console import Console as RichConsole

        look: dict[str, Any] = {"color_system": "standard"} if has_colors else {"color_system": None}
        if not stream.isatty():
            look["width"] = _UNBOUNDED_WIDTH
        return RichConsole(
            file=stream,
            force_terminal=has_colors or stream.isatty(),
            no_color=not has_colors,
            highlight=False,
            markup=False,
            emoji=False,
            _environ=self.env,
            **look,
        )
