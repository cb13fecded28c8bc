"""Which tables of the store a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from hakiri.cli.runtime import Place
    from hakiri.core.ids import TableName


def chosen_tables(place: Place, only: str | None) -> list[TableName]:
    """All tables of the store, or the one that is asked for.

    First those of the manifest, in its order, then those that it feeds no longer.
    """
    from hakiri.compaction.layouts import tables_of
    from hakiri.core.ids import TableName
    from hakiri.store.known_tables import known_tables

    schemas = place.catalog.schemas
    if only is not None and schemas.current(TableName(only)) is not None:
        return [TableName(only)]
    every = dict.fromkeys((*tables_of(place.project), *known_tables(place.catalog)))
    known = [table for table in every if schemas.current(table) is not None]
    if only is None:
        return known
    listed = ", ".join(f"`{each}`" for each in known) or "none yet: run `hakiri apply`"
    raise UsageError(f"the store has no table `{only}`", hint=f"its tables are {listed}")
