"""What Spark says went wrong, in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

TRACEBACK_LINE = re.compile(r'File "([^"]+)", line (\d+)')


def spark_words(error: PySparkException) -> str:
    """The first line of what Spark says; for Python code in a task, the last line of its traceback."""
    lines = [line for line in str(error).split("\n\nJVM stacktrace:")[0].splitlines() if line.strip()]
    if any(TRACEBACK_LINE.search(line) for line in lines):
        return [line for line in lines if not line.startswith((" ", "\t"))][-1].rstrip(".")
    return lines[0].strip().rstrip(".;") if lines else type(error).__name__
