"""CSV read by Spark. Every field comes as a text and is made a value by Spark's own expressions.

Spark's CSV reader could make values itself, but takes `1d`, `0x1p3` and `2026` for a double, a double and a
date, rounds decimals and moments, knows one text for NULL only, and matches columns by position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from hakiri.sources.files.csv_values import (
    BLANKS,
    DATE,
    LENGTH_TO_MINUTES,
    OFFSET,
    REPLACEMENT,
    TRUE,
    form_of,
)
from hakiri.sources.files.frames import (
    FILE_COLUMN,
    LOUD,
    empty_frame,
    one_frame,
    quoted,
    refused,
    spark_paths,
    spark_type,
)
from hakiri.sources.json_rows import type_text
from hakiri.sources.json_rows.types import TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.connect.session import SparkSession

    from hakiri.sources.files.config import FilesConfig
    from hakiri.sources.files.csv_heads import CsvLayout
    from hakiri.sources.files.listing import FoundFile

# What stands for a field that is empty and not quoted, so that `""` can be told from it.
_NOTHING = "\x01hakiri\x02nothing\x03"
_BLANK = "[ \\t\\r\\n]"
_WHOLE_MOMENT = rf"{DATE}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?{OFFSET}"
# Spark does not know this encoding. It differs from ISO 8859-1 in these characters alone, and lacks five.
_LATIN_CONTROLS = "".join(map(chr, range(0x80, 0xA0)))
_WINDOWS_SIGNS = bytes(range(0x80, 0xA0)).decode("cp1252", "replace")


def csv_frame(
    spark: SparkSession,
    layouts: Mapping[CsvLayout, Sequence[FoundFile]],
    schema: pa.Schema,
    config: FilesConfig,
) -> DataFrame:
    """The rows of all files in this schema; files of one layout are one scan."""
    if not layouts:
        return empty_frame(spark, schema, "files")
    return one_frame([_scan(spark, layout, files, schema, config) for layout, files in layouts.items()])


def _scan(
    spark: SparkSession,
    layout: CsvLayout,
    files: Sequence[FoundFile],
    schema: pa.Schema,
    config: FilesConfig,
) -> DataFrame:
    names = _names_for_spark(layout, config)
    # Spark compares the header with these names once more, and so notices a file that was changed meanwhile.
    is_checked = config.header is True and "" not in layout.raw_names
    options = {
        "header": str(config.header is True).lower(),
        "enforceSchema": str(not is_checked).lower(),
        "sep": config.delimiter,
        "quote": config.quote,
        "escape": config.quote,
        "encoding": {"windows-1252": "iso-8859-1"}.get(config.encoding, config.encoding),
        "multiLine": str(config.multiline or config.encoding == "utf-16").lower(),
        "nullValue": _NOTHING,
        "mode": "FAILFAST",
        # Else a line with too few fields goes unnoticed when only some columns are asked for.
        "columnPruning": "false",
        "unescapedQuoteHandling": "RAISE_ERROR",
    }
    if config.multiline:
        # Without it, Spark writes the line ends inside of quoted fields anew.
        options["lineSep"] = layout.line_end
    schema_of_texts = StructType([StructField(name, StringType()) for name in names])
    lines = spark.read.schema(schema_of_texts).options(**options, **LOUD).csv(spark_paths(files))
    # A step of its own: an expression inside another one is computed as often as it stands there.
    texts = [_text(F.col(quoted(name)), config).alias(f"t{number}") for number, name in enumerate(names)]
    fields = lines.select(*texts, F.col("_metadata.file_path").alias(FILE_COLUMN))
    numbers = {name.casefold(): number for number, name in enumerate(layout.columns)}
    columns = []
    for field in schema:
        number = numbers.get(field.name.casefold())
        if number is None:
            value = F.lit(None).cast(spark_type(field.type, field.name))
        else:
            value = _value(F.col(f"t{number}"), field, config, is_last=number == len(names) - 1)
        columns.append(value.alias(field.name))
    return fields.select(*columns)


def _names_for_spark(layout: CsvLayout, config: FilesConfig) -> list[str]:
    """The names in the header as Spark sees them."""
    if config.encoding == "windows-1252":
        return [name.encode("cp1252").decode("latin-1") for name in layout.raw_names]
    return [name or f"c{number}" for number, name in enumerate(layout.raw_names, start=1)]


def _text(text: Column, config: FilesConfig) -> Column:
    """A field as it is meant."""
    if config.encoding == "windows-1252":
        text = F.translate(text, _LATIN_CONTROLS, _WINDOWS_SIGNS)
    return F.when(~text.isin(list(config.null_values)), text) if config.null_values else text


def _value(text: Column, field: pa.Field, config: FilesConfig, *, is_last: bool) -> Column:
    """A field as a value of its column's type. What most fields are is asked for first."""
    if field.type == pa.string():
        return _checked(text, field.name, config, is_last=is_last)
    refusal = refused(f"column `{field.name}` holds a value that is no {type_text(field.type)}")
    value = F.when(text.isNull(), F.lit(None))
    if field.type == TIMESTAMP:
        value = value.when(text.rlike(f"^{_WHOLE_MOMENT}$"), F.coalesce(text.try_cast("timestamp"), refusal))
    is_of_form = text.rlike(f"^{_BLANK}*({form_of(field.type)}){_BLANK}*$")
    parsed = F.coalesce(_parsed(text, field), refusal)
    value = value.when(is_of_form, parsed).when(text.rlike(f"^{_BLANK}*$"), F.lit(None)).otherwise(refusal)
    return value.cast(spark_type(field.type, field.name))


def _checked(text: Column, column: str, config: FilesConfig, *, is_last: bool) -> Column:
    value = F.when(text.isNull(), F.lit(None))
    if config.invalid_bytes == "fail":
        # Spark puts this sign in the place of bytes that it cannot decode.
        problem = f'column `{column}` holds U+FFFD, which invalid_bytes = "replace" allows'
        value = value.when(F.contains(text, F.lit(REPLACEMENT)), refused(problem))
    if is_last and config.multiline:
        problem = "some of its lines end otherwise than the first"
        value = value.when(F.endswith(text, F.lit("\r")), refused(problem))
    return value.otherwise(text)


def _parsed(text: Column, field: pa.Field) -> Column:
    if field.type == pa.bool_():
        return F.lower(F.btrim(text, F.lit(BLANKS))).isin(list(TRUE))
    if field.type == TIMESTAMP:
        return _moment(F.btrim(text, F.lit(BLANKS))).try_cast("timestamp")
    value = text.try_cast(spark_type(field.type, field.name))
    if field.type == pa.float64():
        return F.when(F.abs(value) < F.lit(float("inf")), value)
    return value


def _moment(text: Column) -> Column:
    """The text with seconds and an offset, without which Spark takes it for none, or for local time."""
    minutes, rest = text.substr(1, LENGTH_TO_MINUTES), F.substring(text, LENGTH_TO_MINUTES + 1, 1_000)
    whole = F.when(F.startswith(rest, F.lit(":")), text).otherwise(F.concat(minutes, F.lit(":00"), rest))
    return F.when(whole.rlike(f"{OFFSET}$"), whole).otherwise(F.concat(whole, F.lit("Z")))
