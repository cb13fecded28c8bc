"""Tests of `catalog.files` and `catalog.selections`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.files import (
    FileQuery,
    KnownFile,
    ScannedFile,
    ScanTally,
    Selection,
    extension_of,
    file_id,
)
from hakiri.catalog.errors import SelectionExists, UnstorableText
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.samples import HOUR, MINUTE, T0, TICK, at_once, tried
from hakiri.core.ids import FileId, SelectionId, SpecId

SOURCE = "invoices"
SPEC = SpecId("sha256:spec")
SELECTION = SelectionId("sha256:selection")


def scanned(path: str, *, source: str = SOURCE, size: int = 10, modified_at: datetime = T0) -> ScannedFile:
    return ScannedFile(
        source=source,
        path=path,
        size=size,
        modified_at=modified_at,
        content_hash=f"sha256:{path}",
        fields='{"year":  "2026"}',
    )


def paths(found: tuple[KnownFile, ...]) -> set[str]:
    return {file.path for file in found}


class FileContract(Contract):
    """Every file that scans have seen."""

    def test_a_new_file_is_kept_with_all_a_scan_saw(self, catalog: Catalog) -> None:
        file = scanned("2026/März/ü 1.PDF", size=2**40)

        assert catalog.files.note([file], ["raw", "pdf", "raw"], T0) == ScanTally(added=1)

        [found] = catalog.files.find(FileQuery())
        assert found == KnownFile(
            file=file_id(SOURCE, file.path),
            source=SOURCE,
            path=file.path,
            ext=extension_of(file.path),
            size=2**40,
            modified_at=T0,
            content_hash=file.content_hash,
            fields=file.fields,
            tags=frozenset({"raw", "pdf"}),
            first_seen=T0,
            last_seen=T0,
            gone_at=None,
        )
        assert catalog.files.get(found.file) == found

    def test_a_scan_tells_new_changed_and_unchanged_files_apart(self, catalog: Catalog) -> None:
        first = [scanned("same"), scanned("grown"), scanned("touched"), scanned("rewritten")]
        catalog.files.note(first, [], T0)

        tally = catalog.files.note(
            iter(
                [
                    scanned("new"),
                    scanned("same"),
                    scanned("grown", size=11),
                    scanned("touched", modified_at=T0 + TICK),
                    replace(scanned("rewritten"), content_hash="sha256:other"),
                ]
            ),
            [],
            T0 + MINUTE,
        )

        assert tally == ScanTally(added=1, changed=3, unchanged=1)

    def test_a_changed_file_keeps_its_id_and_when_it_was_first_seen(self, catalog: Catalog) -> None:
        catalog.files.note([scanned("a.csv")], ["raw"], T0)

        catalog.files.note([scanned("a.csv", size=99)], ["late"], T0 + HOUR)

        [found] = catalog.files.find(FileQuery())
        assert found.file == file_id(SOURCE, "a.csv")
        assert (found.size, found.first_seen, found.last_seen) == (99, T0, T0 + HOUR)
        assert found.tags == {"raw", "late"}

    def test_a_scan_that_took_no_hash_says_nothing_about_the_content(self, catalog: Catalog) -> None:
        catalog.files.note([scanned("a.csv")], [], T0)

        tally = catalog.files.note([replace(scanned("a.csv"), content_hash=None)], [], T0)

        assert tally == ScanTally(unchanged=1)
        [found] = catalog.files.find(FileQuery())
        assert found.content_hash == "sha256:a.csv"

    def test_the_same_path_in_another_source_is_another_file(self, catalog: Catalog) -> None:
        catalog.files.note([scanned("a.csv"), scanned("a.csv", source="orders")], [], T0)

        assert len({file.file for file in catalog.files.find(FileQuery())}) == 2

    def test_files_that_a_scan_did_not_see_are_gone_and_keep_their_ids(self, catalog: Catalog) -> None:
        catalog.files.note([scanned("gone"), scanned("seen"), scanned("other", source="orders")], ["raw"], T0)
        catalog.files.note([scanned("seen")], [], T0 + MINUTE)

        assert catalog.files.mark_gone(SOURCE, T0 + MINUTE, T0 + HOUR) == 1
        assert catalog.files.mark_gone(SOURCE, T0 + MINUTE, T0 + HOUR) == 0

        assert paths(catalog.files.find(FileQuery())) == {"seen", "other"}
        gone = catalog.files.get(file_id(SOURCE, "gone"))
        assert gone is not None
        assert (gone.gone_at, gone.tags) == (T0 + HOUR, frozenset({"raw"}))

    def test_a_file_that_was_gone_comes_back_under_its_id(self, catalog: Catalog) -> None:
        catalog.files.note([scanned("a.csv")], [], T0)
        catalog.files.mark_gone(SOURCE, T0 + TICK, T0 + MINUTE)

        catalog.files.note([scanned("a.csv")], [], T0 + HOUR)

        [found] = catalog.files.find(FileQuery())
        assert (found.file, found.gone_at, found.first_seen) == (file_id(SOURCE, "a.csv"), None, T0)

    def test_every_part_of_a_query_must_hold(self, catalog: Catalog) -> None:
        catalog.files.note([scanned("a.csv"), scanned("b.CSV", modified_at=T0 + MINUTE)], ["raw"], T0)
        catalog.files.note([scanned("c.pdf", modified_at=T0 + HOUR)], ["raw"], T0)
        catalog.files.note([scanned("d.csv", source="orders")], ["late"], T0)

        def find(**parts: object) -> set[str]:
            return paths(catalog.files.find(FileQuery(**parts)))  # type: ignore[arg-type]

        assert find() == {"a.csv", "b.CSV", "c.pdf", "d.csv"}
        assert find(source=SOURCE) == find(tag="raw") == {"a.csv", "b.CSV", "c.pdf"}
        assert find(ext=".csv") == find(ext="CSV") == {"a.csv", "b.CSV", "d.csv"}
        assert find(modified_from=T0 + MINUTE) == {"b.CSV", "c.pdf"}
        assert find(modified_before=T0 + MINUTE) == {"a.csv", "d.csv"}
        assert find(source=SOURCE, modified_from=T0, modified_before=T0 + HOUR) == {"a.csv", "b.CSV"}
        assert find(source=SOURCE, tag="raw", ext=".csv", modified_from=T0 + TICK) == {"b.CSV"}
        assert find(source="orders", tag="raw") == find(tag="no such") == set()

    @pytest.mark.parametrize(
        "query",
        [FileQuery(), FileQuery(tag="raw"), FileQuery(source=SOURCE, modified_from=T0)],
        ids=["all", "tag", "time"],
    )
    def test_files_come_by_id_page_by_page(self, catalog: Catalog, query: FileQuery) -> None:
        catalog.files.note([scanned(f"{number}.csv") for number in range(25)], ["raw"], T0)

        found: list[FileId] = []
        while page := catalog.files.find(query, after=found[-1] if found else None, limit=10):
            assert len(page) <= 10
            found += [file.file for file in page]

        assert found == sorted(file_id(SOURCE, f"{number}.csv") for number in range(25))

    def test_an_unknown_file_is_none(self, catalog: Catalog) -> None:
        assert catalog.files.get(FileId("unknown")) is None

    def test_a_scan_is_noted_as_a_whole_or_not_at_all(self, catalog: Catalog) -> None:
        with pytest.raises(UnstorableText):
            catalog.files.note([scanned("good"), scanned("\0")], ["raw"], T0)

        assert catalog.files.find(FileQuery()) == ()

    def test_many_scans_at_once_note_every_file_once(self, catalog: Catalog) -> None:
        files = [scanned(f"{number}.csv") for number in range(20)]

        tallies = at_once(lambda n: catalog.files.note(files[n:] + files[:n], [f"scan {n}"], T0))

        assert sum(tally.added for tally in tallies) == 20
        assert sum(tally.unchanged for tally in tallies) == 20 * (len(tallies) - 1)
        assert {len(file.tags) for file in catalog.files.find(FileQuery())} == {len(tallies)}


def selection(number: int = 1, *, logical_date: str = "2026-05-11", created_at: datetime = T0) -> Selection:
    return Selection(
        selection=SelectionId(f"{SELECTION} {number}"),
        spec=SPEC,
        snapshot_hash=f"sha256:{number}",
        logical_date=logical_date,
        watermark='{"after":  1.0}',
        created_at=created_at,
    )


def file_ids(count: int) -> list[FileId]:
    return [FileId(f"file-{number:03d}") for number in range(count)]


class SelectionContract(Contract):
    """Specs and what they selected, fixed for ever."""

    def test_a_spec_comes_back_as_it_was(self, catalog: Catalog) -> None:
        assert catalog.selections.spec(SPEC) is None

        catalog.selections.save_spec(SPEC, '{"tag":  "raw ü"}', T0)
        catalog.selections.save_spec(SPEC, '{"tag":  "raw ü"}', T0 + HOUR)

        assert catalog.selections.spec(SPEC) == '{"tag":  "raw ü"}'

    def test_a_selection_is_kept_with_its_files_by_id(self, catalog: Catalog) -> None:
        catalog.selections.save(selection(), reversed(file_ids(3)))

        assert catalog.selections.get(selection().selection) == selection()
        assert catalog.selections.files(selection().selection) == tuple(file_ids(3))

    def test_an_unknown_selection_has_no_files(self, catalog: Catalog) -> None:
        assert catalog.selections.get(SELECTION) is None
        assert catalog.selections.files(SELECTION) == ()
        assert catalog.selections.latest(SPEC) is None

    def test_a_selection_may_be_empty(self, catalog: Catalog) -> None:
        empty = replace(selection(), watermark=None)

        catalog.selections.save(empty, [])

        assert catalog.selections.get(empty.selection) == empty
        assert catalog.selections.files(empty.selection) == ()

    def test_the_files_come_page_by_page(self, catalog: Catalog) -> None:
        catalog.selections.save(selection(), file_ids(7))

        pages = [
            catalog.selections.files(selection().selection, after=after, limit=3)
            for after in (None, file_ids(7)[2], file_ids(7)[5], file_ids(7)[6])
        ]

        assert pages == [tuple(file_ids(7)[part]) for part in (slice(3), slice(3, 6), slice(6, 7), slice(0))]

    def test_the_same_selection_again_changes_nothing(self, catalog: Catalog) -> None:
        catalog.selections.save(selection(), file_ids(3))

        catalog.selections.save(selection(), file_ids(3))

        assert catalog.selections.files(selection().selection) == tuple(file_ids(3))

    @pytest.mark.parametrize(
        "other",
        [replace(selection(), snapshot_hash="sha256:x"), replace(selection(), logical_date="2026-05-12")],
        ids=["hash", "date"],
    )
    def test_another_selection_of_the_same_id_is_refused(self, catalog: Catalog, other: Selection) -> None:
        catalog.selections.save(selection(), file_ids(3))

        with pytest.raises(SelectionExists):
            catalog.selections.save(other, file_ids(4))

        assert catalog.selections.get(selection().selection) == selection()
        assert catalog.selections.files(selection().selection) == tuple(file_ids(3))

    def test_the_latest_selection_is_that_of_the_latest_date(self, catalog: Catalog) -> None:
        newest = selection(1, logical_date="2026-05-12")
        for one in (newest, selection(2, logical_date="2026-05-11")):
            catalog.selections.save(one, [])

        assert catalog.selections.latest(SPEC) == newest

    def test_of_several_on_the_latest_date_the_one_saved_last_is_the_latest(self, catalog: Catalog) -> None:
        last = selection(1, created_at=T0 - HOUR)
        for one in (selection(2), last):
            catalog.selections.save(one, [])

        assert catalog.selections.latest(SPEC) == last

    def test_many_who_save_one_selection_at_once_save_it_once(self, catalog: Catalog) -> None:
        outcomes = at_once(
            lambda n: tried(
                lambda: catalog.selections.save(
                    replace(selection(), snapshot_hash=f"sha256:{n % 2}"), file_ids(n % 2 + 1)
                )
            )
        )

        saved = catalog.selections.get(selection().selection)
        assert saved is not None
        winner = int(saved.snapshot_hash[-1])
        assert catalog.selections.files(saved.selection) == tuple(file_ids(winner + 1))
        assert all(outcome is None for outcome in outcomes[winner::2])
        assert all(isinstance(outcome, SelectionExists) for outcome in outcomes[1 - winner :: 2])
