"""Which table the view of a name belongs to: views know no case, and a table may have a second one.

The manifest refuses tables that would get in each other's way. A store may have some from before, and there
no view shows the rows of one table under the name of another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hakiri.catalog.contract import Catalog
from hakiri.core.ids import TableName
from hakiri.store.duck_file import ViewText
from hakiri.store.errors import ViewTaken
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout
from hakiri.store.views import TableState, quarantine_name, view_sql


class ViewOwners:
    """Of tables with names that differ in case alone, the one that the catalog knew first has the view."""

    def __init__(self, layout: StoreLayout, catalog: Catalog, files: Files) -> None:
        self._catalog = catalog
        self._alike: dict[str, set[str]] = {}
        # Whatever has a folder: to ask the catalog for all tables that it ever knew takes longer.
        for table in files.names(layout.tables):
            self._alike.setdefault(table.casefold(), set()).add(table)

    def taken_by(self, table: str) -> str | None:
        """The other table that has the view of this one, if one has."""
        others = self._named(table) - {table}
        owner = self._first_known({table, *others}) if others else table
        return None if owner == table else owner

    def view_text(self, state: TableState) -> ViewText:
        """What makes the views of a table that is in this state. Raises ViewTaken if another has its view."""
        if (owner := self.taken_by(state.table)) is not None:
            raise ViewTaken(state.table, owner)
        aside = quarantine_name(state.table)
        if self._first_known(self._named(aside)) is not None:
            return ViewText(table=state.table, sql=view_sql(replace(state, quarantine=())))
        return ViewText(table=state.table, sql=view_sql(state), dropped=() if state.quarantine else (aside,))

    def _named(self, view: str) -> set[str]:
        return self._alike.get(view.casefold(), set())

    def _first_known(self, tables: Iterable[str]) -> str | None:
        schemas = (self._catalog.schemas.current(TableName(table)) for table in tables)
        known = [(schema.created_at, schema.table) for schema in schemas if schema is not None]
        return min(known)[1] if known else None
