"""A whole check, and the mending of what can be mended."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from hakiri.catalog.contract import Catalog
from hakiri.core.clock import Clock
from hakiri.core.ids import TableName
from hakiri.store.checking.advice import BACKUP_OF_CATALOG
from hakiri.store.checking.derived import Derived
from hakiri.store.checking.findings import Checked, Finding, Kind, Severity, Watch, in_order
from hakiri.store.checking.litter import (
    Known,
    Seen,
    attempts_under_way,
    files_doomed,
    files_seen,
    litter,
)
from hakiri.store.checking.naming import wanted_of
from hakiri.store.checking.verifying import texts_verified, verified
from hakiri.store.checking.wanted import Wanted
from hakiri.store.files import Files
from hakiri.store.files import replace as replace_file
from hakiri.store.known_tables import known_tables
from hakiri.store.layout import StoreLayout
from hakiri.store.publishing import Publisher

PATIENCE_SECONDS = 3.0  # in which a writer that has committed publishes
_GONE = frozenset({Kind.FILE_MISSING, Kind.SIDECAR_MISSING, Kind.MANIFEST_MISSING})
_MANIFESTS = frozenset({Kind.MANIFEST_MISSING, Kind.MANIFEST_CHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Checks one store. Writers may go on meanwhile; what they are about to do is no finding."""

    catalog: Catalog
    layout: StoreLayout
    files: Files
    clock: Clock
    patience_seconds: float = PATIENCE_SECONDS

    def check(self, watch: Watch, *, only: Collection[TableName] = (), is_quick: bool = False) -> Checked:
        """Look at everything, or at what belongs to some tables. Changes nothing.

        A quick check looks whether files are there and have their size, and reads none of the data.
        """
        # In this order: what is being written now, or is committed in between, is known by the end.
        seen = files_seen(self.layout)
        under_way = attempts_under_way(self.catalog)
        every = known_tables(self.catalog)
        tables = tuple(table for table in every if not only or table in only)
        watch.step("what the catalog names")
        wanted = {table: self._wanted(table) for table in every}
        findings = [finding for table in tables for finding in wanted[table].findings]
        findings += self._files(watch, {table: wanted[table] for table in tables}, is_quick=is_quick)
        watch.step("what is derived")
        findings += self._derived.look(tables)
        findings += self._litter(seen, under_way, wanted, only)
        if not only:
            findings += [
                Finding(
                    kind=Kind.CATALOG_BROKEN,
                    path=f"catalog: {breach.where}",
                    found=breach.found,
                    advice=BACKUP_OF_CATALOG,
                )
                for breach in self.catalog.check(lambda what: watch.step(f"the catalog: {what}"))
            ]
        return Checked(
            tables=tables,
            files=sum(len(wanted[table].paths()) for table in tables),
            bytes=sum(file.bytes for table in tables for file in wanted[table].files),
            findings=in_order(findings),
        )

    def drift(self, tables: Collection[TableName] = ()) -> tuple[Finding, ...]:
        """Only what is derived and out of step, of some tables or of all."""
        return in_order(self._derived.look(tables or known_tables(self.catalog)))

    def repair(self, checked: Checked) -> Checked:
        """Write anew what the catalog can say, and say what was mended. No file of rows is ever touched.

        Raises StoreTooNew.
        """
        hurt = {one.table for one in checked.findings if one.kind in _MANIFESTS and one.table is not None}
        wanted = {text.path: text.text for table in hurt for text in self._wanted(table).texts}
        for finding in checked.findings:
            if finding.kind in _MANIFESTS and finding.path in wanted:
                replace_file(self.files, self.layout.root / finding.path, wanted[finding.path].encode())
        if any(one.severity is Severity.DRIFT for one in checked.findings):
            Publisher(self.layout, self.catalog, self.files).publish_anew()
        left = {one.place for one in self._derived.look(checked.tables)}
        left |= {one.place for one in self._texts(hurt)}
        mendable = [
            one for one in checked.findings if one.kind in _MANIFESTS or one.severity is Severity.DRIFT
        ]
        mended = {one.place for one in mendable} - left
        return replace(
            checked,
            findings=tuple(replace(one, is_mended=one.place in mended) for one in checked.findings),
        )

    @property
    def _derived(self) -> Derived:
        return Derived(
            layout=self.layout,
            catalog=self.catalog,
            files=self.files,
            patience_seconds=self.patience_seconds,
        )

    def _wanted(self, table: TableName) -> Wanted:
        return wanted_of(self.layout, self.catalog, self.files, table)

    def _texts(self, tables: Collection[TableName]) -> list[Finding]:
        wanted = [text for table in tables for text in self._wanted(table).texts]
        return list(texts_verified(self.layout.root, wanted, self.files))

    def _files(self, watch: Watch, wanted: Mapping[TableName, Wanted], *, is_quick: bool) -> list[Finding]:
        files = [file for one in wanted.values() for file in one.files]
        texts = [text for one in wanted.values() for text in one.texts]
        watch.begin(sum(file.bytes for file in files))
        findings = [
            *verified(self.layout.root, files, is_quick=is_quick, tell=watch.advance),
            *texts_verified(self.layout.root, texts, self.files),
        ]
        return self._still_gone(findings)

    def _still_gone(self, findings: list[Finding]) -> list[Finding]:
        """Without files that were folded and collected while the check went on."""
        tables = {one.table for one in findings if one.kind in _GONE and one.table is not None}
        required = {
            path
            for now in map(self._wanted, tables)
            for path, is_required in (
                *((file.path, file.is_required) for file in now.files),
                *((text.path, text.is_required) for text in now.texts),
            )
            if is_required
        }
        return [one for one in findings if one.kind not in _GONE or one.path in required]

    def _litter(
        self,
        seen: Mapping[str, Seen],
        under_way: frozenset[str],
        wanted: Mapping[TableName, Wanted],
        only: Collection[TableName],
    ) -> list[Finding]:
        own = [
            path
            for table in wanted
            for path in (
                self.layout.schema_file(table),
                self.layout.schema_history(table),
                self.layout.view_file(table),
            )
        ]
        known = Known(
            tables=frozenset(wanted),
            paths=frozenset(map(self.layout.relative, [*own, self.layout.publish_lock])).union(
                *(one.paths() for one in wanted.values())
            ),
            snapshots=frozenset().union(*(one.snapshots for one in wanted.values())),
            under_way=under_way,
            doomed=files_doomed(self.catalog, self.clock.now()),
        )
        found = litter(seen, known, self.clock.now())
        return [one for one in found if not only or one.table in only]
