"""What can be wrong with what an operator asks for."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError


class NothingWaits(HakiriError):
    """A decision about a pipeline that did not fail."""

    code = "pipelines.nothing_waits"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"pipeline `{pipeline}` did not fail, so there is nothing to decide",
            hint=f"see `hakiri status {pipeline}` for how it stands",
        )


class NothingRead(HakiriError):
    """A range of which nothing was read yet."""

    code = "pipelines.nothing_read"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"nothing of that range was pulled by pipeline `{pipeline}` yet",
            hint=f"see `hakiri backfill chunks {pipeline}`; what is pending is pulled anyway",
        )


class NoSuchStream(HakiriError):
    """A cursor that there is none of."""

    code = "pipelines.no_such_stream"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, name: str, known: Sequence[str]) -> None:
        self.pipeline, self.name = pipeline, name
        super().__init__(
            f"pipeline `{pipeline}` has no table or stream `{name}`", hint=f"it has {', '.join(known)}"
        )


class NeverRead(HakiriError):
    """A cursor of a table that nothing was read of."""

    code = "pipelines.never_read"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, table: str) -> None:
        self.pipeline, self.table = pipeline, table
        super().__init__(
            f"table `{table}` of pipeline `{pipeline}` was never read, so it has no cursor to move",
            hint="say in the manifest where its history begins: `start_from` of `backfill`",
        )


class SeveralStreams(HakiriError):
    """A table that is read in partitions, each with a cursor of its own."""

    code = "pipelines.several_streams"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, streams: Sequence[str]) -> None:
        self.table, self.streams = table, tuple(streams)
        super().__init__(
            f"table `{table}` has {len(streams)} streams, each with a cursor of its own",
            hint=f"name one: {', '.join(f'`{stream}`' for stream in self.streams[:5])}",
        )


class BadCursor(HakiriError):
    """A value that cannot be the cursor of the stream."""

    code = "pipelines.bad_cursor"
    exit_code = ExitCode.USAGE

    def __init__(self, stream: str, why: str, like: str | None) -> None:
        self.stream = stream
        super().__init__(
            f"this cannot be the cursor of `{stream}`: {why}",
            hint=f"write it like the present one: `{like}`" if like else "see `hakiri cursor get` for others",
        )


class WouldDouble(HakiriError):
    """A cursor set by hand where rows that are read twice stay twice."""

    code = "pipelines.would_double"
    exit_code = ExitCode.REFUSED

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            f"table `{table}` has no primary key, so rows that are read again would be there twice",
            hint="use `hakiri cursor reset`, which replaces them, or give the table a `primary_key`",
        )


class BeingRead(HakiriError):
    """A table without a primary key is to be read again while somebody reads it."""

    code = "pipelines.being_read"
    exit_code = ExitCode.REFUSED

    def __init__(self, table: str, holder: str) -> None:
        self.table, self.holder = table, holder
        super().__init__(
            f"table `{table}` is being read by `{holder}`, and without a primary key its rows would be there "
            "twice",
            hint="wait until that run is over; `hakiri status` shows how far it is",
        )


class NoSuchRun(HakiriError):
    """A run that the catalog does not know."""

    code = "pipelines.no_such_run"
    exit_code = ExitCode.USAGE

    def __init__(self, run: str, matching: Sequence[str]) -> None:
        self.run, self.matching = run, tuple(matching)
        if matching:
            problem = f"{len(matching)} runs have `{run}` in their ids"
            hint = f"give more of it: {', '.join(f'`{each}`' for each in self.matching[:5])}"
        else:
            problem, hint = f"there is no run `{run}`", "see `hakiri runs` for those there are"
        super().__init__(problem, hint=hint)
