"""Parquet and ORC: schemas from the footers, rows as Arrow, and frames of Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hakiri.core.errors import Place
from hakiri.sources.contract import Batch
from hakiri.sources.errors import SchemaIncompatible, UnreadableFile
from hakiri.sources.files.column_types import Conflict, Unsupported, common_type, has_inside, type_in_spark
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.files.learning import Learnt, refuse_unknown
from hakiri.sources.files.listing import FoundFile, unreadable
from hakiri.sources.json_rows import type_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.connect.session import SparkSession

READERS = 8
MOST_ROWS = 32_768
_NANOSECONDS = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """What a file says of itself: its columns as Spark has them, and how many rows there are.

    Spark cannot read `untyped` columns, and those in `nanoseconds` only as numbers.
    """

    schema: pa.Schema
    rows: int
    untyped: frozenset[str]
    nanoseconds: frozenset[str]


class ColumnarFiles:
    """Parquet or ORC files of one config."""

    is_open = False

    def __init__(self, config: FilesConfig) -> None:
        self._is_parquet = config.format == "parquet"
        self._format = config.format

    def footers(self, files: Sequence[FoundFile]) -> list[Footer]:
        with ThreadPoolExecutor(READERS) as readers:
            return list(readers.map(self.footer, files))

    def footer(self, file: FoundFile) -> Footer:
        with self._opened(file) as content:
            if self._is_parquet:
                return _footer(file, content.schema_arrow, content.metadata.num_rows, _with_int96(content))
            # Spark gives NULL for such a column, without a word.
            misread = [field.name for field in content.schema if "`" in f"{field.name}{field.type}"]
            if misread:
                raise _unsupported(misread[0], file, "with a backtick in its name")
            return _footer(file, content.schema, content.nrows, set(content.schema.names))

    def learn(self, files: Sequence[FoundFile]) -> Learnt:
        """The columns of all files in the order in which they first appear, widened by rule."""
        merged: dict[str, tuple[pa.Field, FoundFile]] = {}
        rows = 0
        for file, footer in zip(files, self.footers(files), strict=True):
            rows += footer.rows
            for field in footer.schema:
                known, first = merged.get(field.name.casefold(), (field, file))
                kind = _common(known, first, field, file)
                merged[field.name.casefold()] = (pa.field(known.name, kind), first)
        fields = [
            pa.field(field.name, pa.string()) if pa.types.is_null(field.type) else field
            for field, _ in merged.values()
        ]
        return Learnt(schema=pa.schema(fields), estimated_rows=rows)

    def batches(self, file: FoundFile, schema: pa.Schema, *, sets_aside: bool = False) -> Iterator[Batch]:
        """The rows. Columns have types of their own there, so that no row alone does not fit."""
        footer = self.footer(file)
        _refuse_misfit(file, footer, schema)
        with self._opened(file) as content:
            numbers = {field.name.casefold(): number for number, field in enumerate(footer.schema)}
            for batch in self._pieces(content):
                columns = [
                    _column(batch, numbers.get(field.name.casefold()), field, file) for field in schema
                ]
                yield Batch(rows=pa.RecordBatch.from_arrays(columns, schema=schema))

    def frame(
        self, spark: SparkSession, files: Sequence[FoundFile], schema: pa.Schema, *, is_strict: bool
    ) -> DataFrame:
        from pyspark.sql import functions as F

        from hakiri.sources.files.frames import FILE_COLUMN, LOUD, one_frame, spark_paths, spark_type

        layouts: dict[tuple[frozenset[str], frozenset[str]], list[FoundFile]] = {}
        for file, footer in zip(files, self.footers(files), strict=True):
            _refuse_misfit(file, footer, schema)
            layouts.setdefault((footer.untyped, footer.nanoseconds), []).append(file)
        frames = []
        for (untyped, nanoseconds), alike in layouts.items():
            frames.append(
                spark.read.options(**LOUD)
                .schema(_reader_schema(schema, untyped, nanoseconds))
                .format(self._format)
                .load(spark_paths(alike))
                .withColumn(FILE_COLUMN, F.col("_metadata.file_path"))
                .select(*[_expression(field, untyped, nanoseconds, spark_type) for field in schema])
            )
        return one_frame(frames)

    @contextmanager
    def _opened(self, file: FoundFile) -> Iterator[Any]:
        try:
            with open(file.path, "rb") as raw:
                yield _parquet_file(raw) if self._is_parquet else _orc_file(raw)
        except pa.ArrowInvalid as error:
            raise self._damaged(file) from error
        except OSError as error:
            # Arrow has its own errors for what is in a file, which are OSErrors without a number.
            raise (self._damaged(file) if error.errno is None else unreadable(file, error)) from error

    def _damaged(self, file: FoundFile) -> UnreadableFile:
        name = "Parquet" if self._is_parquet else "ORC"
        return UnreadableFile(file.name, f"it is no whole {name} file", Place(file.name))

    def _pieces(self, content: Any) -> Iterator[pa.RecordBatch]:
        if self._is_parquet:
            yield from content.iter_batches(batch_size=MOST_ROWS, use_threads=False)
            return
        for stripe in range(content.nstripes):
            batch = content.read_stripe(stripe)
            for start in range(0, batch.num_rows, MOST_ROWS):
                yield batch.slice(start, MOST_ROWS)


def _parquet_file(raw: Any) -> Any:
    from pyarrow.parquet import ParquetFile

    return ParquetFile(raw)


def _orc_file(raw: Any) -> Any:
    from pyarrow.orc import ORCFile

    return ORCFile(raw)


def _with_int96(content: Any) -> set[str]:
    """The columns with times in the old form, which are always UTC."""
    leaves = [content.schema.column(number) for number in range(len(content.schema))]
    return {leaf.path.partition(".")[0] for leaf in leaves if leaf.physical_type == "INT96"}


def _footer(file: FoundFile, schema: pa.Schema, rows: int, are_moments: set[str]) -> Footer:
    twice = [name for name, count in Counter(map(str.casefold, schema.names)).items() if count > 1]
    if twice:
        raise UnreadableFile(file.name, f"it has the column `{twice[0]}` more than once", Place(file.name))
    fields, nanoseconds = [], set()
    for field in schema:
        is_moment = field.name in are_moments
        is_ns = pa.types.is_timestamp(field.type) and field.type.unit == "ns"
        if is_ns and not is_moment:
            nanoseconds.add(field.name.casefold())
        if has_inside(field.type, [pa.null()] if is_moment else [pa.null(), *_NANOSECONDS]):
            raise _unsupported(field.name, file, f"of the type {field.type}")
        try:
            fields.append(pa.field(field.name, type_in_spark(field.type, are_moments=is_moment)))
        except Unsupported as unsupported:
            raise _unsupported(field.name, file, f"of the type {unsupported}") from None
    return Footer(
        schema=pa.schema(fields),
        rows=rows,
        untyped=frozenset(field.name.casefold() for field in fields if pa.types.is_null(field.type)),
        nanoseconds=frozenset(nanoseconds),
    )


def _unsupported(column: str, file: FoundFile, what: str) -> SchemaIncompatible:
    return SchemaIncompatible(
        f"`{file.name}` has a column `{column}` {what}, which Spark does not read",
        hint="write the files otherwise, or without the column",
    )


def _common(known: pa.Field, first: FoundFile, field: pa.Field, file: FoundFile) -> pa.DataType:
    try:
        return common_type(known.type, field.type)
    except Conflict:
        raise SchemaIncompatible(
            f"column `{known.name}` is {type_text(known.type)} in `{first.name}` "
            f"and {type_text(field.type)} in `{file.name}`",
            hint="rewrite one of the files, or read them into two tables",
        ) from None


def _refuse_misfit(file: FoundFile, footer: Footer, schema: pa.Schema) -> None:
    """Raise SchemaIncompatible for a file whose columns are not, or not without loss, those of the schema."""
    refuse_unknown(file, footer.schema.names, schema)
    wanted = {field.name.casefold(): field for field in schema}
    for field in footer.schema:
        expected = wanted[field.name.casefold()]
        try:
            is_held = common_type(expected.type, field.type) == expected.type
        except Conflict:
            is_held = False
        if not is_held:
            raise SchemaIncompatible(
                f"column `{field.name}` is {type_text(field.type)} in `{file.name}`, "
                f"and {type_text(expected.type)} in the table",
                hint="let the table's schema grow, or rewrite the file",
            )


def _column(batch: pa.RecordBatch, number: int | None, field: pa.Field, file: FoundFile) -> pa.Array:
    if number is None:
        return pa.nulls(batch.num_rows, field.type)
    try:
        return batch.column(number).cast(field.type)
    except pa.ArrowInvalid:
        problem = f"column `{field.name}` holds a value that is no {type_text(field.type)}"
        raise UnreadableFile(file.name, problem, Place(file.name)) from None


def _reader_schema(schema: pa.Schema, untyped: frozenset[str], nanoseconds: frozenset[str]) -> Any:
    from hakiri.sources.bridge.schemas import spark_schema

    fields = [
        pa.field(field.name, pa.int64()) if field.name.casefold() in nanoseconds else field
        for field in schema
        if field.name.casefold() not in untyped
    ]
    return spark_schema(pa.schema(fields), "files")


def _expression(
    field: pa.Field,
    untyped: frozenset[str],
    nanoseconds: frozenset[str],
    spark_type: Callable[[pa.DataType, str], str],
) -> Column:
    from pyspark.sql import functions as F

    from hakiri.sources.files.frames import quoted, refused

    name, kind = field.name.casefold(), spark_type(field.type, field.name)
    if name in untyped:
        return F.lit(None).cast(kind).alias(field.name)
    value = F.col(quoted(field.name))
    if name in nanoseconds:
        micros = F.timestamp_micros(F.call_function("div", value, F.lit(1_000)))
        refusal = refused(f"column `{field.name}` holds a time that is finer than a microsecond")
        # The session's zone is UTC, so that a time without a zone stays what it is.
        value = (
            F.when(value % 1_000 == 0, micros).when(value.isNull(), F.lit(None)).otherwise(refusal).cast(kind)
        )
    return value.alias(field.name)
