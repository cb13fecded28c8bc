"""Where a tap is found, and the variables that it sees: nothing of the caller's."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from hakiri.sources.errors import PermanentFailure


def find_tap(tap: str, root: Path, search_path: str | None) -> Path:
    """The executable of a tap; raises PermanentFailure if there is none.

    One with a slash is a path from the project's folder. A name is looked for in `search_path`; without one
    beside the Python that runs this, which is where a tap is if both are installed together, and then where
    the system has its programs.
    """
    if os.sep in tap:
        path = root / tap
        if not path.is_file():
            raise PermanentFailure(
                f"there is no tap `{tap}`", hint="check `tap`; it starts at the project's folder"
            )
        if not os.access(path, os.X_OK):
            raise PermanentFailure(f"the tap `{tap}` is no program", hint=f"run `chmod +x {tap}`")
        return path
    searched = search_path or os.pathsep.join((str(Path(sys.executable).parent), os.defpath))
    found = shutil.which(tap, path=searched)
    if found is None:
        raise PermanentFailure(
            f"there is no tap `{tap}`",
            hint="install it into an environment of its own, and write its path in `tap`, "
            f"as in `taps/bin/{tap}`",
        )
    return Path(found)


def environment(declared: Mapping[str, str], tap: Path, folder: Path) -> dict[str, str]:
    """All variables of a tap: its own folder comes first in PATH, and what it keeps at home is private."""
    return {
        "PATH": os.pathsep.join((str(tap.parent), os.defpath)),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        **declared,
    }
