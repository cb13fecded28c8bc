"""What a pipeline says about one table: its key, its columns, its quality, its compaction and its indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from hakiri.core.grammar import Duration
from hakiri.manifest.expectations import ExpectationSpec, troubles_among
from hakiri.manifest.fields import (
    AccessPattern,
    ColumnName,
    ColumnNames,
    DurationText,
    Found,
    IndexId,
    OrShort,
    PartitionText,
    SourceTable,
    StoreTable,
    Strict,
    refuse,
)
from hakiri.manifest.layout import KeyPath
from hakiri.manifest.problems import Code
from hakiri.manifest.scalars import LagValue

MOST_RUNS = 1_000_000
MOST_DIMENSIONS = 65_536
MOST_CONNECTIONS = 1_024
MOST_CANDIDATES = 100_000

Deletes: TypeAlias = Literal["ignore", "missing"]
OnBadRow: TypeAlias = Literal["fail", "quarantine"]
Contract: TypeAlias = Literal["evolve", "freeze", "discard"]
Analyzer = Literal[
    "simple", "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
    "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish",
]  # fmt: skip


class CompactionSpec(Strict):
    """When runs are folded into a snapshot, and how the snapshot is laid out."""

    trigger_run_count: int = Field(
        50, examples=[50], ge=1, le=MOST_RUNS, description="Compact after this many runs."
    )
    trigger_interval: DurationText = Field(
        Duration.parse("6h"), description="Compact when the last compaction is this long ago."
    )
    cluster_by: ColumnNames | None = Field(
        None,
        description="Columns by which rows are sorted within a file. "
        "Default: the primary key, else the time of ingestion.",
        examples=[["repo", "updated_at"]],
    )
    partition_by: PartitionText | None = Field(
        None, description="A column, or year, month, day or hour of one. Default: a single partition."
    )
    access_pattern: AccessPattern | None = Field(
        None, description="How the table is read, from which a partition is derived. Not with `partition_by`."
    )
    retain_runs: DurationText = Field(
        Duration.parse("7d"), description="How long runs survive after they were folded into a snapshot."
    )

    @model_validator(mode="after")
    def _has_one_partition(self) -> Self:
        if self.partition_by is not None and self.access_pattern is not None:
            refuse(
                Found(
                    Code.CONFLICT,
                    "`access_pattern` and `partition_by` both decide the partitions",
                    "keep one of them",
                    ("access_pattern",),
                )
            )
        return self


class _Index(Strict):
    id: IndexId | None = Field(
        None, description="The name of its folder. Default: `<kind>-<columns>`, with the model for vectors."
    )


class PkIndex(_Index):
    """Point look-ups by key."""

    kind: Literal["pk"] = Field(description="Point look-ups by key.")
    on: ColumnNames = Field(description="The key's columns.", examples=[["id"]])


class VectorIndex(_Index):
    """Similarity search over embeddings of one column."""

    kind: Literal["vector"] = Field(description="Similarity search over embeddings of one column.")
    column: ColumnName = Field(description="The text column to embed.", examples=["body"])
    model: str = Field(min_length=1, description="The embedding model.", examples=["bge-large-en-v1.5"])
    dim: int = Field(ge=1, le=MOST_DIMENSIONS, description="Length of the model's vectors.", examples=[1024])
    metric: Literal["cosine", "l2", "dot"] = Field("cosine", description="How distance is measured.")
    m: int = Field(32, ge=2, le=MOST_CONNECTIONS, description="HNSW: connections of each vector.")
    ef_construction: int = Field(
        200, ge=1, le=MOST_CANDIDATES, description="HNSW: candidates looked at while building."
    )
    incremental: bool = Field(
        default=False, description="Embed only rows that are new since the last snapshot."
    )


class FtsIndex(_Index):
    """Keyword search, ranked by BM25."""

    kind: Literal["fts"] = Field(description="Keyword search, ranked by BM25.")
    columns: ColumnNames = Field(description="The text columns to search in.", examples=[["title", "body"]])
    analyzer: Analyzer = Field("simple", description="How text becomes words: a language, or `simple`.")


class BloomIndex(_Index):
    """Selective equality on columns with many different values."""

    kind: Literal["bloom"] = Field(description="Selective equality on columns with many different values.")
    on: ColumnNames = Field(description="The column or columns.", examples=["author_id"])


IndexSpec = Annotated[PkIndex | VectorIndex | FtsIndex | BloomIndex, Field(discriminator="kind")]


class ColumnSpec(Strict):
    """What is known about one column."""

    description: str = Field("", description="What the column means, for people and agents.")
    redact: bool = Field(
        default=False, description="Keep the column's content out of the store. Such a column has no index."
    )
    renamed_from: ColumnName | None = Field(
        None,
        description="What the column was called before: rows that are stored already get the new name too.",
        examples=["mail"],
    )


class TableSpec(Strict):
    """One table of a pipeline. `"issues"` alone is the same as `{ name = "issues" }`."""

    name: SourceTable = Field(
        description="The table's name at the source, or in the store.", examples=["issues"]
    )
    as_: StoreTable | None = Field(
        None, alias="as", description="The table's name in the store, instead of the derived one."
    )
    primary_key: ColumnNames | None = Field(
        None, description="Columns that name a row. Default: what the source says.", examples=[["id"]]
    )
    incremental: ColumnName | None = Field(
        None,
        description="The cursor column of this table, instead of the pipeline's.",
        examples=["updated_at"],
    )
    lag: LagValue | None = Field(
        None,
        description="How far behind its cursor each run begins again, for rows that arrive late: a length of "
        "time for a cursor of dates or times, a whole number for a cursor of ids.",
    )
    deletes: Deletes = Field(
        "ignore",
        description="`missing` compares keys: a row that the source no longer has is deleted here too. "
        "Deletes that the source tells of are always followed.",
    )
    on_bad_row: OnBadRow = Field(
        "fail",
        description="A row that does not fit the columns stops the chunk (`fail`), or goes to the quarantine "
        "table with the reason (`quarantine`).",
    )
    contract: Contract = Field(
        "evolve",
        description="What new columns and wider types of the source do: the table follows (`evolve`), or the "
        "run stops (`freeze`); with `discard` new columns are left out, and wider types stop the run.",
    )
    expect: tuple[ExpectationSpec, ...] = Field(
        (),
        description="What is expected of every row.",
        examples=[[{"column": "email", "not_null": True}]],
    )
    compaction: CompactionSpec = Field(
        CompactionSpec(), description="When runs are folded into a snapshot, and how it is laid out."
    )
    indexes: tuple[IndexSpec, ...] = Field(
        (),
        description="Indexes that are built beside each snapshot.",
        examples=[[{"kind": "fts", "columns": ["title", "body"]}]],
    )
    columns: dict[ColumnName, ColumnSpec] = Field({}, description="What is known about the columns, by name.")
    agent_description: str = Field(
        "", description="How to use this table, in words for agents: filters, indexes, partitions."
    )

    @model_validator(mode="after")
    def _has_sound_indexes(self) -> Self:
        redacted = {name for name, column in self.columns.items() if column.redact}
        found: list[Found] = []
        seen: set[str] = set()
        for number, index in enumerate(self.indexes):
            found += [
                Found(
                    Code.REDACTED_INDEX,
                    f"an index over `{column}` would keep the content that `redact = true` keeps out",
                    f"take `{column}` out of the index, or take `redact` away",
                    ("indexes", number),
                )
                for column in columns_of(index)
                if column in redacted
            ]
            name = index_id(index)
            if name.casefold() in seen:
                found.append(
                    Found(
                        Code.DUPLICATE,
                        f"two indexes of table `{self.name}` have the id `{name}`",
                        "give one of them another `id`",
                        ("indexes", number),
                    )
                )
            seen.add(name.casefold())
        if found:
            refuse(*found)
        return self

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        found = [*troubles_among(self.expect), *self._expectations_of_redacted(), *self._broken_renames()]
        if found:
            refuse(*found)
        return self

    def _expectations_of_redacted(self) -> Iterator[Found]:
        for number, expectation in enumerate(self.expect):
            column = self.columns.get(expectation.column or "")
            if column is not None and column.redact:
                yield Found(
                    Code.CONFLICT,
                    f"`redact = true` keeps `{expectation.column}` out of the store, where rows are checked",
                    "take the expectation out, or take `redact` away",
                    ("expect", number, "column"),
                )

    def _broken_renames(self) -> Iterator[Found]:
        former: dict[str, str] = {}
        for name, column in self.columns.items():
            old = column.renamed_from
            if old is None:
                continue
            path = ("columns", name, "renamed_from")
            if old in self.columns:
                message = f"`{old}` is a column of this table, and the former name of `{name}`"
                yield Found(Code.CONFLICT, message, f"take one of the two `{old}` out", path)
            elif old in former:
                message = f"`{old}` is the former name of both `{former[old]}` and `{name}`"
                yield Found(Code.CONFLICT, message, "keep one of them", path)
            former[old] = name
        yield from (
            Found(
                Code.CONFLICT,
                f"`{old}` is now called `{former[old]}`",
                f"write `{former[old]}` instead",
                path,
            )
            for old, path in self._columns_in_use()
            if old in former and old not in self.columns
        )

    def _columns_in_use(self) -> Iterator[tuple[str, KeyPath]]:
        """Every column that the table is run by, with the key that names it."""
        yield from ((column, ("primary_key",)) for column in self.primary_key or ())
        if self.incremental is not None:
            yield self.incremental, ("incremental",)
        for number, expectation in enumerate(self.expect):
            if expectation.column is not None:
                yield expectation.column, ("expect", number, "column")


def _named(name: str) -> TableSpec:
    return TableSpec(name=name)


TableEntry = Annotated[TableSpec, OrShort(_named, SourceTable)]


def columns_of(index: PkIndex | VectorIndex | FtsIndex | BloomIndex) -> tuple[str, ...]:
    """The columns whose content the index holds."""
    match index:
        case VectorIndex():
            return (index.column,)
        case FtsIndex():
            return index.columns
        case _:
            return index.on


def index_id(index: PkIndex | VectorIndex | FtsIndex | BloomIndex) -> str:
    """The name of the index's folder: the declared one, else kind, columns and model, safe as a file name."""
    if index.id is not None:
        return index.id
    kind = "vec" if isinstance(index, VectorIndex) else index.kind
    model = (index.model,) if isinstance(index, VectorIndex) else ()
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join((kind, *columns_of(index), *model)))
