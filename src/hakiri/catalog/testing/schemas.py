"""Tests of `catalog.schemas`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.schemas import SchemaChange, SchemaStep, TableSchema
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import SchemaMoved
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    MINUTE,
    OTHER_PIPELINE,
    OTHER_TABLE,
    PIPELINE,
    T0,
    TABLE,
    arrow_schema,
    at_once,
    step,
    tried,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all

ODD_SCHEMA = '{ "fields":[],\n "fields": [{"name": "größe 📏", "type": 1.0}] }'


def grown(catalog: Catalog, versions: int) -> None:
    for version in range(versions):
        catalog.schemas.record(step(version), PIPELINE, T0 + version * MINUTE)


class SchemaContract(Contract):
    """The schemas of all tables and every step they took."""

    def test_a_table_has_no_schema_at_first(self, catalog: Catalog) -> None:
        assert catalog.schemas.current(TABLE) is None
        assert catalog.schemas.log(TABLE) == ()
        assert catalog.schemas.log_of_pipeline(PIPELINE) == ()

    def test_the_first_step_makes_version_1(self, catalog: Catalog) -> None:
        taken = catalog.schemas.record(step(0), PIPELINE, T0)

        assert taken == SchemaChange(
            table=TABLE,
            version=1,
            pipeline=PIPELINE,
            change_kind="create",
            before=None,
            after=arrow_schema(1),
            decided_by="auto",
            at=T0,
        )
        assert catalog.schemas.log(TABLE) == (taken,)
        assert catalog.schemas.current(TABLE) == TableSchema(
            table=TABLE,
            version=1,
            arrow_schema=arrow_schema(1),
            primary_key=("id",),
            created_at=T0,
            updated_at=T0,
        )

    @pytest.mark.spec("AD-002")
    def test_versions_follow_each_other_without_a_gap(self, catalog: Catalog) -> None:
        grown(catalog, 4)

        log = catalog.schemas.log(TABLE)

        assert [change.version for change in log] == [1, 2, 3, 4]
        assert [change.before for change in log] == [None, *(change.after for change in log[:-1])]
        current = catalog.schemas.current(TABLE)
        assert current is not None
        assert (current.version, current.arrow_schema) == (4, arrow_schema(4))
        assert (current.created_at, current.updated_at) == (T0, T0 + 3 * MINUTE)

    def test_a_step_may_change_the_primary_key(self, catalog: Catalog) -> None:
        grown(catalog, 1)
        keys = ("tenant", "größe", "id")

        catalog.schemas.record(replace(step(1), primary_key=keys), PIPELINE, T0)

        current = catalog.schemas.current(TABLE)
        assert current is not None
        assert current.primary_key == keys

    def test_a_table_may_have_no_primary_key(self, catalog: Catalog) -> None:
        catalog.schemas.record(replace(step(0), primary_key=()), PIPELINE, T0)

        current = catalog.schemas.current(TABLE)
        assert current is not None
        assert current.primary_key == ()

    def test_a_schema_comes_back_as_it_was(self, catalog: Catalog) -> None:
        taken = catalog.schemas.record(replace(step(0), after=ODD_SCHEMA), PIPELINE, T0)

        current = catalog.schemas.current(TABLE)
        assert current is not None
        assert current.arrow_schema == taken.after == catalog.schemas.log(TABLE)[0].after == ODD_SCHEMA

    @pytest.mark.parametrize("based_on", [0, 1, 3, 7])
    def test_a_step_from_another_version_is_refused(self, catalog: Catalog, based_on: int) -> None:
        grown(catalog, 2)
        before = (catalog.schemas.current(TABLE), catalog.schemas.log(TABLE))

        with pytest.raises(SchemaMoved) as raised:
            catalog.schemas.record(step(based_on), PIPELINE, T0)

        assert (raised.value.based_on, raised.value.version) == (based_on, 2)
        assert (catalog.schemas.current(TABLE), catalog.schemas.log(TABLE)) == before

    def test_a_new_table_begins_at_0(self, catalog: Catalog) -> None:
        with pytest.raises(SchemaMoved):
            catalog.schemas.record(step(1), PIPELINE, T0)

        assert catalog.schemas.log(TABLE) == ()

    @pytest.mark.spec("HC-025")
    @pytest.mark.parametrize("decided_by", ["auto", "operator:ada@example.com", "agent:claude-7"])
    def test_a_step_says_who_decided_it(self, catalog: Catalog, decided_by: str) -> None:
        catalog.schemas.record(step(0, decided_by=decided_by), PIPELINE, T0)

        assert [change.decided_by for change in catalog.schemas.log(TABLE)] == [decided_by]

    @pytest.mark.spec("HC-025")
    @pytest.mark.parametrize("decided_by", ["", "somebody", "operator:", "agent", "Auto", "agent:a b"])
    def test_nobody_else_decides(self, decided_by: str) -> None:
        with pytest.raises(ValueError, match="decides nothing"):
            SchemaStep(table=TABLE, based_on=0, change_kind="create", after="{}", decided_by=decided_by)

    def test_the_steps_of_a_pipeline_come_by_table_and_version(self, catalog: Catalog) -> None:
        catalog.schemas.record(step(0, OTHER_TABLE), PIPELINE, T0)
        catalog.schemas.record(step(0), PIPELINE, T0)
        catalog.schemas.record(step(1), OTHER_PIPELINE, T0)
        catalog.schemas.record(step(2), PIPELINE, T0)

        ours = catalog.schemas.log_of_pipeline(PIPELINE)

        assert [(change.table, change.version) for change in ours] == [
            (TABLE, 1),
            (TABLE, 3),
            (OTHER_TABLE, 1),
        ]
        assert [change.version for change in catalog.schemas.log_of_pipeline(OTHER_PIPELINE)] == [2]

    def test_another_handle_sees_a_step_at_once(self, catalog: Catalog, opener: Opener) -> None:
        with opener.open() as other:
            assert other.schemas.current(TABLE) is None

            grown(catalog, 2)

            assert other.schemas.current(TABLE) == catalog.schemas.current(TABLE)
            assert other.schemas.log(TABLE) == catalog.schemas.log(TABLE)

    @pytest.mark.spec("AD-002")
    @upholds(Invariant.MONOTONIC_SCHEMAS)
    def test_of_many_who_take_the_same_step_at_once_one_does(self, catalog: Catalog) -> None:
        outcomes = at_once(
            lambda n: tried(lambda: catalog.schemas.record(step(0), (PIPELINE, OTHER_PIPELINE)[n % 2], T0))
        )

        assert sum(isinstance(outcome, SchemaChange) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, SchemaMoved) for outcome in outcomes) == len(outcomes) - 1

    @pytest.mark.spec("AD-002")
    @pytest.mark.spec("AD-018")
    @upholds(Invariant.MONOTONIC_SCHEMAS)
    def test_history_under_contention_is_dense_and_no_reader_sees_it_torn_or_older(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        """Half of the threads each take five steps, the others read all the while, through two handles."""
        steps_each, most_versions = 5, 20

        def write(handle: Catalog, number: int) -> None:
            def take_a_step() -> SchemaChange:
                current = handle.schemas.current(TABLE)
                next_step = step(current.version if current else 0)
                return handle.schemas.record(next_step, (PIPELINE, OTHER_PIPELINE)[number % 2], T0)

            taken = 0
            while taken < steps_each:
                taken += isinstance(tried(take_a_step), SchemaChange)

        def read(handle: Catalog) -> None:
            seen = 0
            while seen < most_versions:
                current = handle.schemas.current(TABLE)
                version = current.version if current else 0
                assert version >= seen, "an older version came after a newer one"
                assert current is None or current.arrow_schema == arrow_schema(version), "torn"
                log = handle.schemas.log(TABLE)
                assert [change.version for change in log] == list(range(1, len(log) + 1))
                assert len(log) >= version, "the history is behind the schema that was seen"
                seen = len(log)

        with opener.open() as other:
            handles = (catalog, other)
            at_once(lambda n: write(handles[n // 4], n) if n % 2 else read(handles[n // 4]))

        log = catalog.schemas.log(TABLE)
        assert [change.version for change in log] == list(range(1, most_versions + 1))
        assert [change.before for change in log] == [None, *(change.after for change in log[:-1])]

    @pytest.mark.spec("AD-002")
    @upholds(Invariant.MONOTONIC_SCHEMAS)
    def test_the_store_rewrites_and_skips_no_version(self, catalog: Catalog, vandal: Vandal) -> None:
        grown(catalog, 3)

        refuses_all(
            [
                lambda: vandal.rewrite_schema(TABLE, 2),
                lambda: vandal.rewrite_schema(TABLE, 3),
                lambda: vandal.delete_schema(TABLE, 3),
                lambda: vandal.delete_schema(TABLE, 1),
                lambda: vandal.skip_schema_version(TABLE, 3),
                lambda: vandal.turn_schema_back(TABLE, 2),
            ],
            lambda: (catalog.schemas.current(TABLE), catalog.schemas.log(TABLE)),
        )
