"""What Spark says of a file that it cannot read, in words that help to mend it and hold no data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from hakiri.core.errors import HakiriError, Place
from hakiri.sources.errors import UnreadableFile
from hakiri.sources.files.frames import misfit_in
from hakiri.sources.files.json_lines import BAD_LINE
from hakiri.sources.files.learning import FileFormat
from hakiri.sources.files.listing import FoundFile

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

GONE = "it is not there any more"
# Told by what Spark's own message holds, the most telling first.
_CAUSES = {
    "FILE_NOT_EXIST": GONE,
    "PATH_NOT_FOUND": GONE,
    "Unescaped quote character": "a quoted field goes on after its closing quote",
    "[MALFORMED_CSV_RECORD]": "a line has more or fewer fields than the header",
    "CSV header does not conform": "it was changed while it was read",
    "ChecksumException": "it is not what its checksum file says, a hidden one beside it that ends in .crc",
}
_UNKNOWN = "Spark does not read it"

Framed = Sequence[tuple[Sequence[FoundFile], pa.Schema]]


def unreadable_file(error: PySparkException, framed: Framed, reader: FileFormat) -> HakiriError | None:
    """The failure as that of a file, if that is what Spark's error is about; else None.

    `framed` are the files that Spark was told to read, each lot with its schema. The file in question is read
    once more without Spark, up to the line that does not fit.
    """
    from pyspark.errors import AnalysisException

    if isinstance(error, AnalysisException) and not (error.getCondition() or "").startswith("PATH_NOT_FOUND"):
        return None  # about the plan, whose text it shows: words of ours in it have not been said by a file
    message, condition = str(error), error.getCondition() or ""
    misfit = misfit_in(message)
    if BAD_LINE in message:
        return _found_in([(file, schema) for files, schema in framed for file in files], reader)
    if misfit is not None:
        problem, address = misfit
    elif condition.startswith(("FAILED_READ_FILE", "PATH_NOT_FOUND")):
        problem = next(
            (words for sign, words in _CAUSES.items() if sign in message or sign in condition), _UNKNOWN
        )
        address = (error.getMessageParameters() or {}).get("path", "")
    else:
        return None
    path = unquote(urlsplit(address).path)
    for files, schema in framed:
        for file in files:
            if os.path.abspath(file.path) == path:
                exact = None if problem == GONE else _found_in([(file, schema)], reader)
                return exact or UnreadableFile(file.name, problem, Place(file.name))
    return UnreadableFile(path, problem)


def _found_in(files: Iterable[tuple[FoundFile, pa.Schema]], reader: FileFormat) -> HakiriError | None:
    for file, schema in files:
        try:
            for _ in reader.batches(file, schema):
                pass
        except HakiriError as found:
            return found
    return None
