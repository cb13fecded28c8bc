"""The tasks that look whether files are still what was written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from hakiri.compaction.tasks import InputFile, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyTask:
    """Reads the bytes of some files once, and reports the paths of those that are damaged or gone."""

    files: tuple[InputFile, ...]

    def work(self, attempt: str) -> Report:
        return Report(paths=tuple(file.path for file in self.files if not is_whole(file)))


def is_whole(file: InputFile) -> bool:
    """Whether it has the bytes that were written."""
    try:
        with open(file.path, "rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest() == file.sha256
    except OSError:
        return False
