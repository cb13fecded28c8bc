"""What is learnt of files before they are read, and columns that files of one table have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import pyarrow as pa

from hakiri.sources.contract import Batch
from hakiri.sources.errors import SchemaIncompatible
from hakiri.sources.files.listing import FoundFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

_Thing = TypeVar("_Thing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """The columns of all files together, and about how many rows they have."""

    schema: pa.Schema
    estimated_rows: int


class FileFormat(Protocol):
    """How files of one format are read. Every method raises UnreadableFile and SchemaIncompatible.

    What cannot be read of single rows is told by whoever reads them, and not by `learn`.
    """

    is_open: bool

    def learn(self, files: Sequence[FoundFile]) -> Learnt:
        """Look at the files without Spark."""

    def batches(self, file: FoundFile, schema: pa.Schema, *, sets_aside: bool = False) -> Iterator[Batch]:
        """The rows of one file in this schema, without Spark; see `Read` for `sets_aside`."""

    def frame(
        self, spark: SparkSession, files: Sequence[FoundFile], schema: pa.Schema, *, is_strict: bool
    ) -> DataFrame:
        """The rows of these files, of which there is at least one, in this schema, as Spark reads them.

        If it `is_strict`, a row that a read may set aside fails it, also where it could be kept in `_extra`.
        """


class Columns(Generic[_Thing]):
    """Things by the name of a column, in the order in which they came; the first spelling of a name stays."""

    def __init__(self, make: Callable[[], _Thing]) -> None:
        self._make = make
        self._held: dict[str, tuple[str, _Thing]] = {}

    def at(self, name: str) -> _Thing:
        return self._held.setdefault(name.casefold(), (name, self._make()))[1]

    def items(self) -> Iterator[tuple[str, _Thing]]:
        yield from self._held.values()


def refuse_unknown(file: FoundFile, columns: Sequence[str], schema: pa.Schema) -> None:
    """Raise SchemaIncompatible for a column of a file that has no place in the schema: it would be lost."""
    known = {name.casefold() for name in schema.names}
    unknown = [name for name in columns if name.casefold() not in known]
    if unknown:
        raise SchemaIncompatible(
            f"`{file.name}` has the column `{unknown[0]}`, which the table does not have",
            hint="let the table's schema grow, or remove the column from the file",
        )
