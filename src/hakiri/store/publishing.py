"""Views of what the catalog says, written anew whenever it says something new.

All of it is derived. `views/<t>.sql` is written last and says in its first lines which state it shows, so
whatever a crash left undone is seen there and done by whoever publishes next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.schemas import SchemaChange, TableSchema
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import SnapshotId, TableName
from hakiri.store.config_file import StoreConfig, compaction_of, config_of, read_config, refuse_newer
from hakiri.store.duck_file import ViewText, alter_duck_file, make_duck_file, views_not_made
from hakiri.store.errors import ViewNotMade, ViewTaken
from hakiri.store.files import Files, LocalFiles, make_folders, missing_rights_told, replace
from hakiri.store.known_tables import LandedChunks, known_tables
from hakiri.store.layout import StoreLayout
from hakiri.store.schemas import keyed_text, schema_from
from hakiri.store.state import table_state
from hakiri.store.view_owners import ViewOwners
from hakiri.store.views import TableState, header


class Publisher:
    """Keeps all that is derived in step with the catalog. For any number of threads.

    That is `views/`, `duck.db`, the schema files and `config.toml`.
    """

    def __init__(self, layout: StoreLayout, catalog: Catalog, files: Files | None = None) -> None:
        self._layout = layout
        self._catalog = catalog
        self._files = files or LocalFiles()
        self._chunks = LandedChunks(catalog)
        self._heads: dict[TableName, tuple[int, int, SnapshotId | None, bytes]] = {}

    def publish(self, tables: Iterable[TableName]) -> None:
        """Make what the catalog has committed for these tables what readers see.

        Costs little for a table that did not change. Two publishers, of whatever process, leave the newer
        state; a crash at any point leaves files that the next call mends.
        Raises ViewNotMade, and StoreNotWritable, StoreTooNew or UnreadableConfig for a store that cannot be
        written, or is not to be.
        """
        due = [table for table in dict.fromkeys(tables) if self.is_due(table)]
        if not due:
            return
        # States are read under the lock, so that nobody writes an older one after a newer.
        with self._locked():
            self._write(self._states(table for table in due if self.is_due(table)))

    def publish_anew(self, tables: Iterable[TableName] | None = None) -> tuple[ViewNotMade, ...]:
        """Write all that is derived, whatever is there: of these tables, or of all; `duck.db` as a whole.

        Views that cannot be made, since a file of theirs is damaged, are left as they are and returned; one
        that would take the place of another table's is removed. Raises StoreNotWritable, StoreTooNew.
        """
        with self._locked():
            refuse_newer(self._layout, self._files)
            every = known_tables(self._catalog)
            chosen = set(every if tables is None else tables)
            states = self._states(every)
            if not states:
                return ()
            for state in states:
                if state.table in chosen:
                    self._write_schema(TableName(state.table))
            config = config_of(self._layout, self._catalog, every)
            if config is not None:
                self._put_config(config)
            texts, taken = self._view_texts(states)
            broken = views_not_made(texts)
            whole = [text for text in texts if text.table not in broken]
            for error in taken:
                self._files.remove(self._layout.view_file(error.table))
            if not broken or not alter_duck_file(self._layout, self._files, whole):
                make_duck_file(self._layout, self._files, whole)
            for text in whole:
                if text.table in chosen:
                    replace(self._files, self._layout.view_file(text.table), text.sql.encode())
        return (*broken.values(), *taken)

    def is_due(self, table: TableName) -> bool:
        """Whether the view on the disk shows another state than the catalog has, or there is none."""
        schema = self._catalog.schemas.current(table)
        if schema is None:
            return False
        current = self._catalog.snapshots.current_id(table)
        head = self._head(schema, self._catalog.chunks.version(table), current)
        shown = self._files.read(self._layout.view_file(table), len(head))
        return shown != head or self._files.read(self._layout.duck_db, 0) is None

    def _head(self, schema: TableSchema, revision: int, snapshot: SnapshotId | None) -> bytes:
        """The first lines of a view that shows this state, made once a state."""
        known = self._heads.get(schema.table)
        if known is not None and known[:3] == (schema.version, revision, snapshot):
            return known[3]
        text = header(
            table=schema.table,
            schema=schema_from(schema.arrow_schema),
            schema_version=schema.version,
            revision=revision,
            since=schema.created_at,
            snapshot=snapshot,
            root=str(self._layout.root),
        )
        self._heads[schema.table] = (schema.version, revision, snapshot, text.encode())
        return text.encode()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with missing_rights_told(self._layout.root):
            make_folders(self._files, self._layout.views)
            with self._files.lock(self._layout.publish_lock):
                yield

    def _states(self, tables: Iterable[TableName]) -> list[TableState]:
        states = (table_state(self._layout, self._catalog, table, self._chunks) for table in tables)
        return [state for state in states if state is not None]

    def _write(self, states: list[TableState]) -> None:
        if not states:
            return
        self._write_config(states)
        for state in states:
            self._write_schema(TableName(state.table))
        texts, taken = self._view_texts(states)
        if not alter_duck_file(self._layout, self._files, texts):
            known = {state.table for state in states}
            others = [table for table in self._published() if table not in known]
            texts += self._view_texts(self._states(others))[0]
            make_duck_file(self._layout, self._files, texts)
        for text in texts:
            replace(self._files, self._layout.view_file(text.table), text.sql.encode())
        if taken:
            raise taken[0]

    def _view_texts(self, states: list[TableState]) -> tuple[list[ViewText], list[ViewTaken]]:
        """What makes the views of these tables, and which of them can have none."""
        owners = ViewOwners(self._layout, self._catalog, self._files)
        taken = {state.table: owners.taken_by(state.table) for state in states}
        texts = [owners.view_text(state) for state in states if taken[state.table] is None]
        return texts, [ViewTaken(table, owner) for table, owner in taken.items() if owner is not None]

    def _published(self) -> list[TableName]:
        names = self._files.names(self._layout.views)
        return [TableName(name.removesuffix(".sql")) for name in names if name.endswith(".sql")]

    def _write_config(self, states: list[TableState]) -> None:
        """Bring it up to date for these tables; a store that is older than the file gets one."""
        known = read_config(self._layout, self._files)
        if known is None:
            made = config_of(self._layout, self._catalog, known_tables(self._catalog))
            if made is not None:
                self._put_config(made)
            return
        tables = dict(known.tables)
        for state in states:
            before = tables.pop(state.table, None)
            if before is not None and before.snapshot == state.snapshot:
                tables[state.table] = before
            elif state.snapshot is not None:
                now = compaction_of(self._catalog, TableName(state.table))
                tables |= {} if now is None else {state.table: now}
        since = min(known.created_at, *(state.since for state in states))
        self._put_config(changed(known, project=self._layout.root.name, created_at=since, tables=tables))

    def _put_config(self, config: StoreConfig) -> None:
        data = config.text().encode()
        if self._files.read(self._layout.config_file) != data:
            replace(self._files, self._layout.config_file, data)

    def _write_schema(self, table: TableName) -> None:
        for path, data in schema_files(self._layout, self._catalog, table).items():
            if self._files.read(path) != data:
                replace(self._files, path, data)


def schema_files(layout: StoreLayout, catalog: Catalog, table: TableName) -> dict[Path, bytes]:
    """What `schema-history.jsonl` and `schema.json` of a table are to hold, by their paths."""
    log, current = catalog.schemas.log(table), catalog.schemas.current(table)
    if current is None:
        return {}
    known = (change for change in log if change.version <= current.version)
    history = "".join(f"{canonical_json(_step(change))}\n" for change in known)
    schema = keyed_text(current.arrow_schema, current.primary_key)
    return {
        layout.schema_history(table): history.encode(),
        layout.schema_file(table): f"{schema}\n".encode(),
    }


def _step(change: SchemaChange) -> dict[str, object]:
    return {
        "version": change.version,
        "pipeline": change.pipeline,
        "change_kind": change.change_kind,
        "before": None if change.before is None else json.loads(change.before),
        "after": json.loads(change.after),
        "decided_by": change.decided_by,
        "at": change.at,
    }
