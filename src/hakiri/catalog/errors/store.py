"""What can go wrong between the program and its catalog: the store itself."""

from __future__ import annotations

from hakiri.core.errors import ExitCode, HakiriError

_REACH_FILE = "check `catalog.url`, and that this user may read and write the file and its folder"
_REACH_SERVER = (
    "check host, database, user and password of `catalog.url` and that the server is up; nothing was lost"
)


class CatalogError(HakiriError):
    """Base of all that a catalog raises."""

    code = "catalog"


class CatalogBusy(CatalogError):
    """Others kept the catalog locked for longer than we wait."""

    code = "catalog.busy"
    retryable = True

    def __init__(self, location: str, process: int | None = None, *, is_stopped: bool = False) -> None:
        self.location, self.process, self.is_stopped = location, process, is_stopped
        holder = "another program" if process is None else f"process {process}"
        state = ", which is stopped" if is_stopped else ""
        way_on = (
            f"let it go on with `kill -CONT {process}`, or end it with `kill -KILL {process}`"
            if is_stopped
            else "end the program that holds a write transaction open"
        )
        super().__init__(
            f"the catalog `{location}` stays locked by {holder}{state}",
            hint=f"{way_on}, then run the command again",
        )


class CatalogUnreachable(CatalogError):
    """The catalog's server or file does not answer."""

    code = "catalog.unreachable"
    retryable = True

    def __init__(self, location: str, why: str) -> None:
        self.location, self.why = location, why
        super().__init__(
            f"the catalog `{location}` cannot be reached: {why}",
            hint=_REACH_FILE if location.startswith("sqlite:") else _REACH_SERVER,
        )


class CommitUnknown(CatalogError):
    """The answer to a commit was lost, and the catalog could not be asked again."""

    code = "catalog.commit_unknown"
    retryable = True

    def __init__(self, location: str, why: str) -> None:
        self.location, self.why = location, why
        super().__init__(
            f"whether the last write to the catalog `{location}` was kept is not known: {why}",
            hint="run the command again once the catalog answers; what was kept is not done twice",
        )


class CatalogFull(CatalogError):
    """There is no room to write."""

    code = "catalog.full"

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"there is no room left to write to the catalog `{location}`",
            hint="free some space on its disk and run the command again; what was committed is safe",
        )


class CatalogNotEmpty(CatalogError):
    """A catalog that is to be filled has been used already."""

    code = "catalog.not_empty"
    exit_code = ExitCode.USAGE

    def __init__(self, location: str, what: str) -> None:
        self.location, self.what = location, what
        super().__init__(
            f"the catalog `{location}` has {what} already",
            hint="rename its schema, or name an empty one with `?schema=` in `catalog.url`",
        )


class CatalogInUse(CatalogError):
    """A catalog that is to be replaced is being worked with."""

    code = "catalog.in_use"
    retryable = True

    def __init__(self, location: str, why: str) -> None:
        self.location, self.why = location, why
        super().__init__(
            f"the catalog `{location}` is in use: {why}",
            hint="stop `hakiri serve` and all runs of this project, then run the command again",
        )


class CatalogReadOnly(CatalogError):
    """The catalog may be read but not written."""

    code = "catalog.read_only"

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"the catalog `{location}` cannot be written to",
            hint="give this user the right to write it, or run as the user who owns it",
        )


class CatalogNotFolded(CatalogError):
    """A catalog has commits that nobody can read where nothing may be written."""

    code = "catalog.not_folded"

    def __init__(self, location: str, journal: str) -> None:
        self.location, self.journal = location, journal
        super().__init__(
            f"the catalog `{location}` cannot be read where nothing may be written: "
            f"`{journal}` has commits that are not in the file yet",
            hint="run `hakiri catalog check` once where the store may be written, or copy it to such a place",
        )


class CatalogChanged(CatalogError):
    """Somebody wrote the catalog while it was read where nobody can be kept from it."""

    code = "catalog.changed"
    retryable = True

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"the catalog `{location}` was written while it was read", hint="run the command again"
        )


class CatalogDamaged(CatalogError):
    """What is there is not a catalog, or not whole."""

    code = "catalog.damaged"

    def __init__(self, location: str, why: str) -> None:
        self.location, self.why = location, why
        super().__init__(
            f"the catalog `{location}` is damaged: {why}",
            hint="restore it from a backup, or run `hakiri context rebuild-catalog`",
        )


class CatalogForeign(CatalogError):
    """There is a database, and it belongs to another program."""

    code = "catalog.foreign"
    exit_code = ExitCode.USAGE

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"the database `{location}` belongs to another program",
            hint="give the catalog a file of its own in `catalog.url`",
        )


class CatalogRefused(CatalogError):
    """The store itself refused a write that would break a promise; nothing was written."""

    code = "catalog.refused"

    def __init__(self, location: str, why: str) -> None:
        self.location, self.why = location, why
        super().__init__(
            f"the catalog `{location}` refused a write: {why}",
            hint="run `hakiri catalog check`, and report this if it finds nothing",
        )


class CatalogDenied(CatalogError):
    """The server knows us, and does not let us in or at what is needed."""

    code = "catalog.denied"

    def __init__(self, location: str, why: str) -> None:
        self.location, self.why = location, why
        super().__init__(
            f"the catalog `{location}` denies access: {why}",
            hint="check the user and password of `catalog.url` and the rights of that user",
        )


class CatalogTooNew(CatalogError):
    """A newer program wrote this catalog."""

    code = "catalog.too_new"
    exit_code = ExitCode.USAGE

    def __init__(self, location: str, version: int, newest: int) -> None:
        self.location, self.version, self.newest = location, version, newest
        super().__init__(
            f"the catalog `{location}` has version {version}, and this program knows versions up to {newest}",
            hint="upgrade with `pip install --upgrade hakiri`",
        )


class CatalogTooOld(CatalogError):
    """The catalog was not migrated yet, and whoever opened it did not mean to."""

    code = "catalog.too_old"
    exit_code = ExitCode.USAGE

    def __init__(self, location: str, version: int, newest: int) -> None:
        self.location, self.version, self.newest = location, version, newest
        super().__init__(
            f"the catalog `{location}` has version {version}, and this program needs version {newest}"
            if version
            else f"there is no catalog at `{location}` yet",
            hint="run `hakiri catalog migrate`",
        )


class BackendTooOld(CatalogError):
    """The database behind the catalog lacks what the catalog needs."""

    code = "catalog.backend_too_old"
    exit_code = ExitCode.USAGE

    def __init__(self, backend: str, version: str, needed: str) -> None:
        self.backend, self.version, self.needed = backend, version, needed
        super().__init__(
            f"{backend} {version} is too old for a catalog",
            hint=f"use {backend} {needed} or newer",
        )


class BadCatalogUrl(CatalogError):
    """`catalog.url` means no catalog that there is."""

    code = "catalog.bad_url"
    exit_code = ExitCode.USAGE

    def __init__(self, problem: str) -> None:
        super().__init__(
            problem,
            hint="write `sqlite:///path/to/meta.sqlite` or `postgresql://user@host/database`",
        )


class CatalogClosed(CatalogError):
    """A catalog is used after it was closed."""

    code = "catalog.closed"

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"the catalog `{location}` was closed", hint="open it again, or close it when all work is done"
        )


class OpenedBeforeFork(CatalogError):
    """A process uses a catalog that its parent opened."""

    code = "catalog.opened_before_fork"

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"the catalog `{location}` was opened by the parent of this process",
            hint="open it again in the process that uses it",
        )


class UnstorableText(CatalogError):
    """A text that not every database can keep as it is."""

    code = "catalog.unstorable_text"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"the text for `{name}` holds a NUL or half a surrogate pair, which databases cannot keep",
            hint="escape it, as JSON does",
        )
