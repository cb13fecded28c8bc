"""Decisions about columns in the catalog, and the log of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.pipelines.evolution.shapes import INT32, INT64, TEXT, shape, was_called

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.pipelines import Failure
from hakiri.catalog.errors import SchemaMoved
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.evolution import (
    ContractMode,
    NoSchemaYet,
    SchemasDiverged,
    Side,
    TableShape,
    evolve,
    shape_of,
    step_to,
)
from hakiri.pipelines.evolution.brought import Brought
from hakiri.pipelines.evolution.log import schema_log
from hakiri.pipelines.evolution.recording import accept_changes, migrate_key, reconcile_table, settle_refusal
from hakiri.pipelines.refusals import note_refusal, refused_shape

T0 = datetime(2026, 1, 31, 8, tzinfo=UTC)
SHOP, ORDERS = PipelineId("shop"), TableName("orders")
ADA = "operator:ada"
STORED = shape("id", id=INT64, amount=INT64)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with opened(tmp_path / "meta.sqlite") as made:
        yield made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Catalog]:
    with opened(tmp_path / "other.sqlite") as made:
        yield made


def opened(file: Path) -> Catalog:
    return open_catalog(f"sqlite:///{file}", project="shop", base=file.parent, now=T0)


def run(catalog: Catalog, incoming: TableShape, at: datetime = T0, pipeline: PipelineId = SHOP) -> bool:
    """What a run does about the schema; False if it was refused."""
    current = catalog.schemas.current(ORDERS)
    stored = None if current is None else shape_of(current)
    made = evolve(stored, incoming, mode=ContractMode.EVOLVE, is_open=False)
    if made.is_refused:
        note_refusal(
            catalog, pipeline=pipeline, table=ORDERS, incoming=incoming, refused=made.refused, now=at
        )
        error = made.error(ORDERS, pipeline)
        failure = Failure(run=None, kind=error.code, message=str(error), at=at, spec_hash=None)
        catalog.pipelines.fail(pipeline, failure, at)
    elif made.changes:
        based_on = 0 if current is None else current.version
        catalog.schemas.record(
            step_to(made.shape, made.changes, table=ORDERS, based_on=based_on), pipeline, at
        )
    return not made.is_refused


def accepted(catalog: Catalog, incoming: TableShape, columns: list[str] | None = None) -> list[str]:
    brought = Brought(table=ORDERS, shape=incoming, mode=ContractMode.EVOLVE, is_open=False)
    decided = accept_changes(catalog, brought, pipeline=SHOP, columns=columns, files=(), by=ADA, now=T0)
    return [change.column for change in decided.changes]


@pytest.mark.spec("HP-070")
def test_what_was_refused_goes_through_once_an_operator_accepted_it(catalog: Catalog) -> None:
    run(catalog, STORED)
    narrow = shape("id", id=INT64, amount=INT32)

    was_refused = not run(catalog, narrow)
    columns = accepted(catalog, narrow)
    is_released = settle_refusal(catalog, SHOP, ADA, T0)

    assert (was_refused, columns, is_released) == (True, ["amount"], True)
    assert run(catalog, narrow)
    step = catalog.schemas.log(ORDERS)[-1]
    assert (step.version, step.change_kind, step.decided_by) == (2, "narrow_type", ADA)
    assert [entry.action for entry in catalog.audit.page(pipeline=SHOP)] == [
        "retry",
        "schema-accepted",
        "schema-refused",
    ]


def test_nothing_is_recorded_where_nothing_was_refused(catalog: Catalog) -> None:
    run(catalog, STORED)

    assert accepted(catalog, shape("id", id=INT64, amount=INT64, note=TEXT)) == []
    assert not settle_refusal(catalog, SHOP, ADA, T0)
    assert len(catalog.schemas.log(ORDERS)) == 1


def test_a_pipeline_that_failed_for_something_else_stays_failed(catalog: Catalog) -> None:
    catalog.pipelines.fail(SHOP, Failure(run=None, kind="other", message="x", at=T0, spec_hash=None), T0)

    assert not settle_refusal(catalog, SHOP, ADA, T0)


def test_a_table_without_a_schema_has_nothing_to_decide(catalog: Catalog, other: Catalog) -> None:
    for decide in (
        lambda: accepted(catalog, STORED),
        lambda: migrate_key(catalog, ["id"], pipeline=SHOP, table=ORDERS, by=ADA, now=T0),
        lambda: reconcile_table(catalog, other, table=ORDERS, take=None, by=ADA, now=T0),
    ):
        with pytest.raises(NoSchemaYet, match="table `orders` has no schema in the catalog"):
            decide()


@pytest.mark.spec("HP-073")
def test_another_key_passes_after_its_migration(catalog: Catalog) -> None:
    run(catalog, STORED)
    both = TableShape(schema=STORED.schema, primary_key=("id", "amount"))

    was_refused = not run(catalog, both)
    decided = migrate_key(catalog, both.primary_key, pipeline=SHOP, table=ORDERS, by=ADA, now=T0)
    again = migrate_key(catalog, both.primary_key, pipeline=SHOP, table=ORDERS, by=ADA, now=T0)

    assert was_refused
    assert [str(change) for change in decided.changes] == ["primary key changed from id to id, amount"]
    assert (decided.version, again.version, again.changes) == (2, 2, ())
    assert run(catalog, both)


def test_a_decision_about_an_older_version_is_not_taken(catalog: Catalog) -> None:
    run(catalog, STORED)

    with pytest.raises(SchemaMoved):
        catalog.schemas.record(step_to(STORED, (), table=ORDERS, based_on=0), SHOP, T0)


# What was refused -------------------------------------------------------------------------------------------


def test_what_was_refused_last_is_known(catalog: Catalog) -> None:
    run(catalog, STORED)
    odd = pa.schema([
        pa.field("id", pa.uint16()),
        pa.field("sum", pa.large_string(), metadata={"hakiri.renamed_from": "amount", "x": b"\xff"}),
        pa.field("u", pa.dense_union([pa.field("x", INT32)])),
    ])  # fmt: skip

    before = refused_shape(catalog, SHOP, ORDERS)
    run(catalog, TableShape(schema=odd, primary_key=("id",)))

    assert before is None
    assert refused_shape(catalog, SHOP, ORDERS) == shape("id", id=INT32, sum=was_called("amount", TEXT))
    assert refused_shape(catalog, SHOP, TableName("others")) is None
    assert refused_shape(catalog, PipelineId("other"), ORDERS) is None


def test_the_same_refusal_is_noted_once(catalog: Catalog) -> None:
    run(catalog, STORED)

    for at in range(3):
        run(catalog, shape("id", id=INT32, amount=INT64), T0 + timedelta(hours=at))
    run(catalog, shape("id", id=TEXT, amount=INT64), T0 + timedelta(hours=4))

    assert [entry.action for entry in catalog.audit.page(pipeline=SHOP)] == ["schema-refused"] * 2
    assert refused_shape(catalog, SHOP, ORDERS) == shape("id", id=TEXT, amount=INT64)


def test_a_refusal_is_found_behind_many_other_entries(catalog: Catalog) -> None:
    run(catalog, STORED)
    run(catalog, shape("id", id=INT32, amount=INT64))
    for _ in range(250):
        catalog.audit.note(ADA, "cursor-set", T0, pipeline=SHOP, table=ORDERS)

    assert refused_shape(catalog, SHOP, ORDERS) == shape("id", id=INT32, amount=INT64)


# The log ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-074")
def test_the_log_has_every_decision_in_the_order_of_time(catalog: Catalog) -> None:
    def at(hours: int) -> datetime:
        return T0 + timedelta(hours=hours)

    run(catalog, shape("id", id=INT32, mail=TEXT), at(0))
    run(catalog, shape("id", id=INT64, mail=TEXT, note=TEXT), at(1), PipelineId("archive"))
    run(catalog, shape("id", id=INT64, email=was_called("mail", TEXT), note=TEXT), at(2))
    run(catalog, shape("id", id=INT64, email=INT64, note=TEXT), at(3))
    migrate_key(catalog, ["id", "email"], pipeline=SHOP, table=ORDERS, by=ADA, now=at(4))

    log = schema_log(catalog, SHOP)

    assert [(entry.version, entry.pipeline, entry.decided_by, entry.change_kind) for entry in log] == [
        (1, "shop", "auto", "create"),
        (2, "archive", "auto", "add_column+widen_type"),
        (3, "shop", "auto", "rename"),
        (None, "shop", "auto", "narrow_type"),
        (4, "shop", ADA, "change_key"),
    ]
    assert [[str(change) for change in entry.changes] for entry in log] == [
        ["table created with 2 columns"],
        ["column `id` changed from int32 to int64", "column `note` added as string"],
        ["column `mail` renamed to `email`"],
        ["column `email` changed from string to int64"],
        ["primary key changed from id to id, email"],
    ]
    assert schema_log(catalog, PipelineId("nobody")) == ()
    assert len(schema_log(catalog, PipelineId("nobody"), [ORDERS])) == 4


def test_a_change_of_key_that_was_not_noted_is_told_in_general(catalog: Catalog) -> None:
    run(catalog, STORED)
    step = step_to(STORED, (), table=ORDERS, based_on=1, decided_by=ADA)
    catalog.schemas.record(replace(step, change_kind="change_key"), SHOP, T0)

    assert [str(change) for change in schema_log(catalog, SHOP)[-1].changes] == ["primary key changed"]


# Two catalogs -----------------------------------------------------------------------------------------------


def test_a_schema_takes_over_what_another_catalog_has(catalog: Catalog, other: Catalog) -> None:
    run(catalog, shape("id", id=INT64, amount=INT64, ours=TEXT))
    run(other, shape("id", id=INT64, sum=TEXT))

    decided = reconcile_table(catalog, other, table=ORDERS, take=None, by=ADA, now=T0)
    again = reconcile_table(catalog, other, table=ORDERS, take=None, by=ADA, now=T0)

    assert [str(change) for change in decided.changes] == ["column `sum` added as string"]
    assert (again.changes, again.version) == ((), 2)
    assert schema_log(catalog, SHOP)[-1].decided_by == ADA
    assert len(other.schemas.log(ORDERS)) == 1


def test_a_choice_that_is_needed_is_asked_for(catalog: Catalog, other: Catalog) -> None:
    run(catalog, STORED)
    run(other, TableShape(schema=STORED.schema, primary_key=("amount",)))

    with pytest.raises(SchemasDiverged, match="the primary key is `id` here and `amount` there"):
        reconcile_table(catalog, other, table=ORDERS, take=None, by=ADA, now=T0)
    decided = reconcile_table(catalog, other, table=ORDERS, take=Side.THEIRS, by=ADA, now=T0)

    assert [str(change) for change in decided.changes] == ["primary key changed from id to amount"]
    assert [str(change) for change in schema_log(catalog, SHOP)[-1].changes] == [
        "primary key changed from id to amount"
    ]
