"""Which files there are, and which of them a cursor has not seen as they are now.

The cursor is `{"files": {path: "size:mtime_ns"}}`: every file that was ever read, with its size and its time
of change in nanoseconds as they were before it was read. A file that changes while it is read differs from
what was noted, and is read again the next time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from hakiri.core.errors import Place
from hakiri.sources.contract import Cursor
from hakiri.sources.errors import NoFiles, PermanentFailure, UnreadableFile
from hakiri.sources.files.config import COMPRESSIONS, NOT_UNPACKED
from hakiri.sources.files.globs import matches

# A file that has changed so shortly before it was looked at may change again without getting another time.
FRESH_NANOSECONDS = 2_000_000_000
# The digest of such a file is noted too, if it does not take long.
MOST_BYTES_OF_DIGEST = 64 * 1024**2
FILES = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file as it was when it was found. `name` is its path as the glob has it, `path` where it is."""

    name: str
    path: str
    size: int
    mtime_ns: int

    @property
    def stamp(self) -> str:
        return f"{self.size}:{self.mtime_ns}"

    @property
    def compression(self) -> str | None:
        return COMPRESSIONS.get(os.path.splitext(self.name)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The files to be read, and what a cursor knows once they were."""

    files: tuple[FoundFile, ...]
    known: Mapping[str, str]
    stamps: Mapping[str, str]

    def cursor(self, read: Sequence[FoundFile]) -> Cursor:
        """The cursor after these files of the selection."""
        return {FILES: {**self.known, **{file.name: self.stamps[file.name] for file in read}}}


def list_files(root: Path, globs: Sequence[str]) -> list[FoundFile]:
    """The files of all globs, each once, in the order of their names. Raises UnreadableFile and NoFiles."""
    found: dict[str, FoundFile] = {}
    for glob in globs:
        try:
            for name, entry in matches(str(root), glob):
                found[name] = _found(name, entry)
        except PermissionError as error:
            raise UnreadableFile(_shown(str(error.filename), root), "permission denied") from error
    if not found:
        raise NoFiles(", ".join(globs))
    return [found[name] for name in sorted(found)]


def _found(name: str, entry: os.DirEntry[str]) -> FoundFile:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UnreadableFile(ascii(name), "its name is not UTF-8") from None
    if ":" in entry.name:
        raise UnreadableFile(name, "Spark reads no file with `:` in its name", Place(name))
    if entry.name.endswith(NOT_UNPACKED):
        raise UnreadableFile(name, f"{os.path.splitext(name)[1]} is not unpacked", Place(name))
    try:
        seen = entry.stat()
    except OSError as error:
        raise UnreadableFile(name, "it is a link to nothing", Place(name)) from error
    return FoundFile(name=name, path=entry.path, size=seen.st_size, mtime_ns=seen.st_mtime_ns)


def select_files(
    files: Sequence[FoundFile],
    cursor: Cursor | None,
    *,
    changed: Literal["reread", "ignore", "fail"],
    now: datetime,
) -> Selection:
    """The files that the cursor has not seen, or not as they are now.

    Files that are gone stay in the cursor: a folder that is not mounted today is no reason to read it again
    tomorrow. Raises PermanentFailure for a cursor that is none of ours, and for a change that may not be.
    """
    known = _known_of(cursor)
    fresh_since = int(now.timestamp() * 1e9) - FRESH_NANOSECONDS
    selected, confirmed, stamps = [], {}, {}
    for file in files:
        before = known.get(file.name)
        stamp = _stamp(file, fresh_since)
        if before is not None and _is_same(file, before):
            confirmed[file.name] = stamp
            continue
        if before is not None and changed == "ignore":
            continue
        if before is not None and changed == "fail":
            raise PermanentFailure(
                f"`{file.name}` has changed since it was read",
                hint='put the old file back, or write changed = "reread" or "ignore" in the source\'s config',
            )
        selected.append(file)
        stamps[file.name] = stamp
    return Selection(files=tuple(selected), known=known | confirmed, stamps=stamps)


def _known_of(cursor: Cursor | None) -> dict[str, str]:
    if cursor is None:
        return {}
    known = cursor.get(FILES)
    if not isinstance(known, Mapping) or not all(isinstance(stamp, str) for stamp in known.values()):
        raise PermanentFailure("the cursor is none of connector `files`", hint="start the pipeline anew")
    return dict(known)


def _stamp(file: FoundFile, fresh_since: int) -> str:
    if file.mtime_ns < fresh_since or file.size > MOST_BYTES_OF_DIGEST:
        return file.stamp
    return f"{file.stamp}:{_digest(file)}"


def _is_same(file: FoundFile, stamp: str) -> bool:
    size_and_time, _, digest = stamp.rpartition(":") if stamp.count(":") > 1 else (stamp, "", "")
    return size_and_time == file.stamp and (not digest or digest == _digest(file))


def _digest(file: FoundFile) -> str:
    try:
        with open(file.path, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(file, error) from error


def unreadable(file: FoundFile, error: OSError) -> UnreadableFile:
    """A file that the system does not give, in its words."""
    problem = "it is not there any more" if isinstance(error, FileNotFoundError) else error.strerror
    return UnreadableFile(file.name, (problem or "it cannot be opened").lower(), Place(file.name))


def _shown(path: str, root: Path) -> str:
    return os.path.relpath(path, root) if Path(path).is_relative_to(root) else path
