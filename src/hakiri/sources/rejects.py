"""Rows of a source that have no place in their table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

# Beside the fields of a row, or in their place: the file that it is from, and the line as it stands there.
FILE = "_file"
LINE = "_line"
# Of a value that is somebody's data, no more than this is told.
MOST_CHARACTERS_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """A row that does not fit: why, and as much of it as could be read.

    - `problem` shows nothing of the row. Of a `column` it goes on after `which`: `is no int64`.
    - `value` is what the column has there, as text.
    - `row` is a JSON object: the fields as they came, or the whole line as `_line` if it has none.
    """

    problem: str
    row: str
    column: str | None = None
    value: str | None = None

    @property
    def reason(self) -> str:
        """Why the row was set aside, in words that show the beginning of the value."""
        return reject_reason(self.problem, self.column, self.value)

    def of_file(self, file: str) -> Reject:
        """The same, with the name of its file before the fields, of which there is at least one."""
        name = json.dumps({FILE: file}, ensure_ascii=False, separators=(",", ":"))
        return replace(self, row=f"{name[:-1]},{self.row[1:]}")


def reject_reason(problem: str, column: str | None, value: str | None) -> str:
    """What is wrong with a row, as a person reads it."""
    if column is None:
        return problem
    if value is None:
        return f"`{column}` has a value that {problem}"
    shown = value if len(value) <= MOST_CHARACTERS_SHOWN else value[: MOST_CHARACTERS_SHOWN - 1] + "…"
    return f"`{column}` has `{shown}`, which {problem}"


def row_text(row: Mapping[str, Any]) -> str:
    """The fields of a row as a JSON object: decimals and times are texts, and bytes are hexadecimal."""
    import orjson

    return orjson.dumps(dict(row), default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()


def _plain(value: object) -> str:
    return (
        value.hex()
        if isinstance(value, bytes)
        else f"{value:f}"
        if isinstance(value, Decimal)
        else str(value)
    )
