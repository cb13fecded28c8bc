"""Databases that are files: whether one is there, and of the right program."""

from __future__ import annotations

from pathlib import Path

from hakiri.sources.errors import PermanentFailure


def refuse_other_files(file: Path, shown: str, *, offset: int, magic: bytes, program: str) -> None:
    """Raises PermanentFailure for a file that is not there, and for one of another program."""
    try:
        with file.open("rb") as opened:
            opened.seek(offset)
            found = opened.read(len(magic))
    except FileNotFoundError:
        raise PermanentFailure(
            f"there is no file `{shown}`", hint="check the path in `url`; it starts at the project's folder"
        ) from None
    except OSError as error:
        raise PermanentFailure(
            f"`{shown}` cannot be opened: {error.strerror}", hint="check the path in `url` and its rights"
        ) from error
    if found not in (magic, b""):
        raise PermanentFailure(f"`{shown}` is no database of {program}", hint="check the path in `url`")
