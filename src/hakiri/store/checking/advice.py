"""What to do about a file that is damaged. Only what really helps, and never a word that loses rows."""

from __future__ import annotations

from hakiri.catalog.contract.chunks import Chunk

PUT_BACK = "put it back from a copy of the store"
NOT_LOST = "nothing is lost"
OLD_SNAPSHOT = f"{NOT_LOST}: a newer snapshot has taken its place, and `hakiri context gc` deletes it in time"
FROM_CATALOG = "`hakiri context check --repair` writes it anew from the catalog"
REGENERATE = "`hakiri context check --repair` or `hakiri schema regen-view` writes it anew from the catalog"
NAMED_BY_GC = "`hakiri context gc` names what a crash left behind, and deletes it in time"
BACKUP_OF_CATALOG = "keep a copy of the catalog as it is, and restore the last backup that passes this check"


def rows_advice(chunk: Chunk, *, is_read: bool, is_folded: bool, has_key: bool) -> str:
    """For a file of rows that a run has written."""
    if is_folded:
        return f"{NOT_LOST}: its rows are in a snapshot, and `hakiri context gc` deletes it in time"
    if not is_read:
        return f"{NOT_LOST} that readers see: newer rows have taken its place; {PUT_BACK}"
    if has_key:
        # Every chunk that ever landed is read here, so pulling it again does not get rid of the file.
        return f"{PUT_BACK}; until then the table cannot be read as a whole"
    return (
        f"{PUT_BACK}, or pull its rows again: `hakiri backfill rewind {chunk.pipeline} --table {chunk.table} "
        f"--from … --to … --reason damaged`; `hakiri backfill chunks {chunk.pipeline}` shows the range of "
        f"chunk {chunk.chunk}"
    )


def quarantine_advice(chunk: Chunk) -> str:
    """For a file of rows that did not fit."""
    return (
        f"{PUT_BACK}; the rows that readers see are not hurt, and chunk {chunk.chunk} of `{chunk.pipeline}` "
        "pulled again brings these once more"
    )


def snapshot_advice(table: str, *, is_kept: bool) -> str:
    """For a file of the current snapshot; `is_kept`: files are there that have all of its rows too."""
    if is_kept:
        return (
            f"run `hakiri context compact --full {table}`, and no `hakiri context gc` before: it folds the "
            "rows once more from the files that they came from, which are still there"
        )
    return (
        f"{PUT_BACK}; nothing else has all of its rows, and `hakiri context compact --full {table}` says "
        "which are lost without it and what else can be done"
    )


def sidecar_advice(table: str, *, is_current: bool) -> str:
    """For a file of an index."""
    return (
        f"run `hakiri context compact --full {table}`, which builds it anew" if is_current else OLD_SNAPSHOT
    )
