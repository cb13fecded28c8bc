"""What can go wrong when runs are folded into a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.ids import ChunkId, PipelineId, SnapshotId

_SHOWN = 10


class CompactionError(HakiriError):
    """Base class. The table is as it was: nothing of a failed compaction is ever seen."""

    code = "compaction"

    exit_code = ExitCode.FAILED


class ValuesWouldBeLost(CompactionError):
    """A value of an older file does not fit into the type that its column has now."""

    code = "compaction.values_would_be_lost"

    def __init__(self, table: str, column: str, old: str, new: str) -> None:
        self.table, self.column, self.old, self.new = table, column, old, new
        super().__init__(
            f"table `{table}` holds values of type {old} in column `{column}` that {new} cannot hold",
            hint=f"give the column a wider type: `hakiri schema reconcile {table}` shows how",
        )


class RowsDisagree(CompactionError):
    """More or fewer rows came out of a step than went into it."""

    code = "compaction.rows_disagree"

    def __init__(self, table: str, step: str, expected: int, found: int) -> None:
        self.table, self.step, self.expected, self.found = table, step, expected, found
        super().__init__(
            f"table `{table}` was not compacted: {step} gave {found:,} rows, and {expected:,} are known",
            hint="a file of the store was changed or is damaged: `hakiri context check` tells which",
        )


class ColumnsDisagree(CompactionError):
    """A file that was written for a snapshot lacks a column of the table, or has another one."""

    code = "compaction.columns_disagree"

    def __init__(self, table: str, missing: Sequence[str], unknown: Sequence[str]) -> None:
        self.table, self.missing, self.unknown = table, tuple(missing), tuple(unknown)
        found = [
            f"{words} {_some(f'`{name}`' for name in names)}"
            for words, names in (("without", missing), ("with", unknown))
            if names
        ]
        what = " and ".join(found) or "with its columns in another order"
        super().__init__(
            f"table `{table}` was not compacted: a file was written {what}",
            hint="nothing is lost; report it, and leave the table as it is",
        )


class FilesDamaged(CompactionError):
    """Files are not what was written, or gone, and nothing else has all of their rows.

    `lost` are the chunks by pipeline whose rows are nowhere else. At the commit of the snapshot `restorable`
    the table can still be seen.
    """

    code = "compaction.files_damaged"

    def __init__(
        self,
        table: str,
        damaged: Sequence[str],
        lost: Mapping[PipelineId, Sequence[ChunkId]],
        *,
        restorable: SnapshotId | None,
        has_key: bool,
    ) -> None:
        self.table, self.damaged, self.lost, self.restorable = table, tuple(damaged), dict(lost), restorable
        chunks = ", and of ".join(
            f"chunk{'' if len(some) == 1 else 's'} {_some(map(str, some))} of pipeline `{pipeline}`"
            for pipeline, some in lost.items()
        )
        of_chunks = f"of {chunks}" if chunks else "that they have under the primary key of today"
        options = ["put back from a copy of the store what is damaged"]
        if restorable is not None:
            options.append(
                f"run `hakiri context restore {table} --at {restorable}`, which makes the table what it was "
                "then; with `--reread` what came since is planned to be pulled again"
            )
        if not has_key:
            # With a key, chunks that were read again still count.
            options += [
                f"run `hakiri backfill rewind {pipeline} --table {table} --from … --to … --reason damaged` "
                f"for the ranges of these chunks, which `hakiri backfill chunks {pipeline}` shows, and "
                f"`hakiri apply {pipeline}`; then this once more"
                for pipeline in lost
            ]
        super().__init__(
            f"table `{table}` cannot be written anew without {_some(f'`{path}`' for path in damaged)}, which "
            f"{'is' if len(damaged) == 1 else 'are'} damaged or gone: nothing else has the rows {of_chunks}",
            hint="; or ".join(options),
        )


class FileDamaged(CompactionError):
    """A file that is to be folded is not what was written, or gone.

    Whoever folds it looks for its rows elsewhere, and then says what is lost, if anything is.
    """

    code = "compaction.file_damaged"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"`{path}` is not what was written, or gone",
            hint="`hakiri context check` tells what is damaged",
        )


class CopyDiffers(CompactionError):
    """A file that was copied to its place is not what was written."""

    code = "compaction.copy_differs"
    retryable = True

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"`{path}` is not what was written before it was copied there",
            hint="nothing is lost; look after the disk that the store is on, and compact again",
        )


class TableMoved(CompactionError):
    """The table changed again and again while it was folded."""

    code = "compaction.table_moved"
    retryable = True

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            f"table `{table}` was compacted or restored by somebody else meanwhile",
            hint="nothing is lost; compact it again if it still needs it",
        )


class ColumnNotIndexable(CompactionError):
    """A column of an index that the table does not have, or that such an index cannot be over."""

    code = "compaction.column_not_indexable"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, index: str, column: str, why: str) -> None:
        self.table, self.index, self.column, self.why = table, index, column, why
        super().__init__(
            f"index `{index}` of table `{table}` cannot be over column `{column}`: {why}",
            hint="change the index of the table in the manifest",
        )


class CompactionUnderWay(CompactionError):
    """Somebody else compacts the table at this moment."""

    code = "compaction.under_way"
    retryable = True

    def __init__(self, table: str, holder: str, since: datetime) -> None:
        self.table, self.holder, self.since = table, holder, since
        super().__init__(
            f"table `{table}` is being compacted by `{holder}` since {since:%Y-%m-%d %H:%M:%S}Z",
            hint="wait until it is done; `hakiri runs` shows it",
        )


class CompactionStopped(CompactionError):
    """Somebody asked to stop before the work was done."""

    code = "compaction.stopped"
    retryable = True

    def __init__(self) -> None:
        super().__init__(
            "the compaction was stopped before it was done", hint="nothing is lost; compact the table again"
        )


class ColumnsNotSortable(CompactionError):
    """A column of `cluster_by`, `partition_by` or `access_pattern` that is not there, or of another type."""

    code = "compaction.columns_not_sortable"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, column: str, why: str) -> None:
        self.table, self.column, self.why = table, column, why
        super().__init__(
            f"table `{table}` cannot be laid out by column `{column}`: {why}",
            hint="change `cluster_by`, `partition_by` or `access_pattern` of the table in the manifest",
        )


class TableBusy(CompactionError):
    """A table that is to be restored while somebody still brings rows of before."""

    code = "compaction.table_busy"
    retryable = True

    def __init__(self, table: str, pipeline: str, holder: str) -> None:
        self.table, self.pipeline, self.holder = table, pipeline, holder
        super().__init__(
            f"table `{table}` cannot be restored while `{holder}` reads a chunk of it for pipeline "
            f"`{pipeline}`",
            hint=f"wait for it, or stop it; what a dead worker left is taken up by `hakiri apply {pipeline}`",
        )


class KeyChanged(CompactionError):
    """A table that had another primary key at the moment that it is to be restored to."""

    code = "compaction.key_changed"

    def __init__(self, table: str, then: tuple[str, ...], now: tuple[str, ...]) -> None:
        self.table, self.then, self.now = table, then, now
        super().__init__(
            f"table `{table}` had the primary key {_key(then)} then, and has {_key(now)} now",
            hint=f"read it as it was with `hakiri query --at`, or change the key back first: "
            f"`hakiri schema migrate --table {table}`",
        )


def _some(words: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    every = [*words]
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def _key(columns: tuple[str, ...]) -> str:
    return f"`{', '.join(columns)}`" if columns else "none"
