"""Reading, answering, and going on, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hakiri.cli.failures import as_hakiri_error, human_text
from hakiri.cli.query.command import file_text
from hakiri.cli.query.shell.completing import as_name
from hakiri.cli.query.shell.dots import MODES, DotCommand, chosen, help_lines, most_rows, parse_dot
from hakiri.cli.query.showing import SHOWN_ROWS, Viewer, counted
from hakiri.cli.query.waiting import Watch
from hakiri.core.errors import HakiriError, UsageError
from hakiri.store.errors import moment_text

if TYPE_CHECKING:
    from hakiri.cli.query.place import StorePlace
    from hakiri.store.query.session import Session, Statement

ALL_HINT = "`.rows all` shows all of them"
_MILLISECONDS = 1000


def run_shell(place: StorePlace, session: Session) -> None:
    """Answer what somebody asks until they leave."""
    from hakiri.cli.query.shell.prompt import prompt_of

    shell = Shell(place, session)
    shell.run(prompt_of(place, shell, session.state.at))


class Shell:
    """What the shell knows from one statement to the next. It is the vocabulary of its own completion."""

    def __init__(self, place: StorePlace, session: Session) -> None:
        self._place = place
        self._session = session
        self._console = place.app.console
        self._clock = place.app.clock
        watch = Watch(self._console, self._clock, session)
        self._watch = watch
        self._viewer = Viewer(console=self._console, session=session, watch=watch, all_hint=ALL_HINT)
        self._mode = MODES[0]
        self._most: int | None = SHOWN_ROWS
        self._has_timer = True
        self._tables: Sequence[str] | None = None
        self._columns: dict[str, Sequence[str]] = {}
        self._keywords: Sequence[str] | None = None

    def run(self, read: Callable[[], str]) -> None:
        """Take what `read` brings until it raises EOFError or somebody says `.quit`."""
        self._greet()
        while True:
            try:
                text = read()
                if text.strip() and not self.take(text):
                    return
            except KeyboardInterrupt as interrupt:
                if type(interrupt) is not KeyboardInterrupt:
                    raise  # SIGTERM ends more than a statement
                self._console.error("interrupted")
            except EOFError:
                return
            except (HakiriError, OSError) as error:
                self._console.error(human_text(as_hakiri_error(error)))
            self._console.out.flush()

    def take(self, text: str) -> bool:
        """Do what a text asks for; False if it asks to end."""
        if text.lstrip().startswith("."):
            return self._take_dot(parse_dot(text))
        self._ask(text)
        return True

    def tables(self) -> Sequence[str]:
        if self._tables is None:
            self._tables = self._session.tables()
        return self._tables

    def columns(self, table: str) -> Sequence[str]:
        if table not in self._columns:
            try:
                self._columns[table] = [name for name, _ in self._described(table)]
            except HakiriError:
                self._columns[table] = ()  # whoever asks the table is told why it cannot be read
        return self._columns[table]

    def keywords(self) -> Sequence[str]:
        if self._keywords is None:
            self._keywords = self._session.keywords()
        return self._keywords

    def _greet(self) -> None:
        tables, state = self.tables(), self._session.state
        then = "" if state.at is None else f" as of {moment_text(state.at)}"
        self._console.note(
            f"{self._place.project}{then}: {len(tables)} table{'s' * (len(tables) != 1)}; `.help` for help"
        )
        if not tables and state.at is None:
            self._console.note("the store has no tables yet; `hakiri apply` pulls what there is")

    def _ask(self, text: str) -> None:
        if self._session.refresh():
            self._tables = None
            self._columns.clear()
        statements = self._session.split(text)
        self._session.prepare(text)
        for statement in statements:
            begun = self._clock.monotonic()
            words = self._show(statement)
            if self._has_timer:
                self._console.out.flush()
                self._console.note(f"{words} in {time_words(self._clock.monotonic() - begun)}")

    def _show(self, statement: Statement) -> str:
        if not statement.has_rows:
            changed = self._watch.wait_for(lambda: self._session.run(statement))
            return "done" if changed is None else counted(changed)
        if self._mode == "csv":
            self._viewer.show_csv(statement)
            return "done"
        if self._mode == "json":
            return counted(self._viewer.show_json(statement))
        total = self._viewer.show_table(statement, most=self._most)
        return "some rows" if total is None else counted(total)

    def _take_dot(self, command: DotCommand) -> bool:
        match command.name:
            case ".quit":
                return False
            case ".help":
                self._print(help_lines())
            case ".tables":
                self._session.refresh()
                self._tables = None
                self._print(self.tables())
            case ".schema":
                self._print_schema(command.argument)
            case ".timer":
                self._has_timer = chosen(command, "on", "off") == "on"
            case ".mode":
                self._mode = chosen(command, *MODES)
            case ".rows":
                self._most = most_rows(command)
            case ".read":
                self._read(command.argument)
        return True

    def _read(self, file: str) -> None:
        if not file:
            raise UsageError("`.read` takes a file", hint="write `.read report.sql`")
        self._ask(file_text(self._place.app.cwd / file))

    def _print_schema(self, table: str) -> None:
        for name in [table] if table else self.tables():
            described = self._described(name)
            widest = max((len(as_name(column)) for column, _ in described), default=0)
            self._print(
                [as_name(name), *(f"  {as_name(column):<{widest}}  {kind}" for column, kind in described)]
            )

    def _described(self, table: str) -> list[tuple[str, str]]:
        return self._session.describe(table)

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._console.print(line)


def time_words(seconds: float) -> str:
    """`12 ms`, `3.4 s`, `2 min 05 s`."""
    from hakiri.cli.board.words import seconds_words

    return f"{seconds * _MILLISECONDS:.0f} ms" if seconds < 1 else seconds_words(seconds)
