"""Which tables of the store a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from hakiri.cli.runtime import Place
    from hakiri.core.ids import TableName


def chosen_tables(place: Place, only: str | None) -> list[TableName]:
    """The tables of the project that the store has, or the one that is asked for."""
    from hakiri.compaction.layouts import tables_of
    from hakiri.core.ids import TableName

    known = [name for name in tables_of(place.project) if place.catalog.schemas.current(name) is not None]
    if only is None:
        return known
    name = TableName(only)
    if place.catalog.schemas.current(name) is None:
        listed = ", ".join(f"`{each}`" for each in known) or "none yet: run `hakiri apply`"
        raise UsageError(f"the store has no table `{only}`", hint=f"its tables are {listed}")
    return [name]
