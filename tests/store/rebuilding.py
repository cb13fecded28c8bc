"""A catalog made anew from the tree of a workshop, as `hakiri context rebuild-catalog` makes it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from tests.store.workshop import Workshop

from hakiri.catalog.opening import catalog_place
from hakiri.pipelines.rebuilding import facts_of
from hakiri.store.files import LocalFiles
from hakiri.store.layout import StoreLayout
from hakiri.store.rebuild.claims import claims_in
from hakiri.store.rebuild.planning import Rebuilt, plan_rebuild
from hakiri.store.rebuild.settling import Reading
from hakiri.store.rebuild.tree import read_tree

KEPT = timedelta(days=1)


def planned(layout: StoreLayout, now: datetime) -> Rebuilt:
    reading = Reading(now=now, keep=lambda _: KEPT, facts_of=facts_of, find_claims=claims_in(layout))
    return plan_rebuild(read_tree(layout, LocalFiles()), str(layout.root), reading)


def rebuild_catalog(workshop: Workshop, now: datetime) -> Rebuilt | None:
    """Remove the catalog, make it anew, and go on with that one; as it was if there is no table yet."""
    root = workshop.layout.root
    if not any((root / "tables").glob("*/schema-history.jsonl")) and not any(
        (root / "tables").rglob("_manifest.json")
    ):
        return None
    workshop.catalog.close()
    for file in Path(root).glob("meta.sqlite*"):
        file.unlink()
    found = planned(workshop.layout, now)
    place = catalog_place(f"sqlite:///{root / 'meta.sqlite'}", project="shop", base=root)
    assert place.rebuild(found.contents, now) is None
    workshop.catalog = place.open()
    return found
