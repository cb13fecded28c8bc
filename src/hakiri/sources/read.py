"""From a source's declaration to a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.errors import Place
from hakiri.sources.errors import UnknownConnector
from hakiri.sources.files import FilesConfig, files_config, matching_files, read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

    from hakiri.manifest import SourceSpec

CONNECTORS = ("files",)


def check_source(source: SourceSpec, root: Path, place: Place) -> None:
    """Raise whatever would keep the source from being read, as far as that shows without Spark.

    `place` is where the source is declared: every error names it.
    """
    matching_files(_files_of(source, place), root)


def read_source(spark: SparkSession, source: SourceSpec, root: Path, place: Place) -> DataFrame:
    """The rows of a source, lazily: nothing is read before somebody asks for rows."""
    return read_files(spark, _files_of(source, place), root)


def _files_of(source: SourceSpec, place: Place) -> FilesConfig:
    if source.connector not in CONNECTORS:
        raise UnknownConnector(source.connector, CONNECTORS, place)
    return files_config(source.config, place)
