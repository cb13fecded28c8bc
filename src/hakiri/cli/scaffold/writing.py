"""Puts the files of a project into a folder: all of them, or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.errors import ExitCode, HakiriError, Place, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class FilesInTheWay(HakiriError):
    """The folder holds files that a new project would overwrite."""

    code = "init.files_in_the_way"
    exit_code = ExitCode.USAGE

    def __init__(self, folder: str, paths: Sequence[str], *, may_be_forced: bool) -> None:
        self.paths = tuple(paths)
        these = "1 file that" if len(paths) == 1 else f"{len(paths)} files that"
        super().__init__(
            f"`{folder}` holds {these} the project would overwrite",
            places=[Place(path) for path in paths],
            hint="choose an empty folder, or overwrite only these with `--force`"
            if may_be_forced
            else "move them away, or choose another folder",
        )


def place_files(folder: Path, texts: Mapping[str, str], *, may_overwrite: bool, generated: str) -> list[str]:
    """Write all `texts` below `folder` and return the paths that were overwritten.

    Files below `generated` are always written anew. On any failure the folder is left as it was found.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`{folder}` is a file", hint="choose a folder for the project")
    blocked = sorted(path for path in texts if _is_blocked(folder, path))
    if blocked:
        raise FilesInTheWay(str(folder), blocked, may_be_forced=False)
    present = sorted(path for path in texts if (folder / path).exists() and not path.startswith(generated))
    if present and not may_overwrite:
        raise FilesInTheWay(str(folder), present, may_be_forced=True)
    is_new = not folder.exists()
    beside = folder.parent if is_new else folder
    made = _make_folders(beside)
    try:
        with tempfile.TemporaryDirectory(prefix=".hakiri-init-", dir=beside) as staging:
            fresh = Path(staging) / "fresh"
            _write_all(fresh, texts)
            if is_new:
                fresh.rename(folder)
            else:
                _move_all(fresh, folder, texts, replaced=Path(staging) / "replaced")
    except BaseException:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        raise
    return present


def _is_blocked(folder: Path, path: str) -> bool:
    """Whether a folder stands where a file belongs, or a file where a folder belongs."""
    target = folder / path
    above = [folder / parent for parent in Path(path).parents]
    return target.is_dir() or any(parent.exists() and not parent.is_dir() for parent in above)


def _write_all(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def _move_all(fresh: Path, folder: Path, paths: Iterable[str], *, replaced: Path) -> None:
    """Move the fresh files into a folder that people use; undo every step if one fails."""
    undo: list[tuple[Path, Path | None]] = []
    made: list[Path] = []
    try:
        for path in paths:
            target, kept = folder / path, None
            root = _make_folders(target.parent)
            if root is not None:
                made.append(root)
            if target.exists():
                kept = replaced / path
                kept.parent.mkdir(parents=True, exist_ok=True)
            undo.append((target, kept))
            if kept is not None:
                os.replace(target, kept)
            os.replace(fresh / path, target)
    except BaseException:
        for target, kept in reversed(undo):
            if kept is None:
                target.unlink(missing_ok=True)
            elif kept.exists():
                os.replace(kept, target)
        for root in made:
            shutil.rmtree(root, ignore_errors=True)
        raise


def _make_folders(folder: Path) -> Path | None:
    """Make `folder` and what is missing above it; return the topmost folder that was made."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing[-1] if missing else None
