"""What can be wrong with JSON that is to become rows."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.sources.errors import PermanentFailure, SchemaIncompatible, TransientFailure

MOST_MISFITS_TOLD = 5


class BadJson(TransientFailure):
    """A body that is not JSON, most often because it was cut off.

    Told by position and never by content, which is somebody's data.
    `position` counts characters from 0, as slices do; the message counts from 1, as people and editors do.
    """

    code = "sources.bad_json"

    def __init__(self, problem: str, *, position: int, length: int) -> None:
        self.position = position
        self.length = length
        super().__init__(
            f"the body is no JSON: {problem} (character {position + 1} of {length})",
            hint="ask the source for the same page again; if it stays so, the source writes bad JSON",
        )


class NotWritable(SchemaIncompatible):
    """A value that JSON text cannot hold, such as one that is nested deeper than 254 levels."""

    code = "sources.not_writable"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"a value cannot be kept as JSON text: {why}", hint="leave the field out of what is asked for"
        )


class NoRecords(PermanentFailure):
    """The record path leads to nothing, or to something that is no list of objects."""

    code = "sources.no_records"

    def __init__(self, path: str, problem: str, *, hint: str) -> None:
        self.path = path
        where = f"at `{path}`" if path else "in the document"
        super().__init__(f"there are no records {where}: {problem}", hint=hint)


class UnsupportedType(SchemaIncompatible):
    """A column whose type no JSON value can be settled in."""

    code = "sources.unsupported_type"

    def __init__(self, column: str, type_text: str) -> None:
        self.column = column
        super().__init__(
            f"column `{column}` has the type `{type_text}`, which JSON records cannot be read into",
            hint="declare it as bigint, int, double, decimal(p,s), boolean, string, date, timestamp, binary, "
            "struct<…>, array<…> or map<string,…>",
        )


class RowsDoNotFit(SchemaIncompatible):
    """Values that fit no column, where there is no column `_extra` to keep them in.

    `misfits` are the first few, each told in one line.
    """

    code = "sources.rows_do_not_fit"

    def __init__(self, misfits: Sequence[str], *, count: int) -> None:
        self.misfits = tuple(misfits[:MOST_MISFITS_TOLD])
        self.count = count
        more = f", and {count - len(self.misfits)} more" if count > len(self.misfits) else ""
        values = "1 value does" if count == 1 else f"{count} values do"
        super().__init__(
            f"{values} not fit the columns: {'; '.join(self.misfits)}{more}",
            hint="declare the columns otherwise, or keep the column `_extra`",
        )
