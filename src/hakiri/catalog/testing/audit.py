"""Tests of `catalog.audit`, and of the writes that are in the audit log with what they change."""

from __future__ import annotations

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import AuditEntry
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import LeaseRequired, UnstorableText
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    HOUR,
    MINUTE,
    OTHER_PIPELINE,
    OTHER_TABLE,
    PIPELINE,
    RUN,
    T0,
    TABLE,
    at_once,
    committed,
    new_chunks,
    planned,
    planned_in,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId

ADA = "operator:ada"


class AuditContract(Contract):
    """What was done, by whom, in the order in which it took effect."""

    def test_an_entry_is_kept_byte_for_byte(self, catalog: Catalog) -> None:
        noted = catalog.audit.note(
            ADA,
            "accept",
            T0,
            pipeline=PIPELINE,
            table=TABLE,
            before=' {"a": 1.0}',
            after="«ü»",
            reason="the source\nchanged",
        )

        assert noted == AuditEntry(
            number=1,
            at=T0,
            by=ADA,
            action="accept",
            pipeline=PIPELINE,
            table=TABLE,
            before=' {"a": 1.0}',
            after="«ü»",
            reason="the source\nchanged",
        )
        assert catalog.audit.page() == (noted,)

    def test_an_entry_needs_no_more_than_who_and_what(self, catalog: Catalog) -> None:
        noted = catalog.audit.note("auto", "tidy", T0)

        assert (noted.pipeline, noted.table, noted.before, noted.after, noted.reason) == (None,) * 5
        assert catalog.audit.page() == (noted,)

    @pytest.mark.parametrize("by", ["", "ada", "operator:", "agent: 7", "automatic"])
    def test_nobody_else_is_noted(self, catalog: Catalog, by: str) -> None:
        with pytest.raises(ValueError, match="decides nothing"):
            catalog.audit.note(by, "accept", T0)

        assert catalog.audit.page() == ()

    def test_entries_come_page_by_page_the_newest_first(self, catalog: Catalog) -> None:
        # Clocks may go back; numbers do not.
        noted = [catalog.audit.note(ADA, f"step {number}", T0 - number * HOUR) for number in range(7)]

        newest_first = tuple(reversed(noted))
        pages = [catalog.audit.page(before=before, limit=3) for before in (None, 5, 2, 1)]

        assert [entry.number for entry in noted] == [1, 2, 3, 4, 5, 6, 7]
        assert catalog.audit.page() == newest_first
        assert pages == [newest_first[:3], newest_first[3:6], newest_first[6:], ()]

    def test_entries_of_one_pipeline_come_alone(self, catalog: Catalog) -> None:
        for number in range(6):
            pipeline = (PIPELINE, OTHER_PIPELINE, None)[number % 3]
            catalog.audit.note(ADA, f"step {number}", T0, pipeline=pipeline)

        assert [entry.number for entry in catalog.audit.page(pipeline=PIPELINE)] == [4, 1]
        assert [entry.number for entry in catalog.audit.page(pipeline=OTHER_PIPELINE, before=5)] == [2]
        assert [entry.number for entry in catalog.audit.page(limit=3)] == [6, 5, 4]

    def test_many_entries_at_once_have_numbers_without_a_gap(self, catalog: Catalog, opener: Opener) -> None:
        with opener.open() as other:
            handles = (catalog, other)
            at_once(lambda n: [handles[n % 2].audit.note(ADA, f"{n}/{each}", T0) for each in range(4)])

        entries = catalog.audit.page()
        assert [entry.number for entry in entries] == list(range(32, 0, -1))
        assert len({entry.action for entry in entries}) == 32

    def test_an_entry_that_cannot_be_stored_leaves_no_gap(self, catalog: Catalog) -> None:
        with pytest.raises(UnstorableText):
            catalog.audit.note(ADA, "accept", T0, after="\0")

        assert catalog.audit.note(ADA, "accept", T0).number == 1

    @upholds(Invariant.APPEND_ONLY_LINEAGE)
    def test_the_store_changes_and_removes_no_entry(self, catalog: Catalog, vandal: Vandal) -> None:
        entries = [catalog.audit.note(ADA, f"step {number}", T0) for number in range(3)]

        refuses_all(
            [
                lambda: vandal.change_entry(entries[0]),
                lambda: vandal.delete_entry(entries[1]),
                lambda: vandal.delete_entry(entries[2]),
                lambda: vandal.skip_entry(entries[2]),
            ],
            catalog.audit.page,
        )

    def test_a_cursor_that_an_operator_sets_is_in_the_log(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        for number, value in enumerate(('{"id":  7}', "null")):
            catalog.cursors.put(
                PIPELINE,
                TABLE,
                value,
                run=RUN,
                now=T0 + number * MINUTE,
                audit_by=ADA,
                reason="late rows",
            )

        reset, first = catalog.audit.page(pipeline=PIPELINE)

        assert first == AuditEntry(
            number=1,
            at=T0,
            by=ADA,
            action="cursor",
            pipeline=PIPELINE,
            table=TABLE,
            before=None,
            after='{"id":  7}',
            reason="late rows",
        )
        assert (reset.before, reset.after, reset.at) == ('{"id":  7}', "null", T0 + MINUTE)

    def test_a_cursor_that_nobody_set_by_hand_is_not_in_the_log(self, catalog: Catalog) -> None:
        catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
        catalog.cursors.put(PIPELINE, TABLE, "1", run=RUN, now=T0)

        assert catalog.audit.page() == ()

    def test_a_cursor_that_is_refused_is_not_in_the_log(self, catalog: Catalog) -> None:
        with pytest.raises(LeaseRequired):
            catalog.cursors.put(PIPELINE, TABLE, "1", run=RUN, now=T0, audit_by=ADA)
        with pytest.raises(ValueError, match="decides nothing"):
            catalog.cursors.put(PIPELINE, TABLE, "1", run=RUN, now=T0, audit_by="ada")

        assert catalog.audit.page() == ()
        assert catalog.cursors.all(PIPELINE) == ()

    @pytest.mark.spec("HP-142")
    def test_a_rewind_is_in_the_log(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        committed(catalog)
        committed(catalog)

        catalog.chunks.supersede(
            PIPELINE, [ChunkId(2), ChunkId(1)], "late rows", T0 + MINUTE, into=new_chunks(1), by=ADA
        )

        assert catalog.audit.page() == (
            AuditEntry(
                number=1,
                at=T0 + MINUTE,
                by=ADA,
                action="rewind",
                pipeline=PIPELINE,
                table=TABLE,
                before="[1,2]",
                after="[4]",
                reason="late rows",
            ),
        )

    def test_a_rewind_of_several_tables_names_none(self, catalog: Catalog) -> None:
        planned_in(catalog, TABLE, OTHER_TABLE)
        committed(catalog)
        committed(catalog)

        catalog.chunks.supersede(PIPELINE, [ChunkId(1), ChunkId(2)], "rewind", T0, by="agent:7")

        [entry] = catalog.audit.page()
        assert (entry.by, entry.table, entry.before, entry.after) == ("agent:7", None, "[1,2]", "[3,4]")

    def test_a_rewind_of_nothing_or_by_nobody_is_not_in_the_log(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        committed(catalog)

        catalog.chunks.supersede(PIPELINE, [ChunkId(2)], "rewind", T0, by=ADA)
        with pytest.raises(ValueError, match="decides nothing"):
            catalog.chunks.supersede(PIPELINE, [ChunkId(1)], "rewind", T0, by="ada")
        catalog.chunks.supersede(PIPELINE, [ChunkId(1)], "rewind", T0)

        assert catalog.audit.page() == ()
