"""Stores that lie elsewhere than when their views were written: moved, copied, mounted under another path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hakiri.store.layout import StoreLayout
from hakiri.store.query.connecting import StoreState
from hakiri.store.view_heads import HEAD_BYTES, root_shown

if TYPE_CHECKING:
    from hakiri.catalog.contract import Catalog
    from hakiri.store.query.system_tables import OpenCatalog


def newest_state(layout: StoreLayout, open_catalog: OpenCatalog) -> tuple[StoreState, str | None]:
    """What was published last; of a store that was moved since, views that read it where it is now.

    Then the folder is told too from which its own views still read.
    """
    state, before = StoreState(layout=layout), moved_from(layout)
    if before is None:
        return state, None
    with open_catalog() as catalog:
        if catalog is None:
            return state, None
        return StoreState(layout=layout, texts=views_here(layout, catalog)), before


def moved_from(layout: StoreLayout) -> str | None:
    """The folder that a view of this store reads from, if it is another one; the files there may differ."""
    for path in sorted(layout.views.glob("*.sql")):
        with path.open("rb") as view:
            root = root_shown(view.read(HEAD_BYTES).decode(errors="replace"))
        if root is not None and not is_at(layout, root):
            return root
    return None


def is_at(layout: StoreLayout, root: str) -> bool:
    """Whether the store lies in this folder, by whatever path."""
    try:
        return root == str(layout.root) or os.path.samefile(root, layout.root)
    except OSError:
        return False


def views_here(layout: StoreLayout, catalog: Catalog) -> tuple[str, ...]:
    """The texts of all views as the catalog says them, for where the store is now."""
    from hakiri.store.known_tables import known_tables
    from hakiri.store.state import table_state
    from hakiri.store.views import view_sql

    states = (table_state(layout, catalog, table) for table in known_tables(catalog))
    return tuple(view_sql(state) for state in states if state is not None)
