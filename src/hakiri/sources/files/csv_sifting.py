"""Records of a CSV apart: those that fit the columns of a table, and those that do not, with the reason.

Whole columns are brought into their types at once; only a batch in which that fails is looked at by rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from hakiri.sources.files.csv_heads import CsvLayout
from hakiri.sources.files.csv_values import REPLACEMENT, Misfits, values_of
from hakiri.sources.files.streams import NO_CHARACTER
from hakiri.sources.rejects import FILE, LINE, Reject, row_text


@dataclass(slots=True)
class Ragged:
    """Records with more or fewer fields than the header, as Arrow leaves them out while it reads ahead."""

    is_header_counted: bool
    quote: str
    # The record with a quote that is never closed, and so with the whole rest of the file in it.
    open_at: int | None = None
    # For each of them, how many others came before.
    others_before: list[int] = field(default_factory=list)
    pending: dict[int, pa_csv.InvalidRow] = field(default_factory=dict)

    def leave_out(self, record: pa_csv.InvalidRow) -> str:
        """What Arrow asks of such a record."""
        number = record.number - (2 if self.is_header_counted else 1)
        if self.quote and record.text.count(self.quote) % 2 and "\n" in record.text:
            self.open_at = number
            return "error"
        self.others_before.append(number - len(self.others_before))
        self.pending[number] = record
        return "skip"

    def number_in_file(self, row: int) -> int:
        """The number of a record among all, by its number among those that were not left out."""
        return row + bisect_right(self.others_before, row)

    def is_behind(self, number: int) -> bool:
        """Whether one of them came after the record with this number in the file."""
        return bool(self.others_before) and self.others_before[-1] + len(self.others_before) - 1 > number

    def taken(self, file: str) -> dict[int, Reject]:
        """Those that were left out since the last time, by their number."""
        taken, self.pending = self.pending, {}
        return {
            number: Reject(
                problem=f"it has {_fields(record.actual_columns)} instead of {record.expected_columns}",
                row=row_text({FILE: file, LINE: record.text.replace(NO_CHARACTER, REPLACEMENT)}),
            )
            for number, record in taken.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Records as texts. Those that are `broken` hold bytes that are none: the first such column by row."""

    texts: pa.RecordBatch
    broken: Mapping[int, int]

    @property
    def whole(self) -> pa.RecordBatch:
        return _without(self.texts, self.broken)


def decoded(records: pa.RecordBatch, *, has_marks: bool) -> Decoded:
    """The records as they are meant, some of which `has_marks` in the place of bytes that are no text."""
    if not has_marks:
        return Decoded(texts=records, broken={})
    columns: list[pa.Array] = []
    broken: dict[int, int] = {}
    for number, column in enumerate(records.columns):
        for row in pc.indices_nonzero(pc.match_substring(column, NO_CHARACTER)).to_pylist():
            broken.setdefault(row, number)
        columns.append(pc.replace_substring(column, NO_CHARACTER, REPLACEMENT))
    return Decoded(texts=pa.RecordBatch.from_arrays(columns, records.schema.names), broken=broken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sieve:
    """Which rows of one file have a place in a schema."""

    file: str
    layout: CsvLayout
    schema: pa.Schema
    null_values: Sequence[str]
    encoding: str

    def sifted(self, records: pa.RecordBatch, *, has_marks: bool) -> tuple[pa.RecordBatch, dict[int, Reject]]:
        """The rows in the schema, and the rejects by their number in the batch; see `decoded`."""
        found = decoded(records, has_marks=has_marks)
        texts = found.texts
        rejects = {
            row: self._reject(texts, row, number, f"is not {self.encoding}")
            for row, number in found.broken.items()
        }
        numbers = {name.casefold(): number for number, name in enumerate(self.layout.columns)}
        columns = []
        for wanted in self.schema:
            number = numbers.get(wanted.name.casefold())
            if number is None:
                columns.append(pa.nulls(texts.num_rows, wanted.type))
                continue
            column = texts.column(number)
            try:
                columns.append(values_of(column, wanted.type, self.null_values))
            except Misfits as misfits:
                for row in misfits.rows:
                    if row not in rejects:
                        rejects[row] = self._reject(texts, row, number, f"is no {wanted.type}")
                left = pc.if_else(_mask(misfits.rows, len(column)), pa.scalar(None, pa.string()), column)
                columns.append(values_of(left, wanted.type, self.null_values))
        return _without(pa.RecordBatch.from_arrays(columns, schema=self.schema), rejects), rejects

    def _reject(self, texts: pa.RecordBatch, row: int, number: int, problem: str) -> Reject:
        # By the names that the table has, whatever case of letters this file has them in.
        names = {field.name.casefold(): field.name for field in self.schema}
        columns = [names[name.casefold()] for name in self.layout.columns]
        fields = {name: texts.column(place)[row].as_py() for place, name in enumerate(columns)}
        column = columns[number]
        return Reject(
            problem=problem, row=row_text({FILE: self.file, **fields}), column=column, value=fields[column]
        )


def _without(rows: pa.RecordBatch, left_out: Mapping[int, object]) -> pa.RecordBatch:
    return rows.filter(pc.invert(_mask(list(left_out), rows.num_rows))) if left_out else rows


def _mask(rows: list[int], count: int) -> pa.Array:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return pa.array(mask)


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
