"""The connector `files`: CSV, JSON Lines, Parquet and ORC by glob, read by Spark itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.sources.errors import BadSourceConfig, NoFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

# What Spark's defaults would do without a word: turn a value that does not fit into NULL (`mode`), put the
# columns of a file with another header where the first file has others (`enforceSchema`), and misread the
# doubled quotes that every other program writes (`escape`).
_CSV = MappingProxyType(
    {"header": "true", "inferSchema": "true", "mode": "FAILFAST", "enforceSchema": "false", "escape": '"'}
)
FORMATS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "csv": ("csv", _CSV),
        "jsonl": ("json", {"mode": "FAILFAST"}),
        "parquet": ("parquet", {"mergeSchema": "true"}),
        "orc": ("orc", {"mergeSchema": "true"}),
    }
)
_KEYS = ("path", "format")
_HIDDEN = ("_", ".")  # Spark leaves out files whose names begin so, even those that it is told to read
_GLOB_SIGNS = re.compile(r"[\\*?{}\[\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesConfig:
    """Which files, what is in them, and where that is declared."""

    path: str
    format: str
    place: Place


def files_config(config: Mapping[str, Any], place: Place) -> FilesConfig:
    """The connector's own reading of `source.config`; raises BadSourceConfig."""

    def refusal(problem: str, hint: str) -> BadSourceConfig:
        return BadSourceConfig("files", problem, place, hint=hint)

    for key in config:
        if key not in _KEYS:
            meant = nearest(key, _KEYS)
            hint = f"did you mean `{meant}`?" if meant else f"it takes {' and '.join(_KEYS)}"
            raise refusal(f"unknown key `{key}`", hint)
    path, kind = config.get("path"), config.get("format")
    if path is None or path == "":
        raise refusal("`path` is missing", 'write a glob, as in path = "data/*.csv"')
    if not isinstance(path, str):
        raise refusal("`path` is not a text", 'write a glob, as in path = "data/*.csv"')
    known = f"use one of: {', '.join(FORMATS)}"
    if kind is None:
        kind = Path(path).suffix.lstrip(".").lower()
        if not kind:
            raise refusal(f"`format` is missing, and `{path}` has no ending that tells it", known)
    if not isinstance(kind, str):
        raise refusal("`format` is not a text", known)
    if kind not in FORMATS:
        raise refusal(f"`{kind}` is no format it reads", known)
    return FilesConfig(path=path, format=kind, place=place)


def matching_files(config: FilesConfig, root: Path) -> list[Path]:
    """The files of the glob, in order; a relative one starts at the project. Raises NoFiles."""
    pattern = Path(config.path)
    # Not `root / pattern`: a project's folder may have signs in its name that mean something in a glob.
    start = Path(pattern.anchor) if pattern.is_absolute() else root
    try:
        matches = list(start.glob(str(pattern.relative_to(pattern.anchor))))
    except ValueError as error:
        raise BadSourceConfig(
            "files", f"`{config.path}` is no glob", config.place, hint='write it as in path = "data/*.csv"'
        ) from error
    found = sorted(path for path in matches if path.is_file() and not path.name.startswith(_HIDDEN))
    if not found:
        raise NoFiles(config.path, config.place)
    return found


def read_files(spark: SparkSession, config: FilesConfig, root: Path) -> DataFrame:
    reader, options = FORMATS[config.format]
    # The glob is resolved by now; Spark would take signs in the names of files for another one.
    paths = [_GLOB_SIGNS.sub(r"\\\g<0>", str(path)) for path in matching_files(config, root)]
    return spark.read.format(reader).options(**options).load(paths)
