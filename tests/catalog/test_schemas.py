"""Details of schemas and their history on SQL databases; the promises are in the conformance suite."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.support.databases import T0

from hakiri.catalog.contract.schemas import SchemaChange, SchemaStep, TableSchema
from hakiri.catalog.errors import CatalogRefused, SchemaMoved
from hakiri.catalog.sql.database import Database, Transaction
from hakiri.catalog.sql.pipelines import SqlPipelines
from hakiri.catalog.sql.schemas import SqlSchemas, take_step
from hakiri.catalog.sql.snapshots import SqlSnapshots
from hakiri.core.ids import PipelineId, TableName

ISSUES = TableName("issues")
GITHUB = PipelineId("github")
LATER = T0 + timedelta(minutes=1)


def step(based_on: int, after: str = "{}", table: TableName = ISSUES, **fields: object) -> SchemaStep:
    return SchemaStep(table=table, based_on=based_on, change_kind="add_column", after=after, **fields)  # type: ignore[arg-type]


def test_a_step_is_returned_as_it_is_kept(database: Database) -> None:
    schemas = SqlSchemas(database)
    schemas.record(step(0, '{"a": 1}'), GITHUB, T0)

    taken = schemas.record(step(1, '{"a": 1, "é": 2}', decided_by="operator:ada"), GITHUB, LATER)

    assert taken == SchemaChange(
        table=ISSUES,
        version=2,
        pipeline=GITHUB,
        change_kind="add_column",
        before='{"a": 1}',
        after='{"a": 1, "é": 2}',
        decided_by="operator:ada",
        at=LATER,
    )
    assert schemas.log(ISSUES)[1] == taken


def test_the_current_schema_keeps_its_first_time_and_takes_the_key_of_its_last_step(
    database: Database,
) -> None:
    schemas = SqlSchemas(database)
    schemas.record(step(0, "1", primary_key=("id",)), GITHUB, T0)

    schemas.record(step(1, "2", primary_key=("org", "id")), GITHUB, LATER)

    assert schemas.current(ISSUES) == TableSchema(
        table=ISSUES,
        version=2,
        arrow_schema="2",
        primary_key=("org", "id"),
        created_at=T0,
        updated_at=LATER,
    )


def test_a_table_without_a_key_has_an_empty_one(database: Database) -> None:
    schemas = SqlSchemas(database)

    schemas.record(step(0), GITHUB, T0)

    current = schemas.current(ISSUES)
    assert current is not None
    assert current.primary_key == ()


@pytest.mark.parametrize("based_on", [0, 2])
def test_a_step_from_another_version_says_which_one_it_is_at(database: Database, based_on: int) -> None:
    schemas = SqlSchemas(database)
    schemas.record(step(0), GITHUB, T0)

    with pytest.raises(SchemaMoved) as caught:
        schemas.record(step(based_on), GITHUB, LATER)

    assert (caught.value.table, caught.value.based_on, caught.value.version) == (ISSUES, based_on, 1)
    assert len(schemas.log(ISSUES)) == 1


def test_every_step_is_a_new_revision_of_its_table_alone(database: Database) -> None:
    schemas, snapshots = SqlSchemas(database), SqlSnapshots(database)

    schemas.record(step(0), GITHUB, T0)
    schemas.record(step(1), GITHUB, T0)

    assert snapshots.revision(ISSUES) == 2
    assert snapshots.revision(TableName("pulls")) == 0


def test_a_step_that_is_part_of_a_failed_transaction_leaves_nothing(database: Database) -> None:
    def work(tx: Transaction) -> None:
        take_step(tx, step(0), GITHUB, T0)
        raise RuntimeError("crashed after the step")

    with pytest.raises(RuntimeError, match="crashed"):
        database.write(work)

    assert SqlSchemas(database).log(ISSUES) == ()
    assert SqlSchemas(database).current(ISSUES) is None
    assert SqlSnapshots(database).revision(ISSUES) == 0


def test_the_log_of_a_pipeline_is_in_the_order_of_table_and_version(database: Database) -> None:
    schemas = SqlSchemas(database)
    other = PipelineId("other")
    schemas.record(step(0, table=TableName("b")), GITHUB, T0)
    schemas.record(step(1, table=TableName("b")), other, T0)
    schemas.record(step(2, table=TableName("b")), GITHUB, T0)
    schemas.record(step(0, table=TableName("a")), GITHUB, T0)
    schemas.record(step(0, table=TableName("B")), GITHUB, T0)

    log = schemas.log_of_pipeline(GITHUB)

    assert [(change.table, change.version) for change in log] == [("B", 1), ("a", 1), ("b", 1), ("b", 3)]


def test_a_step_makes_its_pipeline_known(database: Database) -> None:
    SqlSchemas(database).record(step(0), GITHUB, T0)

    assert SqlPipelines(database).get(GITHUB) is not None


@pytest.mark.spec("HC-025")
@pytest.mark.parametrize("decided_by", ["auto", "operator:ada", "agent:claude/7"])
def test_every_kind_of_decider_is_kept(database: Database, decided_by: str) -> None:
    schemas = SqlSchemas(database)

    schemas.record(step(0, decided_by=decided_by), GITHUB, T0)

    assert schemas.log(ISSUES)[0].decided_by == decided_by


@pytest.mark.spec("HC-025")
@pytest.mark.parametrize("decided_by", ["", "ada", "operator:", "agent: ", "auto ", "Operator:ada"])
def test_nobody_else_decides(decided_by: str) -> None:
    with pytest.raises(ValueError, match="decides nothing"):
        step(0, decided_by=decided_by)


@pytest.mark.spec("AD-002")
def test_racing_steps_make_versions_without_a_gap(database: Database) -> None:
    schemas = SqlSchemas(database)

    def race(worker: int) -> int:
        taken = 0
        while taken < 5:
            current = schemas.current(ISSUES)
            version = 0 if current is None else current.version
            try:
                schemas.record(step(version, f"{worker}.{taken}"), GITHUB, T0)
            except SchemaMoved:
                continue
            taken += 1
        return taken

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(race, range(8)))

    log = schemas.log(ISSUES)
    assert [change.version for change in log] == list(range(1, 41))
    assert [change.before for change in log] == [None, *(change.after for change in log[:-1])]


def test_the_store_takes_a_schema_only_from_its_history(database: Database) -> None:
    SqlSchemas(database).record(step(0, "1"), GITHUB, T0)

    def skip_history(tx: Transaction) -> None:
        tx.run("next_table_schema", table=ISSUES, after="2", primary_key=None, version=2, now=T0)

    with pytest.raises(CatalogRefused, match="next version of its history"):
        database.write(skip_history)
