"""What can go wrong with a question to the store."""

from __future__ import annotations

from hakiri.core.errors import ExitCode
from hakiri.store.errors import StoreError


class SqlRefused(StoreError):
    """A statement that DuckDB does not take. The message is its own, with the place marked."""

    code = "store.sql_refused"
    exit_code = ExitCode.USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)


class UnknownTable(StoreError):
    """A statement that names a table which the store does not have."""

    code = "store.unknown_table"
    exit_code = ExitCode.USAGE

    def __init__(self, message: str, table: str, *, meant: str | None, is_empty: bool) -> None:
        self.table, self.meant = table, meant
        if is_empty:
            hint = "the store has no tables yet; `hakiri apply` pulls what there is"
        else:
            hint = f"did you mean `{meant}`?" if meant else "`FROM hakiri.tables` lists the tables there are"
        super().__init__(message, hint=hint)


class StoreIsReadOnly(StoreError):
    """A statement that would change the store, which only pipelines do."""

    code = "store.read_only"
    exit_code = ExitCode.USAGE

    def __init__(self, message: str) -> None:
        super().__init__(
            message,
            hint="use `CREATE TEMP TABLE`, `TEMP VIEW` or `TEMP MACRO`, or `COPY … TO` a file elsewhere",
        )


class WritesIntoStore(StoreError):
    """A statement that would write a file into the folder of the store."""

    code = "store.writes_into_store"
    exit_code = ExitCode.USAGE

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"`{path}` lies in the store, where only pipelines write", hint="write to a file elsewhere"
        )


class NotAQuery(StoreError):
    """A statement whose result cannot be written to a file."""

    code = "store.not_a_query"
    exit_code = ExitCode.USAGE

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"the result of `{kind}` cannot be written to a Parquet file",
            hint="give a `SELECT`, or leave `--parquet` out",
        )


class NotAFile(StoreError):
    """A place for an answer that is a pipe, a device or a folder, and would be one no more."""

    code = "store.not_a_file"
    exit_code = ExitCode.USAGE

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"`{path}` is no regular file, so no Parquet file can take its place",
            hint="give another path, or use `--csv`, which writes to stdout",
        )


class DamagedFile(StoreError):
    """A file of the store that is gone, or not what was written."""

    code = "store.damaged_file"

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"`{path}` of the store cannot be read: {why}",
            hint="`hakiri context check` says what else is damaged, and what can be mended",
        )


class QueryFailed(StoreError):
    """A statement that is right, and did not come to its end."""

    code = "store.query_failed"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
