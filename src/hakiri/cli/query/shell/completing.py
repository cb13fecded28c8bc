"""What could stand where somebody writes, and whether a statement is written to its end. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from hakiri.cli.query.shell.dots import COMMANDS
from hakiri.store.query.lexing import is_ended

_WORD = re.compile(r"[\w.\"]*$")
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_BEFORE_TABLE = re.compile(r"\b(from|join|describe|summarize|table|into|update)\s+[\w\"]*$", re.IGNORECASE)
_ALIAS = re.compile(
    r"\b(?:from|join|,)\s*\"?(?P<table>\w+)\"?\s+(?:as\s+)?\"?(?P<alias>\w+)\"?", re.IGNORECASE
)


class Vocabulary(Protocol):
    """The words that mean something in this store."""

    def tables(self) -> Sequence[str]:
        """The names of all tables."""

    def columns(self, table: str) -> Sequence[str]:
        """The columns of a table; none if it cannot be read."""

    def keywords(self) -> Sequence[str]:
        """The words of the SQL itself."""


class Proposals(NamedTuple):
    """Words that may stand in the place of the last letters; each as it is written, quoted if need be."""

    letters: int
    words: tuple[str, ...]


def is_complete(text: str) -> bool:
    """Whether nothing more is to be written: a line for the shell, or a statement with its semicolon."""
    if not text.strip() or text.lstrip().startswith("."):
        return True
    return is_ended(text)


def proposals(before: str, whole: str, vocabulary: Vocabulary) -> Proposals:
    """What could complete the text before the cursor, with what fits best first."""
    if before.lstrip().startswith("."):
        return _dot_proposals(before.lstrip(), vocabulary)
    word = _WORD.search(before)
    written = word.group() if word else ""
    owner, dot, begun = written.rpartition(".")
    if dot:
        return _columns_of(owner.strip('"'), begun, whole, vocabulary)
    named = _named_tables(whole, vocabulary.tables())
    columns = [name for table in named for name in vocabulary.columns(table)]
    tables = list(vocabulary.tables())
    first, second = (tables, []) if _BEFORE_TABLE.search(before) else (columns, tables)
    words = [*map(as_name, first), *map(as_name, second)]
    if written and not _BEFORE_TABLE.search(before):
        words += [_in_case_of(written, keyword) for keyword in vocabulary.keywords()]
    return _fitting(written, words)


def as_name(name: str) -> str:
    """The name as SQL wants it: in quotes unless it is a plain word."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _dot_proposals(before: str, vocabulary: Vocabulary) -> Proposals:
    command, blank, rest = before.partition(" ")
    if not blank:
        return _fitting(command, list(COMMANDS))
    values: Mapping[str, Iterable[str]] = {
        ".schema": vocabulary.tables(),
        ".timer": ("on", "off"),
        ".mode": ("table", "csv", "json"),
        ".rows": ("all",),
    }
    return _fitting(rest, list(values.get(command, ())))


def _columns_of(owner: str, begun: str, whole: str, vocabulary: Vocabulary) -> Proposals:
    known = {table.casefold(): table for table in vocabulary.tables()}
    aliases = {
        match["alias"].casefold(): known[match["table"].casefold()]
        for match in _ALIAS.finditer(whole)
        if match["table"].casefold() in known
    }
    table = aliases.get(owner.casefold()) or known.get(owner.casefold())
    if owner.casefold() == "hakiri":
        return _fitting(begun, ["tables"])
    return _fitting(begun, [as_name(name) for name in vocabulary.columns(table)] if table else [])


def _named_tables(text: str, tables: Iterable[str]) -> list[str]:
    words = {word.casefold() for word in re.findall(r"[\w-]+", text)}
    return [table for table in tables if table.casefold() in words]


def _in_case_of(written: str, keyword: str) -> str:
    return keyword.lower() if written.islower() else keyword.upper()


def _fitting(begun: str, words: Iterable[str]) -> Proposals:
    wanted = begun.casefold().lstrip('"')
    fits = [word for word in words if word.casefold().lstrip('"').startswith(wanted)]
    return Proposals(len(begun), tuple(dict.fromkeys(fits)))
