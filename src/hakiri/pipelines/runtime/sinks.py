"""What tasks write with: the rows of an attempt into its own folder, and a few words back to the driver."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from hakiri.core.errors import HakiriError
from hakiri.engine import arrow_without_pandas
from hakiri.pipelines.errors import StoreNotWritten
from hakiri.sources.bridge.failures import told
from hakiri.sources.rejects import LINE, Reject, reject_reason
from hakiri.store.manifests import WrittenFile
from hakiri.store.rows import REASON, Stamp
from hakiri.store.writing import AttemptWriter, Shape

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one task wrote of an attempt."""

    files: tuple[WrittenFile, ...] = ()
    quarantine: tuple[WrittenFile, ...] = ()
    rows: int = 0
    quarantined: int = 0
    content_sum: int = 0

    def text(self) -> str:
        # As text, because JSON readers take large numbers for floats.
        return json.dumps(asdict(self) | {"content_sum": str(self.content_sum)})

    @classmethod
    def parse(cls, text: str) -> Report:
        data = json.loads(text)
        return cls(
            files=tuple(WrittenFile(**file) for file in data["files"]),
            quarantine=tuple(WrittenFile(**file) for file in data["quarantine"]),
            rows=data["rows"],
            quarantined=data["quarantined"],
            content_sum=int(data["content_sum"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSinks:
    """Opens a sink for each attempt of a job. It travels to tasks, so it is made of plain values."""

    folders: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    shape: Shape
    ignored: frozenset[str] = frozenset()
    redacted: frozenset[str] = frozenset()
    has_transform: bool = False

    def __call__(self, number: int, part: int = 0) -> AttemptSink:
        folder = Path(self.folders[number])
        with _failures_told(folder):
            writer = AttemptWriter(folder, self.shape, self.stamps[number], part=part)
        return AttemptSink(writer, folder, self)

    def part_of_only(self, number: int) -> AttemptSink:
        """A sink for a part of the one attempt that there is."""
        return self(0, number)

    def hides(self, column: str | None) -> bool:
        """Whether nothing may be shown of a column of the source, or of what is inside of one.

        Columns are redacted by their names in the store: nobody knows what they were before a transform.
        """
        if self.has_transform or column is None:
            return bool(self.redacted)
        path = column.replace("\\", "")  # which stands in a path before a dot that belongs to a name
        return any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in self.redacted)


class AttemptSink:
    """Writes rows of one attempt. A column `_reason` says of each row why it goes to quarantine.

    `ignored` columns are left out, and `redacted` ones are NULL wherever the rows go.
    """

    def __init__(self, writer: AttemptWriter, folder: Path, sinks: AttemptSinks) -> None:
        self._writer = writer
        self._folder = folder
        self._sinks = sinks
        self._ignored = sinks.ignored
        self._redacted = sinks.redacted

    def write(self, rows: pa.RecordBatch) -> None:
        reasons = rows.column(REASON) if REASON in rows.schema.names else None
        rows = self._allowed(rows)
        with _failures_told(self._folder):
            self._writer.write(rows, reasons)

    def set_aside(self, rejects: Sequence[Reject]) -> None:
        """Put rows of the source into quarantine that have no place in the table."""
        reasons = [
            reject_reason(each.problem, each.column, None if self._sinks.hides(each.column) else each.value)
            for each in rejects
        ]
        with _failures_told(self._folder):
            self._writer.set_aside(reasons, [self._shown(each.row) for each in rejects])

    def _shown(self, row: str) -> str:
        """As much of a row of the source as may be kept."""
        if not self._redacted and not self._ignored:
            return row
        fields = json.loads(row)
        if self._redacted and (self._sinks.has_transform or LINE in fields):
            return "{}"
        left = {name: value for name, value in fields.items() if name not in self._ignored | self._redacted}
        return json.dumps(left, ensure_ascii=False, separators=(",", ":"))

    def _allowed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        names = rows.schema.names
        left_out = {*self._ignored, REASON}.intersection(names)
        if left_out:
            rows = rows.drop_columns(sorted(left_out))
        for name in self._redacted.intersection(rows.schema.names):
            place = rows.schema.get_field_index(name)
            field = rows.schema.field(place)
            rows = rows.set_column(place, field, pa.nulls(rows.num_rows, field.type))
        return rows

    def finish(self) -> str:
        with _failures_told(self._folder):
            written = self._writer.finish()
        return Report(
            files=written.files,
            quarantine=written.quarantine,
            rows=written.rows,
            quarantined=written.quarantined,
            content_sum=written.content_sum,
        ).text()

    def abandon(self) -> None:
        self._writer.abandon()


RESULT = "number bigint, report string"
_RESULT_SCHEMA = pa.schema({"number": pa.int64(), "report": pa.string()})


def writing(
    sinks: AttemptSinks, *, is_one_each: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow` that writes what it is given, a row of `RESULT` for each partition.

    With `is_one_each` the partitions are those of the reads, and each belongs to the attempt of its number;
    else all of them belong to the only attempt, as parts of it.
    """

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        arrow_without_pandas()
        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        number, part = (partition, 0) if is_one_each else (0, partition)
        sink: AttemptSink | None = None
        try:
            for batch in batches:
                if batch.num_rows:
                    sink = sink or sinks(number, part)
                    sink.write(batch)
            report = Report().text() if sink is None else sink.finish()
        except BaseException as error:
            if sink is not None:
                sink.abandon()
            if isinstance(error, HakiriError):
                raise told(error, str) from None
            raise
        yield pa.RecordBatch.from_pylist([{"number": number, "report": report}], schema=_RESULT_SCHEMA)

    return work


@contextmanager
def _failures_told(folder: Path) -> Iterator[None]:
    """What the disk refuses is an error of the store, and not one of whoever gave the rows."""
    try:
        yield
    except OSError as error:
        raise StoreNotWritten(
            str(folder), error.strerror or str(error), is_full=error.errno in _FULL
        ) from error
