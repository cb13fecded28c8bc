"""Names and texts as SQL has them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as an identifier, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a value."""
    return "'" + text.replace("'", "''") + "'"
