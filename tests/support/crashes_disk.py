"""A disk that loses what was not synced, for processes that die by the power going out.

A process that writes through it tells in a journal what it has made durable. Afterwards everything else is
taken away: names that their folder was not synced with, and the contents of files that were not.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

_Mark = tuple[int, int, int]


def keep_journal(path: Path, at_each: Callable[[], None] = lambda: None) -> None:
    """From now on, this process notes in the journal what it syncs, and leaves it at that.

    Whoever cuts the power afterwards decides by the journal what is left, so nothing has to be waited for.
    `at_each` is called before every sync.
    """
    journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def fsync(handle: int) -> None:
        at_each()
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            folder = os.readlink(f"/proc/self/fd/{handle}")
            line = json.dumps([folder, os.listdir(folder)])
        else:
            line = json.dumps(_mark(found))
        os.write(journal, f"{line}\n".encode())

    os.fsync = fsync


@dataclass(slots=True)
class Disk:
    """What of a folder would outlast the power, by the journal of those who wrote to it.

    `spared` are names that somebody else looks after, or that nobody relies on.
    """

    root: Path
    journal: Path
    spared: Collection[str]
    _files: set[_Mark] = field(default_factory=set)
    _names: dict[str, set[str]] = field(default_factory=dict)
    _read: int = 0

    def cut(self) -> int:
        """Take away all that was not synced; how many things that was."""
        self._catch_up()
        return self._cut(self.root)

    def _catch_up(self) -> None:
        if not self.journal.exists():
            return
        lines = self.journal.read_text().splitlines()
        for line in lines[self._read :]:
            said = json.loads(line)
            if isinstance(said[0], str):
                self._names[said[0]] = set(said[1])
            else:
                self._files.add(tuple(said))
        self._read = len(lines)

    def _cut(self, folder: Path) -> int:
        known = self._names.get(str(folder), set())
        lost = 0
        for entry in list(os.scandir(folder)):
            if folder == self.root and entry.name in self.spared:
                continue
            if entry.name not in known:
                if entry.is_dir():
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
                lost += 1
            elif entry.is_dir():
                lost += self._cut(folder / entry.name)
            elif _mark(entry.stat()) not in self._files and entry.stat().st_size:
                os.truncate(entry.path, entry.stat().st_size // 2)
                lost += 1
        return lost


def _mark(found: os.stat_result) -> _Mark:
    """What tells a file with these contents from any other: it keeps it under another name."""
    return found.st_ino, found.st_mtime_ns, found.st_size
