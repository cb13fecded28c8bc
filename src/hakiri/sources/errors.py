"""What can go wrong with a source: in its declaration, and while it is read."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.core.errors import ExitCode, HakiriError, Place
from hakiri.sources.rejects import reject_reason


class UnknownConnector(HakiriError):
    code = "sources.unknown_connector"
    exit_code = ExitCode.USAGE

    def __init__(
        self, connector: str, known: Sequence[str], place: Place, *, meant: str | None = None
    ) -> None:
        self.connector = connector
        super().__init__(
            f"there is no connector `{connector}`",
            places=[place],
            hint=f"did you mean `{meant}`?" if meant else f"use one of: {', '.join(known)}",
        )


class BrokenConnector(HakiriError):
    """A connector of the project or of a package that cannot be loaded."""

    code = "sources.broken_connector"
    exit_code = ExitCode.USAGE

    def __init__(self, connector: str, problem: str, place: Place) -> None:
        self.connector = connector
        super().__init__(
            f"connector `{connector}` cannot be loaded: {problem}",
            places=[place],
            hint="mend it; `hakiri source new` shows how a connector looks",
        )


class BadSourceConfig(HakiriError):
    code = "sources.bad_config"
    exit_code = ExitCode.USAGE

    def __init__(self, connector: str, problem: str, place: Place, *, hint: str) -> None:
        self.connector = connector
        super().__init__(
            f"the config of connector `{connector}` is wrong: {problem}", places=[place], hint=hint
        )


class ConnectorFailed(HakiriError):
    """A connector of the project or of a package has raised what no connector should."""

    code = "sources.connector_failed"

    def __init__(self, connector: str, problem: str, place: Place, *, is_own_line: bool) -> None:
        self.connector = connector
        super().__init__(
            f"connector `{connector}` failed: {problem}",
            places=[place],
            hint="mend that line, or raise an error of `hakiri.sources.errors` there; "
            "--verbose shows the whole traceback"
            if is_own_line
            else "mend the connector; the rest of what it raised holds a secret, and is not shown",
        )


class ReadFailed(HakiriError):
    """A source did not give what was asked of it. Raise one of the kinds below."""

    code = "sources.read_failed"

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem, hint=hint)


class TransientFailure(ReadFailed):
    """It may work the next time: a time-out, a lost connection, a 500."""

    code = "sources.transient"
    retryable = True


class PermanentFailure(ReadFailed):
    """It will not work the next time either: a table that is not there, a request that makes no sense."""

    code = "sources.permanent"


class NoFiles(PermanentFailure):
    code = "sources.no_files"

    def __init__(self, pattern: str, *places: Place) -> None:
        self.pattern = pattern
        super().__init__(
            f"no file matches `{pattern}`",
            hint="check `path` in the source's config; it starts at the project's folder",
        )
        self.places = places


class UnreadableFile(PermanentFailure):
    """A file is there, and what is in it cannot be read as what the source says it is."""

    code = "sources.unreadable_file"

    def __init__(self, file: str, problem: str, *places: Place) -> None:
        self.file = file
        super().__init__(
            f"`{file}` cannot be read: {problem}",
            hint="mend or remove the file; --verbose shows Spark's whole message",
        )
        self.places = places


class AuthExpired(ReadFailed):
    """The source does not accept the credentials, or does not any more."""

    code = "sources.auth_expired"


class RateLimited(ReadFailed):
    """The source asks to be left alone for a while."""

    code = "sources.rate_limited"
    retryable = True

    def __init__(self, problem: str, *, seconds: float, hint: str = "") -> None:
        self.seconds = seconds
        super().__init__(problem, hint=hint)


class SchemaIncompatible(ReadFailed):
    """What the source gives cannot be brought into the form that is expected of it."""

    code = "sources.schema_incompatible"


class BadRecord(SchemaIncompatible):
    """A row that does not fit the columns of its table, in a read that sets none aside.

    `source` is the file or the table that has it; see `Reject` for the rest.
    """

    code = "sources.bad_record"

    def __init__(
        self,
        source: str,
        problem: str,
        *places: Place,
        column: str | None = None,
        value: str | None = None,
        remedy: str = "mend the row",
    ) -> None:
        self.source, self.problem, self.column, self.value, self.remedy = (
            source,
            problem,
            column,
            value,
            remedy,
        )
        super().__init__(
            f"a row of `{source}` does not fit: {reject_reason(problem, column, value)}",
            hint=f'{remedy}, or set `on_bad_row = "quarantine"` for the table',
        )
        self.places = places

    def without_value(self) -> BadRecord:
        """The same, for a column of which nothing may be shown."""
        return BadRecord(self.source, self.problem, *self.places, column=self.column, remedy=self.remedy)
