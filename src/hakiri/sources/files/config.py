"""What the connector `files` takes: which files, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import pyarrow as pa
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from hakiri.core.grammar import BadText
from hakiri.sources.config import SourceConfig, refuse_value
from hakiri.sources.files.globs import TABLE_SIGN, BadGlob, check_glob
from hakiri.sources.json_rows import declared_schema, type_text

Format: TypeAlias = Literal["csv", "jsonl", "parquet", "orc"]
Encoding: TypeAlias = Literal["utf-8", "iso-8859-1", "windows-1252", "utf-16"]

FORMATS: tuple[Format, ...] = ("csv", "jsonl", "parquet", "orc")
# What both Spark and Arrow unpack, by the ending that tells Spark of it. Spark dies of an `.lz4`.
COMPRESSIONS: Mapping[str, str] = MappingProxyType({".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"})
NOT_UNPACKED = (".lz4", ".snappy", ".deflate", ".xz", ".zip")
_A_GLOB = 'write a glob, as in path = "data/*.csv"'
_FORMAT_HINT = f"use one of: {', '.join(FORMATS)}"
_SCALARS = (pa.int64(), pa.int32(), pa.float64(), pa.bool_(), pa.string(), pa.date32())


def _globs(value: Any) -> Any:
    globs = [value] if isinstance(value, str) else value
    if not isinstance(globs, list) or not all(isinstance(glob, str) for glob in globs):
        refuse_value("is neither a text nor a list of texts", _A_GLOB)
    if not globs or "" in globs:
        refuse_value("is empty", _A_GLOB)
    for glob in globs:
        if "://" in glob or glob.startswith("file:"):
            refuse_value(
                f"is `{glob}`, and only files in a mounted folder are read",
                "mount or copy them, and write the path without a scheme, as in data/*.csv",
            )
        try:
            check_glob(glob)
        except BadGlob as problem:
            refuse_value(f"is `{glob}`, which is no glob: {problem}", 'write it as in path = "data/**/*.csv"')
    if len({TABLE_SIGN in glob for glob in globs}) > 1:
        refuse_value(f"has `{TABLE_SIGN}` in some globs only", "write it in all of them, or in none")
    return tuple(globs)


def _format(value: Any, info: ValidationInfo) -> Any:
    if value is not None and not isinstance(value, str):
        refuse_value("is not a text", _FORMAT_HINT)
    globs = info.data.get("path")
    if value is None and globs:
        value = _format_of(globs)
    if value == "avro":
        refuse_value(
            "is avro, and Spark reads Avro only with a module that its Python package does not carry",
            "convert the files to Parquet, or read them with a connector of your own (hakiri source new)",
        )
    if value is not None and value not in FORMATS:
        refuse_value(f"is `{value}`, which is none that it reads", _FORMAT_HINT)
    return value


def _format_of(globs: tuple[str, ...]) -> str:
    endings = {_ending_of(glob) for glob in globs}
    if len(endings) > 1:
        refuse_value("is missing, and the globs have several endings", _FORMAT_HINT)
    (ending,) = endings
    if ending not in (*FORMATS, "avro"):
        refuse_value(f"is missing, and `{globs[0]}` has no ending that tells it", _FORMAT_HINT)
    return ending


def _ending_of(glob: str) -> str:
    name = PurePosixPath(glob)
    if name.suffix in COMPRESSIONS:
        name = name.with_suffix("")
    return name.suffix.removeprefix(".").lower()


def _for_csv(value: Any, info: ValidationInfo) -> Any:
    # Without a format there is an error already.
    if info.data.get("format") not in (None, "csv"):
        refuse_value(f"is for CSV, and the files are {info.data['format']}", "remove it")
    return value


def _character(value: str) -> str:
    if len(value) != 1 or not value.isascii() or value in "\r\n\0":
        refuse_value("is not one ASCII character", 'write it as in delimiter = ";"')
    return value


def _quote(value: str) -> str:
    return value and _character(value)


def _header(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    is_names = isinstance(value, list) and value and all(isinstance(name, str) and name for name in value)
    if not is_names:
        refuse_value(
            "is neither true, false nor a list of names", 'write header = true, or header = ["id", "name"]'
        )
    if len({name.casefold() for name in value}) < len(value):
        refuse_value("has a name twice", "give each column a name of its own")
    return tuple(value)


def _encoding(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _columns(columns: Mapping[str, str], info: ValidationInfo) -> Mapping[str, str]:
    kind = info.data.get("format")
    if kind in ("parquet", "orc"):
        refuse_value(f"is for texts, and {kind} files have types of their own", "remove it")
    try:
        declared = declared_schema(columns)
    except BadText as error:
        refuse_value(f"has a wrong type: {error}", error.hint)
    for column in declared:
        if kind == "csv" and not is_scalar(column.type):
            refuse_value(
                f"declares `{column.name}` as {type_text(column.type)}, which a CSV cannot hold",
                "use bigint, int, double, decimal(p,s), boolean, string, date or timestamp",
            )
    return columns


def is_scalar(kind: pa.DataType) -> bool:
    """Whether a field of a CSV can be of this type."""
    is_moment = pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None
    return kind in _SCALARS or is_moment or pa.types.is_decimal128(kind)


_CSV = AfterValidator(_for_csv)


class FilesConfig(SourceConfig):
    """Which files, what is in them, and what happens to a file that has changed."""

    path: Annotated[tuple[str, ...], BeforeValidator(_globs)] = Field(
        description='a glob that starts at the project, as in "data/**/*.csv", or a list of them; '
        "`{table}` stands for the table's name"
    )
    format: Annotated[Format, BeforeValidator(_format)] = Field(
        default=None,  # taken from the ending then
        validate_default=True,
        description="csv, jsonl, parquet or orc; else as the ending says, also before .gz, .bz2 or .zst",
    )
    delimiter: Annotated[str, AfterValidator(_character), _CSV] = Field(
        default=",", description="what stands between the fields of a CSV; one character"
    )
    header: Annotated[bool | tuple[str, ...], BeforeValidator(_header), _CSV] = Field(
        default=True,
        description="whether a CSV begins with the names of its columns; if not, the names may stand here",
    )
    quote: Annotated[str, AfterValidator(_quote), _CSV] = Field(
        default='"',
        description="what stands around fields of a CSV, doubled inside of them; empty for nothing",
    )
    encoding: Annotated[Encoding, BeforeValidator(_encoding), _CSV] = Field(
        default="utf-8", description="of a CSV: utf-8, iso-8859-1, windows-1252 or utf-16"
    )
    invalid_bytes: Annotated[Literal["fail", "replace"], _CSV] = Field(
        default="fail",
        description="what to do with bytes that the encoding does not have: fail, or replace them by U+FFFD",
    )
    null_values: Annotated[tuple[str, ...], _CSV] = Field(
        default=(), description='texts that mean NULL in a CSV besides the empty field, as in ["NULL", "N/A"]'
    )
    multiline: Annotated[bool, _CSV] = Field(
        default=True,
        description="whether quoted fields of a CSV may hold line ends; false lets Spark split large files",
    )
    columns: Annotated[dict[str, str], AfterValidator(_columns)] = Field(
        default={},
        description='types of columns by name where they are not to be inferred, as in {zip = "string"}',
    )
    changed: Literal["reread", "ignore", "fail"] = Field(
        default="reread", description="what to do with a file that has changed since it was read"
    )

    @property
    def declared(self) -> pa.Schema:
        """The declared columns as Arrow types."""
        return declared_schema(self.columns)

    @property
    def has_tables(self) -> bool:
        """Whether the path tells the tables apart."""
        return TABLE_SIGN in self.path[0]
