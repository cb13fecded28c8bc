"""What can be wrong with a pipeline as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError, Place
from hakiri.pipelines.evolution.errors import SchemaIncompatible


class NoSuchStoreTable(HakiriError):
    """A reference table that nothing has written yet."""

    code = "pipelines.no_store_table"
    exit_code = ExitCode.USAGE

    def __init__(self, reference: str, table: str, place: Place) -> None:
        self.reference, self.table = reference, table
        super().__init__(
            f"reference `{reference}` is table `{table}`, which the store does not have",
            places=[place],
            hint="run the pipeline that fills it first, or give the reference a `path`",
        )


class NoSuchTable(HakiriError):
    """A table that the pipeline does not pull."""

    code = "pipelines.no_such_table"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, table: str, known: Sequence[str], meant: str | None) -> None:
        self.pipeline, self.table = pipeline, table
        super().__init__(
            f"pipeline `{pipeline}` does not pull a table `{table}`",
            hint=f"did you mean `{meant}`?" if meant else f"it pulls {', '.join(known)}",
        )


class StoreNotWritten(HakiriError):
    """The disk did not take what was to be written. Nothing of it is visible, and nothing is lost."""

    code = "pipelines.store_not_written"

    def __init__(self, folder: str, why: str, *, is_full: bool) -> None:
        self.folder, self.is_full = folder, is_full
        super().__init__(
            f"the store could not be written: {why}, in `{folder}`",
            hint=f"{'make room' if is_full else 'look at the disk and its permissions'}, "
            "then run `hakiri retry` and `hakiri apply`: what was committed is not pulled again",
        )


class ViewsBehind(HakiriError):
    """What was committed is safe, and readers do not see it: a view could not be written."""

    code = "pipelines.views_behind"

    def __init__(self, pipeline: str, table: str, why: str, what_helps: str) -> None:
        self.pipeline, self.table = pipeline, table
        super().__init__(
            f"readers do not see what pipeline `{pipeline}` has committed to table `{table}`: {why}",
            hint=f"{what_helps}; then run `hakiri apply {pipeline}`, which writes the view and pulls nothing "
            "again",
        )

    @classmethod
    def of(cls, pipeline: str, table: str, error: HakiriError | OSError) -> ViewsBehind:
        """The error for what publishing the table has raised."""
        if isinstance(error, HakiriError):
            return cls(pipeline, table, str(error), error.hint or "mend that")
        where = f": `{error.filename}`" if error.filename else ""
        return cls(
            pipeline,
            table,
            f"{(error.strerror or str(error)).lower()}{where}",
            "look at the disk, whether it has room, and at its permissions",
        )


class CountsDisagree(HakiriError):
    """Rows went astray between the source and the store, so nothing was committed."""

    code = "pipelines.counts_disagree"

    def __init__(self, table: str, *, read: int, accounted: int) -> None:
        self.table, self.read, self.accounted = table, read, accounted
        super().__init__(
            f"{read:,} rows of table `{table}` were read, and {accounted:,} can be accounted for",
            hint="nothing of them was committed; run it again, and report it if it happens twice",
        )


class OpColumnDropped(HakiriError):
    """A transform drops the column that tells deletes from other rows."""

    code = "pipelines.op_dropped"

    def __init__(self, pipeline: str, table: str) -> None:
        self.pipeline, self.table = pipeline, table
        super().__init__(
            f"the transform of pipeline `{pipeline}` drops `_op`, which marks the deletes of table `{table}`",
            hint="have the transform pass `_op` on",
        )


class HiddenColumn(HakiriError):
    """A column has a name that the store needs for itself."""

    code = "pipelines.hidden_column"

    def __init__(self, pipeline: str, table: str, column: str) -> None:
        self.pipeline, self.table, self.column = pipeline, table, column
        super().__init__(
            f"table `{table}` of pipeline `{pipeline}` has a column `{column}`, a name that the store uses",
            hint="rename it in a transform",
        )


class OtherCursor(HakiriError):
    """A table without a key is to be read in another way than before, so that what is stored came twice."""

    code = "pipelines.other_cursor"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, before: str | None, now: str | None) -> None:
        self.table, self.before, self.now = table, before, now
        old, new = (f"by `{column}`" if column else "as a whole" for column in (before, now))
        super().__init__(
            f"table `{table}` was read {old}; read {new}, its rows would be there twice, as it has no key",
            hint="undo the change of `incremental`, or pull it into another table with `as`",
        )


class WaitsForDecision(HakiriError):
    """A pipeline that failed does nothing until somebody decides."""

    code = "pipelines.waits_for_decision"

    def __init__(self, pipeline: str, kind: str, message: str) -> None:
        self.pipeline, self.kind = pipeline, kind
        ways_on = f"`hakiri retry {pipeline}` to try again, `hakiri skip {pipeline}` to leave out what failed"
        if kind == SchemaIncompatible.code:
            ways_on = (
                f"`hakiri schema accept --pipeline {pipeline}` lets it through, `hakiri schema migrate` is "
                f"for another key; or mend it, and `hakiri retry {pipeline}`"
            )
        super().__init__(f"pipeline `{pipeline}` failed and waits for a decision: {message}", hint=ways_on)


class LeaseHeldElsewhere(HakiriError):
    """Another worker has the pipeline, and its kind of cursor allows only one."""

    code = "pipelines.held_elsewhere"
    exit_code = ExitCode.REFUSED

    def __init__(self, pipeline: str, holder: str) -> None:
        self.pipeline, self.holder = pipeline, holder
        super().__init__(
            f"pipeline `{pipeline}` is being run by `{holder}`, and only one may run it",
            hint="wait until it is done; `hakiri status` shows how far it is",
        )
