"""From a source's declaration to a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.sources.errors import UnknownConnector
from hakiri.sources.files import files_config, matching_files, read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

    from hakiri.manifest import SourceSpec

CONNECTORS = ("files",)


def check_source(source: SourceSpec, root: Path) -> None:
    """Raise whatever would keep the source from being read, as far as that shows without Spark."""
    if source.connector not in CONNECTORS:
        raise UnknownConnector(source.connector, CONNECTORS)
    matching_files(files_config(source.config), root)


def read_source(spark: SparkSession, source: SourceSpec, root: Path) -> DataFrame:
    """The rows of a source, lazily: nothing is read before somebody asks for rows."""
    check_source(source, root)
    return read_files(spark, files_config(source.config), root)
