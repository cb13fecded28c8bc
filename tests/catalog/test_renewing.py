"""A new catalog file in the place of the old one, by a process that may die at any moment."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.crashes import Kill, ended, forked, keep_disk_journal

from hakiri.catalog.contract.contents import CatalogContents, KnownPipeline
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.errors import CatalogDamaged
from hakiri.catalog.opening import Place, catalog_place
from hakiri.catalog.testing.samples import PIPELINE, T0
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, PipelineId

OLD = PipelineId("old")
NEW = CatalogContents(
    pipelines=(
        KnownPipeline(
            pipeline=PIPELINE,
            kind=CursorKind.MONOTONIC,
            phase=Phase.STREAMING,
            last_chunk=ChunkId(0),
            last_claim_at=None,
        ),
    )
)
MOST_OPERATIONS = 60


def place_in(folder: Path) -> Place:
    return catalog_place("sqlite:///meta.sqlite", project="shop", base=folder)


def pipelines(folder: Path) -> list[str]:
    with place_in(folder).open() as catalog:
        return [state.pipeline for state in catalog.pipelines.all()]


@pytest.mark.proof
@pytest.mark.spec("HC-027")
def test_whoever_dies_while_the_catalog_is_made_anew_leaves_the_old_one_or_the_new_one(
    tmp_path: Path,
) -> None:
    """At every operation on the disk, with a journal that only the old file may ever see."""
    left = []
    for count in range(1, MOST_OPERATIONS):
        folder = tmp_path / str(count)
        folder.mkdir()
        with place_in(folder).open(migrated_at=T0) as catalog:
            catalog.pipelines.declare(OLD, CursorKind.MONOTONIC, T0)
        kill = Kill(is_at_disk=True, count=count)

        def work(folder: Path = folder, kill: Kill = kill) -> None:
            keep_disk_journal(folder / "journal", folder, kill)
            place_in(folder).rebuild(NEW, T0)

        is_dead = ended(forked(work, tmp_path / "trouble"), kill)

        left.append(pipelines(folder))
        assert left[-1] in ([OLD], [PIPELINE])
        if left[-1] == [PIPELINE]:
            kept = folder / "meta.sqlite.before-2026-05-11T08-00-00Z"
            with closing(sqlite3.connect(kept)) as before:
                assert before.execute("SELECT pipeline_id FROM pipeline_state").fetchall() == [(OLD,)]
        else:
            place_in(folder).rebuild(NEW, T0)
            assert pipelines(folder) == [PIPELINE]
        if not is_dead:
            break
    assert left[0] == [OLD]
    assert left[-1] == [PIPELINE]
    assert len(left) < MOST_OPERATIONS - 1


def test_whoever_has_the_old_one_open_is_told_and_writes_nothing_to_it(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    with place.open(migrated_at=T0) as catalog:
        catalog.pipelines.declare(OLD, CursorKind.MONOTONIC, T0)
        place.rebuild(NEW, T0)

        with pytest.raises(CatalogDamaged, match="removed or replaced"):
            catalog.pipelines.declare(OLD, CursorKind.OPAQUE_TOKEN, T0)

    assert pipelines(tmp_path) == [PIPELINE]


def test_two_that_are_kept_have_names_of_their_own(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    kept = [place.rebuild(NEW, T0) for _ in range(3)]

    assert kept == [
        None,
        str(tmp_path / "meta.sqlite.before-2026-05-11T08-00-00Z"),
        str(tmp_path / "meta.sqlite.before-2026-05-11T08-00-00Z-2"),
    ]
