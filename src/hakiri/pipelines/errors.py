"""What can be wrong with a pipeline as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError, Place


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
