"""What a connector is: it tells which tables there are, how they can be cut, and reads them as Arrow.

Everything here is a value or a promise; nothing does I/O. A connector is made anew in every process that
reads, from the source's config and a `Context`, so it never has to travel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import pyarrow as pa

from hakiri.core.clock import Clock
from hakiri.core.cursors import UNDECLARED_KIND, CursorKind
from hakiri.core.errors import HakiriError
from hakiri.core.grammar import Duration, Rate
from hakiri.core.secrets import Secret
from hakiri.sources.config import SourceConfig
from hakiri.sources.rejects import Reject

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

# A place in a source, in the connector's own words: `{"updated_at": "2026-05-11T08:00:00Z"}`. Plain JSON.
Cursor: TypeAlias = Mapping[str, Any]
# The value of a cursor column: a whole number, or a text (for moments ISO 8601 with its offset).
Bound: TypeAlias = int | str

EXTRA_COLUMN = "_extra"
OP_COLUMN = "_op"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of a source, as it is known before any row is read.

    `is_open` says that the schema was learnt from a sample and rows may bring more. Such a table has a last
    column `_extra`, a JSON text of whatever found no place in the other columns.
    """

    name: str
    schema: pa.Schema
    primary_key: tuple[str, ...] = ()
    cursor_fields: tuple[str, ...] = ()
    estimated_rows: int | None = None
    is_open: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """How the history of a table may be pulled. What is left out is decided by the operator or by default.

    `cursor_field` is the column whose values a window cuts, where the source knows it without being told.
    With `is_cursor` it also tells what is new; else it only cuts, and news are found by reading all again.
    """

    cursor_kind: CursorKind = UNDECLARED_KIND
    cursor_field: str | None = None
    is_cursor: bool = True
    partition_keys: tuple[str, ...] = ()
    natural_window: Duration | None = None
    rate_budget: Rate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Where the values of a column begin and end, and how many rows there are; None for what is not known."""

    lowest: Bound | None = None
    highest: Bound | None = None
    rows: int | None = None
    has_nulls: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The rows with `since` <= field < `until`; an end that is None is open.

    `has_nulls`: the rows without a value in the field belong to it as well.
    """

    field: str
    since: Bound | None = None
    until: Bound | None = None
    has_nulls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What is asked of a connector: a table, or a piece of it.

    - `cursor`: go on after this place; None is from the start.
    - `incremental`: the cursor column that the manifest names, if it names one.
    - `window` and `partition`: read only this piece.
    - `snapshot`: what `still()` gave, so that many reads see one state.
    - `schema`: what the reader expects of an open table; rows are brought into this form.
    - `limit`: no more rows than these are wanted; a connector may give more.
    - `sets_aside`: a row that does not fit its columns is a reject of its batch. Else it fails the read with
      BadRecord, or is kept in `_extra` where a table has that.
    """

    table: str
    cursor: Cursor | None = None
    incremental: str | None = None
    window: Window | None = None
    partition: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    snapshot: str | None = None
    schema: pa.Schema | None = None
    limit: int | None = None
    sets_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some rows, and the cursor from which a later read goes on after them.

    A cursor of None says nothing new: the one before it still holds. Rows that were taken away at the source
    are given with `_op` = `delete` and their primary key. `rejects` came between these rows and do not fit;
    there are none unless the read sets them aside.
    """

    rows: pa.RecordBatch
    cursor: Cursor | None = None
    rejects: tuple[Reject, ...] = ()


class Budget(Protocol):
    """How often a source may be called."""

    def turn(self) -> AbstractContextManager[None]:
        """Wait until one more call is allowed; make it inside the block, and leave when it was answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a connector gets from outside. It takes nothing from anywhere else."""

    root: Path
    secrets: Mapping[str, Secret]
    budget: Budget
    clock: Clock
    wait: Callable[[float], object]


class Connector(ABC):
    """Reads one source.

    Every method raises one of the errors in `hakiri.sources.errors`: TransientFailure, RateLimited,
    AuthExpired, SchemaIncompatible or PermanentFailure, so that the runtime knows whether to try again.
    """

    Config: ClassVar[type[SourceConfig]] = SourceConfig
    # One line for `hakiri source list`.
    summary: ClassVar[str] = ""

    def __init__(self, config: Any, context: Context) -> None:
        self.config = config
        self.context = context

    @abstractmethod
    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        """The tables with their schemas and keys, before any is read; with `only`, no others are looked at.

        Raises PermanentFailure for a table in `only` that the source does not have.
        """

    @abstractmethod
    def open(self, read: Read) -> Iterator[Batch]:
        """The rows that are asked for, in batches, each with the cursor after it; the end is the end.

        Rows that were read, with the cursor saved after any of the batches, and the rows of a read from that
        cursor are together the rows of an uninterrupted read.
        """

    def backfill_hint(self, table: str) -> Hint:
        """How the history of the table may be pulled."""
        return Hint()

    def partitions(self, table: str) -> Sequence[Mapping[str, str]]:
        """The values of the hint's partition keys; by default there is one partition, without a name."""
        return ({},)

    def extent(self, table: str, column: str) -> Extent:
        """What the source can say of a column without reading the table, for plans and estimates."""
        return Extent()

    def has_news(self, read: Read) -> bool | None:
        """Whether the read would bring anything, if that costs next to nothing to say; else None."""
        return None

    def still(self) -> AbstractContextManager[str | None]:
        """Hold the source still while the block runs, where it can: gives the `snapshot` for reads."""
        return nullcontext()

    def check(self) -> str:
        """Try the way to the source and the credentials; one line about what was reached."""
        return f"{len(self.discover())} tables"

    def close(self) -> None:  # noqa: B027 - most connectors hold nothing
        """Let go of connections."""


class NativeConnector(Connector):
    """A connector whose rows Spark reads by itself, and not through Python."""

    @abstractmethod
    def frame(self, spark: SparkSession, read: Read) -> DataFrame:
        """The rows that are asked for, lazily.

        A frame has no place for rejects: what `explain` tells of them is BadRecord, also for a read that sets
        rows aside. Such rows are had from `open`.
        """

    @abstractmethod
    def cursor_after(self, read: Read) -> Cursor | None:
        """The cursor for after this read, to be asked for before the frame is read."""

    def pieces(self, read: Read, *, is_one: bool = False) -> Sequence[Read]:
        """What `cursor_after` was told of, as reads that `open` may be asked for side by side, or as one."""
        return (read,)

    def explain(self, error: PySparkException) -> HakiriError | None:
        """What Spark says went wrong as an error of this source; None if it is not about the source."""
        return None
