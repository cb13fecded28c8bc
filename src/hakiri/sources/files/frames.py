"""What every format needs of Spark: paths as Spark takes them, frames as one, and misfits that are told."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.engine.paths import spark_path
from hakiri.sources.bridge.schemas import spark_schema
from hakiri.sources.errors import SchemaIncompatible
from hakiri.sources.files.listing import FoundFile

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.connect.session import SparkSession

MISFIT = "hakiri-misfit"
# Where the frame in which `refused` stands has the address of the file.
FILE_COLUMN = "_hakiri_file"
# Each layout is a scan of its own in one plan; some hundred of them take longer to plan than to read.
MOST_LAYOUTS = 200
# Whatever the cluster says: a file that is damaged or gone is never left out in silence.
LOUD = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}


def spark_paths(files: Sequence[FoundFile]) -> list[str]:
    return [spark_path(os.path.abspath(file.path)) for file in files]


def quoted(name: str) -> str:
    """The name of a column as Spark reads it, dots and all."""
    return f"`{name.replace('`', '``')}`"


def spark_type(kind: pa.DataType, column: str) -> str:
    found = spark_schema(pa.schema([(column, kind)]), column)[0].dataType
    return found.simpleString()


def empty_frame(spark: SparkSession, schema: pa.Schema, table: str) -> DataFrame:
    return spark.createDataFrame([], spark_schema(schema, table))


def one_frame(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows, of frames with the same columns. Raises SchemaIncompatible for too many frames."""
    if len(frames) > MOST_LAYOUTS:
        raise SchemaIncompatible(
            f"the files have {len(frames)} different layouts, and at most {MOST_LAYOUTS} are read together",
            hint="read them with several pipelines, or rewrite them with the same columns in the same order",
        )
    whole, *others = frames
    for frame in others:
        whole = whole.unionByName(frame)
    return whole


def refused(problem: str) -> Column:
    """A column that has no value: whoever asks for one fails, and is told the problem and the file."""
    from pyspark.sql import functions as F

    return F.raise_error(F.concat(F.lit(f"{MISFIT} {json.dumps(problem)} "), F.col(FILE_COLUMN)))


def misfit_in(message: str) -> tuple[str, str] | None:
    """Problem and address of the file, if the message is one of `refused`."""
    found = re.search(rf'{MISFIT} ("(?:[^"\\]|\\.)*") (\S+)', message)
    return None if found is None else (json.loads(found[1]), found[2])
