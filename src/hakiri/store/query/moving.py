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


def newest_state(layout: StoreLayout, open_catalog: OpenCatalog) -> StoreState:
    """What was published last; of a store that was moved since, views that read it where it is now."""
    before = moved_from(layout)
    if before is None:
        return StoreState(layout=layout)
    with open_catalog() as catalog:
        return StoreState(layout=layout) if catalog is None else state_here(layout, catalog, before)


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


def state_here(layout: StoreLayout, catalog: Catalog, before: str) -> StoreState:
    """The views of all tables as the catalog says them, for where the store is now."""
    from hakiri.store.errors import StoreError
    from hakiri.store.files import LocalFiles
    from hakiri.store.known_tables import known_tables
    from hakiri.store.state import table_state
    from hakiri.store.view_owners import ViewOwners

    owners = ViewOwners(layout, catalog, LocalFiles())
    texts: dict[str, str] = {}
    refused: dict[str, StoreError] = {}
    for table in known_tables(catalog):
        try:
            state = table_state(layout, catalog, table)
            if state is not None:
                texts[table] = owners.view_text(state).sql
        except StoreError as error:
            refused[table] = error
    return StoreState(layout=layout, texts=texts, moved_from=before, refused=refused)
