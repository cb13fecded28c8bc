"""The line that somebody writes on: history, completion, colours and many lines, by prompt_toolkit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth

from hakiri.cli.query.shell.completing import Vocabulary, is_complete, proposals

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from prompt_toolkit.lexers import Lexer

    from hakiri.cli.query.place import StorePlace

HISTORY = ".hakiri/query_history"


def prompt_of(place: StorePlace, vocabulary: Vocabulary, at: datetime | None = None) -> Callable[[], str]:
    """A function that reads one statement, or one line for the shell. It raises EOFError at Ctrl-D.

    `at` is the moment that the shell shows, if it is not the present.
    """
    has_colors = place.app.console.out_has_colors
    first = f"{place.project}> " if at is None else f"{place.project} at {at:%Y-%m-%d %H:%M:%SZ}> "
    session: PromptSession[str] = PromptSession(
        first,
        prompt_continuation=lambda width, _line, _is_soft: "...> ".rjust(width),
        multiline=True,
        key_bindings=_keys(),
        history=_history(place.app.project_dir / HISTORY),
        auto_suggest=AutoSuggestFromHistory(),
        completer=_SqlCompleter(vocabulary),
        complete_while_typing=False,
        lexer=_lexer() if has_colors else None,
        color_depth=None if has_colors else ColorDepth.DEPTH_1_BIT,
    )
    return session.prompt


class _SqlCompleter(Completer):
    """Offers what `proposals` finds."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        found = proposals(document.text_before_cursor, document.text, self._vocabulary)
        for word in found.words:
            yield Completion(word, start_position=-found.letters)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state:
            buffer.complete_state = None  # the first Enter takes what is chosen
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _history(path: Path) -> History:
    """What was asked in this project before; only of this time if its folder cannot be written."""
    try:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def _lexer() -> Lexer:
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer  # type: ignore[import-untyped]

    lexer: Any = SqlLexer
    return PygmentsLexer(lexer)
