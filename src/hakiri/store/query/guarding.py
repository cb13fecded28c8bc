"""Which file of the store a statement would write.

DuckDB keeps the views from being changed. It does not keep `COPY … TO` from writing over a file of the store,
since to it that is a file like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hakiri.store.query.errors import SqlRefused

# The statements that write files, or that lead later ones to them.
COPIERS = frozenset({"COPY", "EXPLAIN", "PREPARE"})
WRITERS = COPIERS | {
    "ATTACH",
    "COPY_DATABASE",
    "EXECUTE",
    "EXPORT",
    "MULTI",
    "PRAGMA",
    "SET",
    "VARIABLE_SET",
}
# Texts in quotes, where a doubled quote is one, or between dollar signs; words; any other sign.
_COMMENTS = re.compile(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PIECES = re.compile(
    r"'(?P<single>(?:[^']|'')*)'|\"(?P<double>(?:[^\"]|\"\")*)\""
    r"|\$(?P<tag>\w*)\$(?P<dollar>.*?)\$(?P=tag)\$|(?P<word>\w+)|\S",
    re.DOTALL,
)


def written_into(root: Path, *, kind: str, sql: str) -> str | None:
    """The path in a statement that lies in the folder `root` and might be written, or None.

    Raises SqlRefused for a `COPY` whose target is not written out.
    """
    if kind not in WRITERS:
        return None
    real_root = root.resolve()
    said = _COMMENTS.sub(lambda found: found[1] or " ", sql)
    targets = _copied_to(said) if kind in COPIERS else _texts(said)
    return next((text for text in targets if _is_inside(real_root, text)), None)


def is_inside(root: Path, path: Path) -> bool:
    """Whether a path lies in the folder, by whatever way."""
    return _is_inside(root.resolve(), str(path))


def _texts(sql: str) -> Iterator[str]:
    return filter(None, map(_text_of, _PIECES.finditer(sql)))


def _copied_to(sql: str) -> Iterator[str]:
    """The texts behind the `TO` of a `COPY`; what stands before is read."""
    depth, is_copy, is_target = 0, False, False
    for piece in _PIECES.finditer(sql):
        text, word = _text_of(piece), (piece["word"] or "").upper()
        if is_target:
            if text is None:
                raise SqlRefused("the target of `COPY` is not a plain text", "write the path in quotes")
            yield text
            return
        depth += {"(": 1, ")": -1}.get(piece.group(), 0)
        is_copy = is_copy or (depth == 0 and word == "COPY")
        is_target = is_copy and depth == 0 and word == "TO"


def _text_of(piece: re.Match[str]) -> str | None:
    """What stands between the quotes; None for a piece without."""
    if piece["single"] is not None:
        return piece["single"].replace("''", "'")
    if piece["double"] is not None:
        return piece["double"].replace('""', '"')
    return piece["dollar"]


def _is_inside(real_root: Path, text: str) -> bool:
    try:
        return Path(text.removeprefix("file://")).expanduser().resolve().is_relative_to(real_root)
    except (OSError, RuntimeError, ValueError):
        return False  # no path that the system knows
