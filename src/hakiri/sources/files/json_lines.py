"""JSON Lines: an object a line, into rows by the rules of `json_rows`; what does not fit is in `_extra`.

Spark reads and splits the lines, and a task makes rows of them here: Spark's own JSON reader drops unknown
fields without a word. Lines that fit the schema as they are go through Arrow's reader, which takes about as
long as Spark's; all others through `json_rows`. Both give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from hakiri.core.errors import HakiriError, Place
from hakiri.engine import arrow_without_pandas
from hakiri.sources.bridge.failures import told
from hakiri.sources.bridge.schemas import arrow_schema, conformed, spark_schema
from hakiri.sources.contract import EXTRA_COLUMN, Batch
from hakiri.sources.errors import BadRecord, SchemaIncompatible, UnreadableFile
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.files.frames import LOUD, spark_paths
from hakiri.sources.files.learning import Learnt
from hakiri.sources.files.listing import FoundFile
from hakiri.sources.files.streams import BOM, opened, position, share_of
from hakiri.sources.json_rows import BadJson, SchemaSketch, needs_digits, parse_json, settle_or_sift
from hakiri.sources.rejects import FILE, LINE, Reject, row_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

MOST_BYTES_LOOKED_AT = 256 * 1024**2
MOST_BYTES_OF_LINE = 64 * 1024**2
BLOCK = 1024 * 1024
NO_OBJECT = "it is no JSON object"
BAD_LINE = "hakiri-bad-line"
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
# A whole number of so many digits may not be a float64, to which Arrow would round it.
_SUSPECT_DIGITS = b"0" * 16
# Arrow takes these for numbers; JSON does not have them.
_NO_NUMBERS = (b"NaN", b"Inf")
_PLAIN = (pa.int64(), pa.float64(), pa.bool_(), pa.string())


class BadLine(Exception):
    """One of the lines of a task has no place in the table.

    A task lets it through: which file the line is from is found out afterwards, so that not every line has to
    carry the name of its file.
    """

    def __init__(self) -> None:
        super().__init__(BAD_LINE)


class JsonLines:
    """JSON Lines of one config."""

    is_open = True

    def __init__(self, config: FilesConfig) -> None:
        self.config = config

    def learn(self, files: Sequence[FoundFile]) -> Learnt:
        """The fields of all records in the order in which they first appear."""
        sketch = SchemaSketch()
        seen = sketch.schema()
        total, rows, bytes_read = sum(file.size for file in files), 0, 0
        for file in files:
            share = share_of(file.size, total, MOST_BYTES_LOOKED_AT)
            read = 0
            for lines, so_far in self._lines(file, share):
                read = so_far
                # What Arrow can read into the schema as it is brings nothing new.
                fitting_rows = fitting(lines, seen)
                if fitting_rows is None:
                    records, _ = _records(lines, keep_digits=False)
                    sketch = sketch.add(records)
                    seen = sketch.schema()
                rows += len(records) if fitting_rows is None else len(fitting_rows)
            bytes_read += min(read, file.size)
        schema = sketch.schema(declared=self.config.declared)
        _refuse_equal_names(schema)
        estimate = rows if bytes_read >= total else rows * total // max(bytes_read, 1)
        return Learnt(schema=schema.append(pa.field(EXTRA_COLUMN, pa.string())), estimated_rows=estimate)

    def batches(self, file: FoundFile, schema: pa.Schema, *, sets_aside: bool = False) -> Iterator[Batch]:
        """The rows in this schema. Raises BadRecord with the first line that is no object, or sets it aside.

        What does not fit a column is kept in `_extra`, unless rows are set aside.
        """
        before = 0
        for lines, _ in self._lines(file, None):
            rows, rejects = sifted_lines(lines, schema, file.name, sets_aside=sets_aside)
            if rejects and not sets_aside:
                number = min(rejects)
                raise BadRecord(file.name, rejects[number].problem, Place(file.name, before + number + 1))
            yield Batch(rows=rows, rejects=tuple(rejects[number] for number in sorted(rejects)))
            before += len(lines)

    def frame(
        self, spark: SparkSession, files: Sequence[FoundFile], schema: pa.Schema, *, is_strict: bool
    ) -> DataFrame:
        """The rows as tasks make them of the lines that Spark reads."""
        target = spark_schema(schema, "files")
        lines = spark.read.options(lineSep="\n", **LOUD).text(spark_paths(files))
        exact = arrow_schema(target)
        work = partial(_rows_in_task, schema=_sent(schema), target=_sent(exact), is_strict=is_strict)
        return lines.mapInArrow(work, target)

    def _lines(self, file: FoundFile, share: int | None) -> Iterator[tuple[pa.Array, int]]:
        """The lines in blocks, each with how much of the file was read, until the share is reached."""
        with opened(file) as (stream, raw):
            rest = stream.read(len(BOM)).removeprefix(BOM)
            is_at_end = False
            while not is_at_end and (share is None or position(raw) <= share):
                piece = stream.read(BLOCK)
                is_at_end = not piece
                block = rest + piece
                cut = len(block) if is_at_end else block.rfind(b"\n") + 1
                block, rest = block[:cut], block[cut:]
                if len(rest) > MOST_BYTES_OF_LINE:
                    raise UnreadableFile(
                        file.name,
                        f"a line is longer than {MOST_BYTES_OF_LINE // 1024**2} MiB",
                        Place(file.name),
                    )
                if block:
                    yield pa.array(block.removesuffix(b"\n").split(b"\n"), pa.binary()), position(raw)


def sifted_lines(
    lines: pa.Array, schema: pa.Schema, file: str, *, sets_aside: bool
) -> tuple[pa.RecordBatch, dict[int, Reject]]:
    """The objects in these lines as rows, and the rejects by the number of their line; empty lines are none.

    Objects that do not fit are rejects with `sets_aside` only.
    """
    rows = fitting(lines, schema)
    if rows is not None:
        return rows, {}
    records, broken = _records(lines, keep_digits=needs_digits(schema))
    rejects = {
        number: Reject(problem=NO_OBJECT, row=row_text({FILE: file, LINE: text}))
        for number, text in broken.items()
    }
    rows, misfits = settle_or_sift(records, schema, sets_aside=sets_aside)
    # Behind all lines: where they stood among them is of no consequence.
    return rows, rejects | dict(enumerate((each.of_file(file) for each in misfits), start=len(lines)))


def fitting(lines: pa.Array, schema: pa.Schema) -> pa.RecordBatch | None:  # noqa: PLR0911 - one doubt each
    """The rows, if every line is an object that fits the schema as it is; else, or in doubt, None."""
    plain = pa.schema([field for field in schema if field.name != EXTRA_COLUMN])
    if not len(plain) or not all(_is_plain(field.type) for field in plain):
        return None
    try:
        texts = pc.ascii_trim_whitespace(lines.cast(pa.string()))
    except pa.ArrowInvalid:
        return None  # not UTF-8
    texts = texts.filter(pc.not_equal(texts, ""))
    # Arrow crashes on a line `null`, and takes objects that begin or end in the middle of a line.
    if not pc.all(pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))).as_py():
        return None
    offsets = pa.array([0, len(texts)], pa.int32())
    body = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), "\n")[0].as_buffer().to_pybytes()
    if not body:
        return pa.RecordBatch.from_pylist([], schema)
    if _may_be_misread(body):
        return None
    try:
        rows = pa_json.read_json(
            pa.BufferReader(body),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(body) + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=plain, unexpected_field_behavior="error"),
        )
    except pa.ArrowInvalid:
        return None
    if len(rows) != len(texts):
        return None
    columns = {name: rows[name].combine_chunks() for name in plain.names}
    columns |= {EXTRA_COLUMN: pa.nulls(len(rows), pa.string())}
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _may_be_misread(body: bytes) -> bool:
    return _SUSPECT_DIGITS in body.translate(_ZEROS) or any(sign in body for sign in _NO_NUMBERS)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return all(_is_plain(field.type) for field in kind)
    if pa.types.is_list(kind):
        return _is_plain(kind.value_type)
    return kind in _PLAIN


def _records(lines: pa.Array, *, keep_digits: bool) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The objects, and the lines that are none by their number."""
    filled = [line for line in lines.to_pylist() if line.strip()]
    try:
        records = parse_json(b"[" + b",".join(filled) + b"]", keep_digits=keep_digits)
    except BadJson:
        records = []
    if len(records) == len(filled) and set(map(type, records)) <= {dict}:
        return list(records), {}
    found: list[dict[str, Any]] = []
    broken: dict[int, str] = {}
    for number, line in enumerate(lines.to_pylist()):
        if line.strip():
            record = _record(line, keep_digits=keep_digits)
            if record is None:
                broken[number] = line.decode(errors="replace").rstrip("\r")
            else:
                found.append(record)
    return found, broken


def _record(line: bytes, *, keep_digits: bool) -> dict[str, Any] | None:
    try:
        record = parse_json(line, keep_digits=keep_digits)
    except BadJson:
        return None
    return record if type(record) is dict else None


def _refuse_equal_names(schema: pa.Schema) -> None:
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise SchemaIncompatible(
                f"records have the fields `{other}` and `{name}`, which SQL takes for one",
                hint="rename one of them in the files",
            )


def _sent(schema: pa.Schema) -> bytes:
    sent: bytes = schema.serialize().to_pybytes()
    return sent


def _rows_in_task(
    batches: Iterable[pa.RecordBatch], *, schema: bytes, target: bytes, is_strict: bool
) -> Iterator[pa.RecordBatch]:
    """What a Spark task does with the lines that it reads."""
    arrow_without_pandas()
    wanted, exact = (pa.ipc.read_schema(pa.py_buffer(sent)) for sent in (schema, target))
    for batch in batches:
        try:
            lines = batch.column(0).cast(pa.binary())
            rows, rejects = sifted_lines(lines, wanted, "", sets_aside=is_strict)
            if rejects and not is_strict:
                raise BadLine
            for first in rejects.values():
                raise BadRecord("files", first.problem, column=first.column, value=first.value)
        except HakiriError as error:
            raise told(error, str) from None
        yield conformed(rows, exact, "files")
