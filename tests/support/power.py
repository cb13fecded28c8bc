"""Power cuts at every step of one piece of work on a folder, beginning with one in which all is durable.

What was not synced is gone afterwards, and what was removed is there again if nobody synced that it was gone:
of all that a disk may make of a power cut this is the worst in both directions.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.crashes import Kill, ended, forked, keep_disk_journal
from tests.support.crashes_disk import Disk, _mark


@dataclass(frozen=True, slots=True)
class Removed:
    """A file that was taken away, and where it is kept for the case that it comes back."""

    path: Path
    kept: Path
    after_lines: int


@dataclass(frozen=True, slots=True)
class Power:
    """Lets a process work below a root until it comes to a step on the disk, and then cuts the power.

    `aside` is an empty folder on the same disk. `spared` are names below the root that look after themselves.
    Those `returning` are there again as they were, unless the root was synced without them: whoever takes
    them away need not do that in Python.
    """

    root: Path
    aside: Path
    spared: Collection[str]
    returning: Collection[str] = ()

    @property
    def _journal(self) -> Path:
        return self.aside / "journal"

    @property
    def _removals(self) -> Path:
        return self.aside / "removals"

    def ends_at(self, step: int, work: Callable[[], object]) -> bool:
        """Do the work in another process, which dies at the step; False if it came to its end before."""
        shutil.rmtree(self.aside, ignore_errors=True)
        self.aside.mkdir()
        for name in self.returning:
            if (self.root / name).exists():
                shutil.copy(self.root / name, self.aside / name)
        self._note_all()
        kill = Kill(is_at_disk=True, count=step)
        trouble = self.aside / "trouble"

        def watched() -> None:
            self._keep_what_goes()
            keep_disk_journal(self._journal, self.root, kill)
            work()

        child = forked(watched, trouble)
        try:
            return ended(child, kill)
        except AssertionError as error:
            error.add_note(trouble.read_text() if trouble.exists() else "")
            raise

    def cut(self) -> None:
        """Leave of the folder only what would be left without power."""
        lines = [json.loads(line) for line in self._journal.read_text().splitlines()]
        removed = self._removed()
        Disk(self.root, self._journal, self.spared).cut()
        listed = [names for folder, *rest in lines if folder == str(self.root) for names in rest]
        for name in self.returning:
            was_there, is_there = (self.aside / name).exists(), (self.root / name).exists()
            if was_there and not is_there and all(name in names for names in listed):
                shutil.copy(self.aside / name, self.root / name)
        for file in removed:
            synced = [said for said in lines[file.after_lines :] if isinstance(said[0], str)]
            if not any(_is_known_gone(file.path, Path(folder), names) for folder, names in synced):
                file.path.parent.mkdir(parents=True, exist_ok=True)
                if not file.path.exists():
                    shutil.copy(file.kept, file.path)

    def _note_all(self) -> None:
        """All that is there at the beginning has been there for long."""
        with self._journal.open("w") as journal:
            for folder, _, files in os.walk(self.root):
                journal.write(json.dumps([folder, os.listdir(folder)]) + "\n")
                for name in files:
                    journal.write(json.dumps(_mark(os.stat(os.path.join(folder, name)))) + "\n")

    def _keep_what_goes(self) -> None:
        def heard(event: str, args: tuple[Any, ...]) -> None:
            if event == "os.rename" and os.path.isdir(args[0]):
                self._note_rename(str(args[0]), str(args[1]))
            path = str(args[0]) if event == "os.remove" else ""
            if path.startswith(f"{self.root}/tables/") and os.path.exists(path):
                kept = self.aside / f"kept-{len(os.listdir(self.aside))}"
                os.link(path, kept)
                noted = len(self._journal.read_text().splitlines())
                with self._removals.open("a") as removals:
                    removals.write(json.dumps([path, str(kept), noted]) + "\n")

        sys.addaudithook(heard)

    def _note_rename(self, old: str, new: str) -> None:
        """What a folder was synced with it keeps under another name."""
        known = {}
        for line in self._journal.read_text().splitlines():
            said = json.loads(line)
            if isinstance(said[0], str) and (said[0] == old or said[0].startswith(f"{old}/")):
                known[said[0].replace(old, new, 1)] = said[1]
        with self._journal.open("a") as journal:
            journal.writelines(json.dumps(list(item)) + "\n" for item in known.items())

    def _removed(self) -> list[Removed]:
        if not self._removals.exists():
            return []
        lines = self._removals.read_text().splitlines()
        return [
            Removed(Path(path), Path(kept), noted)
            for path, kept, noted in (json.loads(line) for line in lines)
        ]


def _is_known_gone(path: Path, folder: Path, names: list[str]) -> bool:
    """Whether a folder was synced without the name that leads to the file."""
    return path.is_relative_to(folder) and path.relative_to(folder).parts[0] not in names
