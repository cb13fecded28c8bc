"""No view shows the rows of one table under the name of another, whatever tables a store has from before."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest
from tests.store.test_checking import Unwatched, checker
from tests.store.workshop import ORDERS, BadRows, Workshop

from hakiri.core.ids import TableName
from hakiri.manifest.pipeline import QUARANTINE
from hakiri.store.errors import ViewTaken
from hakiri.store.views import quarantine_name

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
ASIDE = TableName("orders__quarantine")
UPPER = TableName("Orders")
ITEMS = TableName("items")


def landed(workshop: Workshop, table: TableName, name: str) -> None:
    workshop.land([{"id": 1, "name": name}], SCHEMA, "id", table=table, bad_rows=BadRows.QUARANTINE)


def refused(workshop: Workshop, table: TableName) -> None:
    workshop.land([{"id": None, "name": "?"}], SCHEMA, "id", table=table, bad_rows=BadRows.QUARANTINE)


def later(workshop: Workshop) -> None:
    workshop.now += timedelta(days=1)


def views(workshop: Workshop) -> list[str]:
    """Those of the store, in the letters that they were made with."""
    found = workshop.query("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1")
    return [name for (name,) in found]


def test_the_manifest_keeps_the_names_free_that_the_views_of_refused_rows_have() -> None:
    assert quarantine_name("orders") == f"orders{QUARANTINE}"


@pytest.mark.parametrize("has_refused", [False, True])
def test_a_table_keeps_its_view_where_another_has_refused_rows_or_none(
    workshop: Workshop, has_refused: bool
) -> None:
    landed(workshop, ASIDE, "mine")
    workshop.publish(ASIDE)

    landed(workshop, ORDERS, "a")
    if has_refused:
        refused(workshop, ORDERS)
    workshop.publish(ORDERS)

    assert workshop.query("SELECT name FROM orders__quarantine") == [("mine",)]
    assert workshop.query("SELECT name FROM orders") == [("a",)]
    assert checker(workshop).check(Unwatched()).is_whole


def test_a_view_that_refused_rows_had_taken_is_given_back(workshop: Workshop) -> None:
    refused(workshop, ORDERS)
    workshop.publish(ORDERS)
    landed(workshop, ASIDE, "mine")

    assert workshop.publisher.publish_anew() == ()

    assert workshop.query("SELECT name FROM orders__quarantine") == [("mine",)]
    assert "orders__quarantine" not in workshop.layout.view_file(ORDERS).read_text()


def test_a_folder_that_no_table_of_the_catalog_has_takes_no_view(workshop: Workshop) -> None:
    workshop.layout.table_folder(ASIDE).mkdir(parents=True)
    workshop.layout.table_folder(UPPER).mkdir(parents=True)
    refused(workshop, ORDERS)

    workshop.publish(ORDERS)

    assert views(workshop) == ["orders", "orders__quarantine"]


def test_of_two_names_that_differ_in_case_the_first_has_the_view_and_the_other_is_told(
    workshop: Workshop,
) -> None:
    landed(workshop, ORDERS, "first")
    later(workshop)
    for table in (UPPER, ITEMS):
        landed(workshop, table, table)
    refused(workshop, UPPER)

    with pytest.raises(ViewTaken) as caught:
        workshop.publish(UPPER, ITEMS, ORDERS)

    assert f"{caught.value}\n{caught.value.hint}" == (
        "the view of table `Orders` cannot be made: it would take the place of that of `orders`, "
        "as views know no case\n"
        'give `Orders` a name of its own with `as = "…"` in the manifest'
    )
    assert views(workshop) == ["items", "orders"]
    assert workshop.query('SELECT name FROM "Orders"') == [("first",)]
    assert workshop.query("SELECT name FROM items") == [("items",)]
    assert workshop.layout.schema_file(UPPER).exists()


def test_a_view_in_the_place_of_another_goes_when_all_is_written_anew(workshop: Workshop) -> None:
    landed(workshop, UPPER, "second")
    workshop.publish(UPPER)
    later(workshop)
    landed(workshop, ORDERS, "first")
    workshop.layout.view_file(ORDERS).write_text("CREATE OR REPLACE VIEW orders AS SELECT 'wrong' AS name;")

    (error,) = workshop.publisher.publish_anew()

    assert isinstance(error, ViewTaken)
    assert (error.table, error.owner) == ("orders", "Orders")
    assert not workshop.layout.view_file(ORDERS).exists()
    assert workshop.query("SELECT name FROM orders") == [("second",)]


def test_a_lost_file_of_views_is_made_anew_without_those_that_another_has(workshop: Workshop) -> None:
    landed(workshop, ORDERS, "first")
    workshop.publish(ORDERS)
    later(workshop)
    landed(workshop, UPPER, "second")
    workshop.layout.view_file(UPPER).write_text("of an older version")
    workshop.layout.duck_db.unlink()
    landed(workshop, ITEMS, "items")

    workshop.publish(ITEMS)

    assert views(workshop) == ["items", "orders"]
    assert workshop.query("SELECT name FROM orders") == [("first",)]


def test_a_check_names_a_table_that_can_have_no_view(workshop: Workshop) -> None:
    landed(workshop, ORDERS, "first")
    workshop.publish(ORDERS)
    later(workshop)
    landed(workshop, UPPER, "second")
    with pytest.raises(ViewTaken):
        workshop.publish(UPPER)

    findings = checker(workshop).drift([ORDERS, UPPER])

    assert [(finding.path, finding.found.partition(": ")[0]) for finding in findings] == [
        ("views/Orders.sql", "it cannot be made")
    ]
