"""What can be wrong with the way a table is cut into chunks."""

from __future__ import annotations

from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.grammar.text import shortened


class BadPiece(HakiriError):
    """A chunk's predicate in the catalog says nothing that is known here."""

    code = "chunks.bad_piece"

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(
            f"the predicate `{shortened(text)}` of a chunk cannot be read: {why}",
            hint="use the version of hakiri that planned the chunk, or a later one",
        )


class UnsafeParallelism(HakiriError):
    """More chunks at once than the source can stand."""

    code = "chunks.unsafe_parallelism"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, parallelism: int) -> None:
        self.table, self.parallelism = table, parallelism
        super().__init__(
            f"table `{table}` is read in the order of the source, one chunk after the other, "
            f"and `backfill.parallelism` is {parallelism}",
            hint="take `parallelism` out, or set it to 1; a column that grows, named with `incremental`, "
            "lets several be read at once where the source can measure it",
        )


class LagMisfit(HakiriError):
    """A `lag` that cannot be taken from values of the cursor column."""

    code = "chunks.lag_misfit"
    exit_code = ExitCode.USAGE

    def __init__(self, lag: str, values: str) -> None:
        self.lag, self.values = lag, values
        super().__init__(
            f"a `lag` of `{lag}` cannot be taken from {values}",
            hint='write a length of time like `"2h"` for dates and times, or a number like `1000` for ids',
        )


class NoProgress(HakiriError):
    """A read that came to its limit and told no new place from which to go on."""

    code = "chunks.no_progress"

    def __init__(self, rows: int) -> None:
        self.rows = rows
        super().__init__(
            f"the source gave {rows} rows, and no cursor from which the rest can be read",
            hint="report this to the author of the connector",
        )


class CannotRewind(HakiriError):
    """A range of values was asked for, and the chunks were not cut by values."""

    code = "chunks.cannot_rewind"
    exit_code = ExitCode.REFUSED

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            f"table `{table}` is read in the order of the source's own tokens, "
            "which do not tell where a range begins",
            hint="read it anew from the start: `hakiri cursor reset`",
        )


class RangeMisfit(HakiriError):
    """The end of a range that cannot be compared with the values of the cursor column."""

    code = "chunks.range_misfit"
    exit_code = ExitCode.USAGE

    def __init__(self, end: str, values: str) -> None:
        self.end, self.values = end, values
        super().__init__(
            f"`{end}` cannot be compared with {values}",
            hint="give both ends in the form of the column's values",
        )


class EmptyRange(HakiriError):
    """A range that ends before it begins."""

    code = "chunks.empty_range"
    exit_code = ExitCode.USAGE

    def __init__(self, since: str, until: str) -> None:
        self.since, self.until = since, until
        super().__init__(
            f"there is nothing from `{since}` to `{until}`", hint="give the earlier one as `--from`"
        )


class IllegalPhase(HakiriError):
    """A pipeline cannot get from its phase to another by what happened."""

    code = "chunks.illegal_phase"

    def __init__(self, phase: str, event: str) -> None:
        self.phase, self.event = phase, event
        super().__init__(
            f"a pipeline that is {phase} cannot meet `{event}`", hint="report this as a bug of hakiri"
        )


class IllegalTransition(HakiriError):
    """A run cannot get from its state to another by what happened."""

    code = "chunks.illegal_transition"

    def __init__(self, state: str, event: str) -> None:
        self.state, self.event = state, event
        super().__init__(
            f"a run in the state `{state}` cannot meet `{event}`", hint="report this as a bug of hakiri"
        )
