"""Selections of files, and the specs they come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hakiri.catalog.contract.files import Selection
from hakiri.catalog.errors import CatalogRefused, SelectionExists
from hakiri.catalog.sql.counters import count_on
from hakiri.catalog.sql.database import Database, Row, Transaction, built, moment, sure
from hakiri.core.ids import FileId, SelectionId, SpecId


class SqlSelections:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save_spec(self, spec: SpecId, spec_json: str, now: datetime) -> None:
        def work(tx: Transaction) -> None:
            known = tx.one("spec", spec=spec)
            if known is None:
                tx.run("add_spec", spec=spec, spec_json=spec_json, now=now)
                known = tx.one("spec", spec=spec)
            if sure(known)["spec_json"] != spec_json:
                raise CatalogRefused(self._database.location, f"`{spec}` is the id of another spec")

        self._database.write(work)

    def spec(self, spec: SpecId) -> str | None:
        row = self._database.one("spec", spec=spec)
        return None if row is None else row["spec_json"]

    def save(self, selection: Selection, files: Iterable[FileId]) -> None:
        selected = sorted(set(files))

        def work(tx: Transaction) -> None:
            # Counted first: whoever saves holds the counter, so nobody saves the same between look and write.
            position = count_on(tx, "selection")
            saved = built(_selection, tx.one("selection", selection=selection.selection))
            if saved is not None:
                _refuse_another(saved, selection)
                return
            _add(tx, selection, position)
            tx.fill(
                "cf_selection_snapshot_files",
                ("snapshot_id", "file_id"),
                ((selection.selection, file) for file in selected),
            )

        self._database.write(work)

    def get(self, selection: SelectionId) -> Selection | None:
        return built(_selection, self._database.one("selection", selection=selection))

    def latest(self, spec: SpecId) -> Selection | None:
        return built(_selection, self._database.one("latest_selection", spec=spec))

    def files(
        self, selection: SelectionId, *, after: FileId | None = None, limit: int = 1000
    ) -> tuple[FileId, ...]:
        rows = self._database.all("selected_files", selection=selection, after=after or "", limit=limit)
        return tuple(FileId(row["file_id"]) for row in rows)


def _refuse_another(saved: Selection, selection: Selection) -> None:
    # The hash covers the files too. When it was made is told by whoever saves, and does not make it another.
    if replace(saved, created_at=selection.created_at) != selection:
        raise SelectionExists(selection.selection)


def _add(tx: Transaction, selection: Selection, position: int) -> None:
    tx.run(
        "add_selection",
        selection=selection.selection,
        spec=selection.spec,
        snapshot_hash=selection.snapshot_hash,
        logical_date=selection.logical_date,
        watermark=selection.watermark,
        created_at=selection.created_at,
        position=position,
    )


def _selection(row: Row) -> Selection:
    return Selection(
        selection=SelectionId(row["id"]),
        spec=SpecId(row["spec_id"]),
        snapshot_hash=row["snapshot_hash"],
        logical_date=row["logical_date"],
        watermark=row["watermark_value"],
        created_at=moment(row["created_at"]),
    )
