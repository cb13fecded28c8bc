"""Where in the author's own files something went wrong, and what it was in one line."""

from __future__ import annotations

import traceback
from pathlib import Path

from hakiri.core.errors import Place

FOLDER = "transforms"


def place_in_project(file: str | None, line: int | None, root: Path) -> Place | None:
    """The spot as the author knows it, `transforms/orders.py:7`; None for files that are not the author's."""
    if file is None or not Path(file).is_relative_to(root / FOLDER):
        return None
    return Place(Path(file).relative_to(root).as_posix(), line)


def place_of_error(error: BaseException, root: Path) -> Place | None:
    """The last line of the author's own files that was on the way to the error."""
    if isinstance(error, SyntaxError) and (place := place_in_project(error.filename, error.lineno, root)):
        return place
    frames = traceback.extract_tb(error.__traceback__)
    places = [place_in_project(frame.filename, frame.lineno, root) for frame in frames]
    return next((place for place in reversed(places) if place), None)


def words_of_error(error: BaseException) -> str:
    """What Python says last in a traceback, on one line."""
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    first = said.strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}".removesuffix(": ").rstrip(".")
