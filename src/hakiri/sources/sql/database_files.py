"""Databases that are files: whether one is there.

None of this opens the file where somebody may have it open. Closing it again would give up the locks by which
other reads of this process keep writers away: locks of POSIX belong to the process, not to who took them.
"""

from __future__ import annotations

from pathlib import Path

from hakiri.sources.errors import PermanentFailure


def refuse_no_file(file: Path, shown: str) -> None:
    """Raises PermanentFailure for a file that is not there or is a folder."""
    try:
        is_file = file.is_file()
    except OSError as error:
        raise PermanentFailure(
            f"`{shown}` cannot be looked at: {error.strerror}", hint="check the path in `url` and its rights"
        ) from error
    if not is_file:
        raise PermanentFailure(
            f"there is no file `{shown}`", hint="check the path in `url`; it starts at the project's folder"
        )


def foreign_file(shown: str, program: str) -> PermanentFailure:
    return PermanentFailure(f"`{shown}` is no database of {program}", hint="check the path in `url`")
