"""What the catalog refuses because of what others did, or because something is missing."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.catalog.errors.store import CatalogError
from hakiri.core.errors import ExitCode


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
