"""What Spark says of a file that it cannot read, in words that help to mend it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from hakiri.core.errors import Place
from hakiri.sources.errors import UnreadableFile

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

_CONDITIONS = ("FAILED_READ_FILE", "MALFORMED_RECORD_IN_PARSING")
# Told by what Spark's own message holds. None of them repeats the row: it is somebody's data.
_CAUSES = {
    "[MALFORMED_CSV_RECORD]": "a line has more or fewer fields than the header",
    "CSV header does not conform": "its header is not that of the first file",
    "com.fasterxml.jackson": "a line is no JSON object",
}
_LAST_CAUSE = re.compile(r".*^Caused by: [\w.$]+: ([^\n]+)", re.MULTILINE | re.DOTALL)


def unreadable_file(error: PySparkException, pattern: str, root: Path, place: Place) -> UnreadableFile | None:
    """The failure as that of a file of the source, if that is what Spark's error is about; else None."""
    condition = (error.getCondition() or "").partition(".")[0]
    if condition not in _CONDITIONS:
        return None
    file = (error.getMessageParameters() or {}).get("path")
    return UnreadableFile(_shown(file, root) if file else pattern, _cause(str(error)), place)


def _shown(uri: str, root: Path) -> str:
    path = Path(unquote(urlsplit(uri).path))
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _cause(message: str) -> str:
    known = [words for sign, words in _CAUSES.items() if sign in message]
    if known:
        return known[0]
    last = _LAST_CAUSE.match(message)
    return (last.group(1) if last else message.partition("\n")[0]).strip().rstrip(".")
