"""What the cursor of a connector means: how a source is cut into chunks, and who may write the cursor."""

from __future__ import annotations

from enum import StrEnum


class CursorKind(StrEnum):
    """What a connector's cursor means, and so what two writers at once would do to it."""

    MONOTONIC = "monotonic"
    PARTITIONED_MONOTONIC = "partitioned-monotonic"
    OPAQUE_TOKEN = "opaque-token"  # noqa: S105  (a kind of cursor, not a password)
    SNAPSHOT_ID = "snapshot-id"

    @property
    def needs_lease(self) -> bool:
        """Whether only one node at a time may run the pipeline."""
        return self in (CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID)

    @property
    def is_cut(self) -> bool:
        """Whether the values of a column may cut a table into windows."""
        return not self.needs_lease


UNDECLARED_KIND = CursorKind.OPAQUE_TOKEN
