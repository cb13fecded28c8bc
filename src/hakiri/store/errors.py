"""What can go wrong in the store."""

from __future__ import annotations

from hakiri.core.errors import ExitCode, HakiriError


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

    def __init__(self, table: str, why: str) -> None:
        self.table, self.why = table, why
        super().__init__(
            f"the view of table `{table}` cannot be made: {why}",
            hint="put the file back; without a key its chunk can be read again: `hakiri backfill rewind`",
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
