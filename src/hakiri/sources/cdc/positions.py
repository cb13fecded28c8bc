"""Where a read of changes stands: a place in the server's log, and the table as it was known there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hakiri.sources.contract import Cursor
from hakiri.sources.errors import PermanentFailure

REWIND = "rewind the table: its next read takes a new snapshot"
_LSN = re.compile(r"([0-9A-F]{1,8})/([0-9A-F]{1,8})", re.IGNORECASE)


def lsn_text(lsn: int) -> str:
    """A place in the log as Postgres writes it: `0/16B3748`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """Raises ValueError for what is no place in the log."""
    match = _LSN.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is no place in the log")
    return int(match[1], 16) << 32 | int(match[2], 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """All transactions whose commit stands before `lsn` were read, and none after it.

    `table` and `publication` are their object ids, and `columns` gives each column's number by its name: a
    table that was dropped and made anew, or a column that was renamed, has the old name and another number.
    """

    lsn: int
    table: int
    publication: int
    columns: Mapping[str, int]

    def at(self, lsn: int) -> Cursor:
        """The cursor for this table at another place of the log."""
        return {
            "lsn": lsn_text(lsn),
            "table": self.table,
            "publication": self.publication,
            "columns": dict(self.columns),
        }

    @classmethod
    def parse(cls, cursor: Mapping[str, Any], table: str) -> Position:
        """The position of a cursor; raises PermanentFailure if it is not one that `at` gave."""
        try:
            return cls(
                lsn=parse_lsn(cursor["lsn"]),
                table=int(cursor["table"]),
                publication=int(cursor["publication"]),
                columns={str(name): int(number) for name, number in cursor["columns"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PermanentFailure(
                f"the cursor of table `{table}` is none of this connector", hint=REWIND
            ) from error
