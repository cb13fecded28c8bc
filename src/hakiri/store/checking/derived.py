"""What is derived from the catalog, against the catalog: views, `duck.db`, the schema files, `config.toml`.

A writer commits first and publishes then, so what is derived may be a moment behind; whoever looks in that
moment waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from hakiri.catalog.contract import Catalog
from hakiri.core.ids import TableName
from hakiri.store.checking.advice import REGENERATE
from hakiri.store.checking.findings import Finding, Kind
from hakiri.store.config_file import config_of, read_config
from hakiri.store.duck_file import views_that_differ
from hakiri.store.errors import StoreError, UnreadableConfig
from hakiri.store.files import Files
from hakiri.store.known_tables import known_tables
from hakiri.store.layout import StoreLayout
from hakiri.store.publishing import schema_files
from hakiri.store.query.moving import is_at
from hakiri.store.state import table_state
from hakiri.store.view_heads import HEAD_LINES, revisions_shown, root_shown
from hakiri.store.view_owners import ViewOwners
from hakiri.store.views import TableState

_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One look at what is derived for a table.

    `shown` is the text on the disk; somebody may be about to write another one while it `is_behind`.
    """

    findings: tuple[Finding, ...]
    shown: bytes | None
    is_behind: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """Looks at what is derived in one store. `patience_seconds` is how long a writer may need to publish."""

    layout: StoreLayout
    catalog: Catalog
    files: Files
    patience_seconds: float

    def look(self, tables: Iterable[TableName]) -> list[Finding]:
        """What is out of step, and stays so: of these tables, and of what is there for all of them."""
        owners = ViewOwners(self.layout, self.catalog, self.files)
        looks = {table: self._table(table, owners) for table in tables}
        first = {table: look.shown for table, look in looks.items()}
        config, is_behind = self._config()
        suspects = {table for table, look in looks.items() if look.findings}
        for _ in range(max(1, round(self.patience_seconds / _PAUSE_SECONDS))):
            if not suspects and not (config and is_behind):
                break
            threading.Event().wait(_PAUSE_SECONDS)
            config, is_behind = self._config()
            for table in sorted(suspects):
                before, looks[table] = looks[table], self._table(table, owners)
                is_sure = not looks[table].is_behind and looks[table].findings == before.findings
                if is_sure or not looks[table].findings or looks[table].shown != first[table]:
                    suspects.discard(table)
        # What somebody wrote meanwhile is in the hands of a writer.
        still = {table: look for table, look in looks.items() if look.shown == first[table]}
        found = [finding for look in still.values() for finding in look.findings]
        return [*found, *([config] if config else ()), *self._duck(still, owners)]

    def _table(self, table: TableName, owners: ViewOwners) -> _Look:
        shown = self.files.read(self.layout.view_file(table))
        try:
            state = table_state(self.layout, self.catalog, table)
            wanted = None if state is None else owners.view_text(state).sql.encode()
        except StoreError as error:
            broken = self._finding(Kind.VIEW_BEHIND, table, f"it cannot be made: {error}")
            return _Look(findings=(broken,), shown=shown, is_behind=False)
        if state is None or wanted is None:
            return _Look(findings=(), shown=shown, is_behind=False)
        findings = list(self._schema_files(table))
        is_behind = False
        if shown != wanted:
            kind, found, is_behind = _view_drift(self.layout, state, shown, wanted)
            findings.append(self._finding(kind, table, found))
        return _Look(findings=tuple(findings), shown=shown, is_behind=is_behind)

    def _schema_files(self, table: TableName) -> Iterator[Finding]:
        for path, data in schema_files(self.layout, self.catalog, table).items():
            there = self.files.read(path)
            if there != data:
                yield Finding(
                    kind=Kind.SCHEMA_DIFFERS,
                    path=self.layout.relative(path),
                    table=table,
                    found="it is not there" if there is None else "it is not what the catalog says",
                    advice=REGENERATE,
                )

    def _config(self) -> tuple[Finding | None, bool]:
        """What is wrong with the file, and whether somebody may be about to write another."""
        wanted = config_of(self.layout, self.catalog, known_tables(self.catalog))
        data = self.files.read(self.layout.config_file)
        if wanted is None or data == wanted.text().encode():
            return None, False
        try:
            said = read_config(self.layout, self.files)
            found = "it is not there" if said is None else "it is not what the catalog says"
            is_behind = said is None or said.tables != wanted.tables
        except UnreadableConfig as error:
            found, is_behind = error.why, False
        path = self.layout.relative(self.layout.config_file)
        finding = Finding(kind=Kind.CONFIG_DIFFERS, path=path, found=found, advice=REGENERATE)
        return finding, is_behind

    def _duck(self, tables: Iterable[TableName], owners: ViewOwners) -> list[Finding]:
        chosen = frozenset(tables)
        if not chosen or self._duck_differs(chosen, owners) is None:
            return []
        with ExitStack() as stack:
            with suppress(OSError):  # of a store that cannot be written nobody writes views
                stack.enter_context(self.files.lock(self.layout.publish_lock))
            found = self._duck_differs(chosen, owners)
        return [] if found is None else [found]

    def _duck_differs(self, tables: frozenset[TableName], owners: ViewOwners) -> Finding | None:
        data = self.files.read(self.layout.duck_db)
        if data is None:
            return self._duck_finding("it is not there")
        states = (
            table_state(self.layout, self.catalog, table)
            for table in sorted(tables)
            if owners.taken_by(table) is None
        )
        texts = [
            owners.view_text(state)
            for state in states
            if state is not None and self._is_published(state)  # others are told by their views
        ]
        odd = views_that_differ(data, texts)
        if odd is None:
            return self._duck_finding("DuckDB cannot open it")
        return self._duck_finding(f"its view of `{odd[0]}` is another one") if odd else None

    def _is_published(self, state: TableState) -> bool:
        shown = self.files.read(self.layout.view_file(state.table)) or b""
        return revisions_shown(shown.decode(errors="replace")) == (state.schema_version, state.revision)

    def _duck_finding(self, found: str) -> Finding:
        return Finding(
            kind=Kind.DUCK_DIFFERS,
            path=self.layout.relative(self.layout.duck_db),
            found=found,
            advice=REGENERATE,
        )

    def _finding(self, kind: Kind, table: TableName, found: str) -> Finding:
        path = self.layout.relative(self.layout.view_file(table))
        return Finding(kind=kind, path=path, table=table, found=found, advice=REGENERATE)


def _view_drift(
    layout: StoreLayout, state: TableState, shown: bytes | None, wanted: bytes
) -> tuple[Kind, str, bool]:
    """What is wrong with a view's text, in words, and whether somebody may be about to write another."""
    if shown is None:
        return Kind.VIEW_MISSING, "it is not there", True
    text = shown.decode(errors="replace")
    root, revisions = root_shown(text), revisions_shown(text)
    if root is not None and not is_at(layout, root):
        return Kind.VIEW_ELSEWHERE, f"it reads the store where it was before, in `{root}`", False
    newest = (state.schema_version, state.revision)
    if revisions is None:
        return Kind.VIEW_EDITED, "it is no view that Hakiri has made", False
    if revisions != newest:
        found = (
            f"it shows schema {revisions[0]} and revision {revisions[1]}, "
            f"the catalog has schema {newest[0]} and revision {newest[1]}"
        )
        return Kind.VIEW_BEHIND, found, True
    lines, wanted_lines = text.splitlines()[:HEAD_LINES], wanted.decode().splitlines()[:HEAD_LINES]
    if lines != wanted_lines:
        # The last of them names the snapshot, which a compaction may have changed in this moment.
        is_behind = lines[:-1] == wanted_lines[:-1]
        return Kind.VIEW_BEHIND, "its first lines do not say what the catalog says", is_behind
    return Kind.VIEW_EDITED, "its text is not the one that the catalog makes", False
