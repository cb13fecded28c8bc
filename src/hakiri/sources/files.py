"""The connector `files`: CSV, JSON Lines, Parquet and ORC by glob, read by Spark itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hakiri.core.nearest import nearest
from hakiri.sources.errors import BadSourceConfig, NoFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

# FAILFAST: Spark's default turns a value that does not fit into NULL without a word.
FORMATS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "csv": ("csv", {"header": "true", "inferSchema": "true", "mode": "FAILFAST"}),
        "jsonl": ("json", {"mode": "FAILFAST"}),
        "parquet": ("parquet", {"mergeSchema": "true"}),
        "orc": ("orc", {"mergeSchema": "true"}),
    }
)
_KEYS = ("path", "format")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesConfig:
    """Which files, and what is in them."""

    path: str
    format: str


def files_config(config: Mapping[str, Any]) -> FilesConfig:
    """The connector's own reading of `source.config`; raises BadSourceConfig."""
    for key in config:
        if key not in _KEYS:
            meant = nearest(key, _KEYS)
            raise BadSourceConfig(
                "files",
                f"unknown key `{key}`",
                hint=f"did you mean `{meant}`?" if meant else f"it takes {' and '.join(_KEYS)}",
            )
    path, kind = config.get("path"), config.get("format")
    if not isinstance(path, str) or not path:
        raise BadSourceConfig("files", "`path` is missing", hint='write a glob, as in path = "data/*.csv"')
    if kind is None:
        kind = Path(path).suffix.lstrip(".")
    if kind not in FORMATS:
        known = ", ".join(FORMATS)
        raise BadSourceConfig("files", f"`{kind}` is no format it reads", hint=f"use one of: {known}")
    return FilesConfig(path=path, format=str(kind))


def matching_files(config: FilesConfig, root: Path) -> list[Path]:
    """The files of the glob, in order; a relative one starts at the project. Raises NoFiles."""
    pattern = root / config.path
    found = sorted(
        path for path in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))) if path.is_file()
    )
    if not found:
        raise NoFiles(config.path)
    return found


def read_files(spark: SparkSession, config: FilesConfig, root: Path) -> DataFrame:
    reader, options = FORMATS[config.format]
    paths = [str(path) for path in matching_files(config, root)]
    return spark.read.format(reader).options(**options).load(paths)
