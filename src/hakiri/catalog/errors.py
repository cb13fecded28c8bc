"""What can go wrong between the program and its catalog."""

from __future__ import annotations

from collections.abc import Sequence

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

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"the catalog `{location}` stays locked by another program",
            hint="end the program that holds a write transaction open, then run the command again",
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


class CatalogReadOnly(CatalogError):
    """The catalog may be read but not written."""

    code = "catalog.read_only"

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(
            f"the catalog `{location}` cannot be written to",
            hint="give this user the right to write it, or run as the user who owns it",
        )


class CatalogDamaged(CatalogError):
    """What is there is not a catalog, or not whole."""

    code = "catalog.damaged"

    def __init__(self, location: str, why: str) -> None:
        self.location, self.why = location, why
        super().__init__(
            f"the catalog `{location}` is damaged: {why}",
            hint="restore it from a backup, or move it aside",
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


class LeaseLost(CatalogError):
    """Another holder has what this one worked on; its writes are refused."""

    code = "catalog.lease_lost"

    def __init__(self, what: str, fence: int, why: str) -> None:
        self.what, self.fence, self.why = what, fence, why
        super().__init__(
            f"the lease on {what} with fence {fence} is lost: {why}",
            hint="drop the work of this attempt; whoever holds the lease now does it again",
        )


class LeaseRequired(CatalogError):
    """A pipeline that only one writer may run was written to without its lease."""

    code = "catalog.lease_required"

    def __init__(self, pipeline: str, kind: str) -> None:
        self.pipeline, self.kind = pipeline, kind
        super().__init__(
            f"pipeline `{pipeline}` has cursors of kind `{kind}` and may only be written under its lease",
            hint="start a run of the pipeline, which takes the lease",
        )


class PhaseMoved(CatalogError):
    """A pipeline is not in the phase it was thought to be in."""

    code = "catalog.phase_moved"
    retryable = True

    def __init__(self, pipeline: str, expected: str, actual: str) -> None:
        self.pipeline, self.expected, self.actual = pipeline, expected, actual
        super().__init__(
            f"pipeline `{pipeline}` is in phase `{actual}`, not in `{expected}`",
            hint="look again and decide anew",
        )


class RunExists(CatalogError):
    """A run with that id was started before."""

    code = "catalog.run_exists"

    def __init__(self, run: str) -> None:
        self.run = run
        super().__init__(f"run `{run}` was started before", hint="start it with a new id")


class RunEnded(CatalogError):
    """A run has ended, and not that way."""

    code = "catalog.run_ended"

    def __init__(self, run: str, status: str) -> None:
        self.run, self.status = run, status
        super().__init__(f"run `{run}` has ended as `{status}`", hint="start a new run")


class RunUnknown(CatalogError):
    """There is no such run."""

    code = "catalog.run_unknown"

    def __init__(self, run: str) -> None:
        self.run = run
        super().__init__(f"there is no run `{run}`", hint="start it first")


class SchemaMoved(CatalogError):
    """A schema step was decided on a version that is not the latest any more."""

    code = "catalog.schema_moved"
    retryable = True

    def __init__(self, table: str, based_on: int, version: int) -> None:
        self.table, self.based_on, self.version = table, based_on, version
        super().__init__(
            f"the schema of `{table}` is at version {version}, and the step was decided on {based_on}",
            hint="read the schema again and decide anew",
        )


class MissingSidecars(CatalogError):
    """A snapshot names indexes that were not noted as durable."""

    code = "catalog.missing_sidecars"

    def __init__(self, snapshot: str, missing: Sequence[str]) -> None:
        self.snapshot, self.missing = snapshot, tuple(missing)
        super().__init__(
            f"snapshot `{snapshot}` needs sidecars that are not durable: {', '.join(missing)}",
            hint="build them, note them, and commit the snapshot after that",
        )


class SnapshotStale(CatalogError):
    """A table's past changed while a snapshot of it was made."""

    code = "catalog.snapshot_stale"
    retryable = True

    def __init__(self, table: str, based_on: int, revision: int) -> None:
        self.table, self.based_on, self.revision = table, based_on, revision
        super().__init__(
            f"`{table}` is at revision {revision}, and the snapshot was made from revision {based_on}",
            hint="make the snapshot again from what is there now",
        )


class SnapshotExists(CatalogError):
    """Another snapshot has that id."""

    code = "catalog.snapshot_exists"

    def __init__(self, snapshot: str) -> None:
        self.snapshot = snapshot
        super().__init__(f"another snapshot has the id `{snapshot}`", hint="commit it under a new id")


class SelectionExists(CatalogError):
    """Another selection has that id."""

    code = "catalog.selection_exists"

    def __init__(self, selection: str) -> None:
        self.selection = selection
        super().__init__(f"another selection has the id `{selection}`", hint="save it under a new id")


class AnswerMissing(CatalogError):
    """A batch was settled without a verdict on each of its changes."""

    code = "catalog.answer_missing"

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        super().__init__(
            f"the sink gave no status for {', '.join(keys)}",
            hint="have `push` return a status for every row of the batch",
        )


class TokenRevoked(CatalogError):
    """A token of an epoch that does not count: revoked, or never given."""

    code = "catalog.token_revoked"
    exit_code = ExitCode.REFUSED

    def __init__(self, scope: str, epoch: int, current: int) -> None:
        self.scope, self.epoch, self.current = scope, epoch, current
        super().__init__(
            f"the token of epoch {epoch} does not count: `{scope}` is at epoch {current}",
            hint="ask for a new token",
        )


class RevocationUnknown(CatalogError):
    """Whether a token was revoked cannot be said while the catalog is out of reach."""

    code = "catalog.revocation_unknown"
    exit_code = ExitCode.REFUSED
    retryable = True

    def __init__(self, scope: str, why: str) -> None:
        self.scope, self.why = scope, why
        super().__init__(
            f"the catalog is out of reach, and the epoch of `{scope}` is not known: {why}",
            hint="try again when the catalog answers",
        )
