"""Details of specs and selections on SQL databases; the promises are in the conformance suite."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.databases import T0

from hakiri.catalog.contract.files import ScannedFile, Selection, file_id
from hakiri.catalog.errors import CatalogRefused, SelectionExists, UnstorableText
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.files import SqlFiles
from hakiri.catalog.sql.selections import SqlSelections
from hakiri.core.ids import FileId, SelectionId, SpecId

SPEC = SpecId("sha256:spec")
DAILY = Selection(
    selection=SelectionId("daily"),
    spec=SPEC,
    snapshot_hash="sha256:1",
    logical_date="2026-05-11",
    watermark=None,
    created_at=T0,
)
MANY = 100_000


@pytest.fixture
def selections(database: Database) -> SqlSelections:
    return SqlSelections(database)


def ids(count: int) -> list[FileId]:
    return [FileId(f"{number:08d}") for number in range(count)]


@pytest.mark.spec("CF-007")
def test_an_id_never_comes_to_mean_another_spec(selections: SqlSelections) -> None:
    selections.save_spec(SPEC, '{"tag":"raw"}', T0)

    with pytest.raises(CatalogRefused, match="`sha256:spec` is the id of another spec"):
        selections.save_spec(SPEC, '{"tag":"late"}', T0)

    assert selections.spec(SPEC) == '{"tag":"raw"}'


def test_a_file_that_is_given_twice_is_selected_once(selections: SqlSelections) -> None:
    selections.save(DAILY, [*ids(3), *ids(2)])

    assert selections.files(DAILY.selection) == tuple(ids(3))


def test_the_same_selection_made_at_another_time_is_the_one_that_was_saved(selections: SqlSelections) -> None:
    selections.save(DAILY, ids(3))

    selections.save(replace(DAILY, created_at=T0 + timedelta(days=1)), ids(3))

    assert selections.get(DAILY.selection) == DAILY


@pytest.mark.parametrize(
    "other",
    [{"spec": SpecId("sha256:other")}, {"watermark": "7"}, {"logical_date": "2026-05-12"}],
    ids=["spec", "watermark", "date"],
)
def test_an_id_never_comes_to_mean_another_selection(
    selections: SqlSelections, other: dict[str, object]
) -> None:
    selections.save(DAILY, ids(3))

    with pytest.raises(SelectionExists):
        selections.save(replace(DAILY, **other), ids(3))  # type: ignore[arg-type]

    assert selections.get(DAILY.selection) == DAILY


def test_a_selection_is_saved_with_all_its_files_or_not_at_all(selections: SqlSelections) -> None:
    with pytest.raises(UnstorableText):
        selections.save(DAILY, [*ids(3), FileId("a\0b")])

    assert selections.get(DAILY.selection) is None
    assert selections.files(DAILY.selection) == ()


@pytest.mark.spec("CF-011")
def test_a_selection_stays_as_it_is_when_its_files_change_and_go(
    database: Database, selections: SqlSelections
) -> None:
    files = SqlFiles(database)
    scanned = ScannedFile(source="archive", path="a.hl7", size=1, modified_at=T0)
    files.note([scanned], [], T0)
    selections.save(DAILY, [file_id("archive", "a.hl7")])

    files.note([replace(scanned, size=2), replace(scanned, path="b.hl7")], [], T0)
    files.mark_gone("archive", T0 + timedelta(days=1), T0 + timedelta(days=1))

    assert selections.files(DAILY.selection) == (file_id("archive", "a.hl7"),)


@pytest.mark.spec("CF-009")
def test_the_watermark_of_the_latest_selection_is_where_the_next_one_begins(
    selections: SqlSelections,
) -> None:
    later = replace(
        DAILY, selection=SelectionId("later"), logical_date="2026-05-12", watermark="2026-05-12T07:00Z"
    )
    elsewhere = replace(later, selection=SelectionId("x"), spec=SpecId("x"), logical_date="2026-05-13")
    for selection in (later, DAILY, elsewhere):
        selections.save(selection, [])

    assert selections.latest(SPEC) == later


@pytest.mark.proof
@pytest.mark.timeout(120)
def test_a_hundred_thousand_files_are_selected_in_a_second_or_two(selections: SqlSelections) -> None:
    began = time.perf_counter()
    selections.save(DAILY, ids(MANY))
    seconds = time.perf_counter() - began

    assert selections.files(DAILY.selection, after=ids(MANY)[-3]) == tuple(ids(MANY)[-2:])
    assert seconds < 15, "a second, on a machine that has nothing else to do"
