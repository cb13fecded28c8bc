"""What can go wrong in the store."""

from __future__ import annotations

from datetime import UTC, datetime

from hakiri.core.errors import ExitCode, HakiriError

_PUT_BACK = "put the file back; without a key its chunk can be read again: `hakiri backfill rewind`"


class StoreError(HakiriError):
    """Base of all that the store raises."""

    code = "store"


class UnsafeName(StoreError):
    """A name that cannot be a folder or a file of the store."""

    code = "store.unsafe_name"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"`{name}` cannot be the name of a folder in the store",
            hint="use letters, digits, `_`, `-` and `.`, beginning with a letter, a digit or `_`",
        )


class BadRow(StoreError):
    """A row that the table cannot hold. `row` counts from 1 within the part."""

    code = "store.bad_row"

    def __init__(self, column: str, row: int, why: str) -> None:
        self.column, self.row, self.why = column, row, why
        super().__init__(
            f"column `{column}` of row {row} {why}",
            hint='mend it at the source or in a transform, or set `on_bad_row = "quarantine"` for the table',
        )


class UnfitColumns(StoreError):
    """Columns that the store cannot keep under these names or in these types."""

    code = "store.unfit_columns"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why, hint="rename or cast the column in a transform")


class UnreadableManifest(StoreError):
    """A manifest that is not one, or of a form that this version does not know."""

    code = "store.unreadable_manifest"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"a manifest of the store cannot be read: {why}",
            hint="it was damaged, or written by a newer Hakiri: install the newest version",
        )


class UnreadableSchema(StoreError):
    """A schema text that is not in Arrow's JSON form, or has a type the store does not know."""

    code = "store.unreadable_schema"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"a schema of the store cannot be read: {why}",
            hint="it was damaged, or written by a newer Hakiri: install the newest version",
        )


class UnknownSchemaVersion(StoreError):
    """A committed chunk names a schema version that the catalog does not have."""

    code = "store.unknown_schema_version"

    def __init__(self, table: str, version: int) -> None:
        self.table, self.version = table, version
        super().__init__(
            f"table `{table}` has files of schema version {version}, which its history does not have",
            hint="run `hakiri catalog check`",
        )


class ViewNotMade(StoreError):
    """DuckDB does not take a table's view, because a file that it reads is not there or not whole."""

    code = "store.view_not_made"

    def __init__(self, table: str, why: str, *, hint: str = _PUT_BACK) -> None:
        self.table, self.why = table, why
        super().__init__(f"the view of table `{table}` cannot be made: {why}", hint=hint)


class ViewTaken(ViewNotMade):
    """A table would have the view of another one, which the store knew before."""

    code = "store.view_taken"

    def __init__(self, table: str, owner: str) -> None:
        self.owner = owner
        super().__init__(
            table,
            f"it would take the place of that of `{owner}`, as views know no case",
            hint=f'give `{table}` a name of its own with `as = "…"` in the manifest',
        )


class StoreNotWritable(StoreError):
    """The store may be read but not written."""

    code = "store.not_writable"

    def __init__(self, root: str, why: str) -> None:
        self.root, self.why = root, why
        super().__init__(
            f"the store in `{root}` cannot be written: {why}",
            hint="run it where the store may be written, by a user who may; to ask it, reading is enough",
        )


class UnreadableConfig(StoreError):
    """A `config.toml` of a store that is not one."""

    code = "store.unreadable_config"

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"`{path}` of the store cannot be read: {why}",
            hint="it was damaged or edited; `hakiri context check --repair` writes it anew",
        )


class StoreTooNew(StoreError):
    """A store that a newer Hakiri made, in a form that this one does not know."""

    code = "store.too_new"
    exit_code = ExitCode.USAGE

    def __init__(self, path: str, version: int, known: int) -> None:
        self.path, self.version, self.known = path, version, known
        super().__init__(
            f"the store has version {version}, says `{path}`, and this Hakiri knows versions up to {known}",
            hint="upgrade with `pip install --upgrade hakiri`",
        )


class BadMoment(StoreError):
    """A text that does not say at which moment the store is meant."""

    code = "store.bad_moment"
    exit_code = ExitCode.USAGE

    def __init__(self, text: str, why: str) -> None:
        self.text, self.why = text, why
        super().__init__(
            f"`{text}` {why}",
            hint="write a time like `2026-05-11T08:00:00Z`, how long ago like `2h`, or the id of a snapshot",
        )


class NotThere(StoreError):
    """A table that was not there yet at the moment that is asked for."""

    code = "store.not_there"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, at: datetime) -> None:
        self.table, self.at = table, at
        super().__init__(
            f"there was no table `{table}` at {moment_text(at)}",
            hint="choose a later moment, or another table",
        )


class PastGone(StoreError):
    """A table at a moment of which files were deleted, because they had been kept long enough."""

    code = "store.past_gone"

    def __init__(self, table: str, at: datetime, since: datetime | None) -> None:
        self.table, self.at, self.since = table, at, since
        super().__init__(
            f"table `{table}` cannot be seen as of {moment_text(at)}: its files of then were deleted",
            hint="only what it is now can be seen; a longer `retain_runs` keeps more from now on"
            if since is None
            else f"choose a moment since {moment_text(since)}; a longer `retain_runs` keeps more from now on",
        )


def moment_text(moment: datetime) -> str:
    """A moment as a person may write it too, to the microsecond: `2026-05-11T08:00:00.123456Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
