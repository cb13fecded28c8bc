"""What is known of a resource before it is read, and how its records become rows."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.support.http_api import Call, HttpApi, Reply
from tests.support.paged_api import PagedApi, config_for
from tests.support.rest import connected, read_all, rows_of

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.sources.contract import Extent, Hint, Read
from hakiri.sources.errors import PermanentFailure

STRING = pa.string()


def table_of(records: Any, **resource: Any) -> Any:
    """The table of a resource with these records on its only page."""
    with HttpApi(lambda call: Reply(body=records)) as api:
        wanted = {"base_url": api.url, "resources": [{"name": "orders", **resource}]}
        with connected(wanted) as connector:
            return connector.discover()[0]


def types_of(table: Any) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in table.schema}


@pytest.mark.spec("HP-024")
def test_a_sample_tells_columns_and_the_config_keys() -> None:
    table = table_of(
        [{"id": 1, "user": {"login": "ada"}, "tags": ["a"]}],
        primary_key=["id"],
        incremental={"field": "changed"},
        columns={"total": "decimal(12,2)", "changed": "timestamp"},
    )

    assert types_of(table) == {
        "id": pa.int64(),
        "user": pa.struct([("login", STRING)]),
        "tags": pa.list_(STRING),
        "total": pa.decimal128(12, 2),
        "changed": pa.timestamp("us", tz="UTC"),
        "_extra": STRING,
    }
    assert (table.name, table.primary_key, table.cursor_fields) == ("orders", ("id",), ("changed",))
    assert table.is_open


def test_several_pages_are_looked_at_and_not_all() -> None:
    with PagedApi(page_records=1) as api:
        api.tables["orders"] = [{f"c{number}": 1} for number in range(9)]
        with connected(config_for(api, "link", "orders")) as connector:
            table = connector.discover()[0]

        assert table.schema.names == ["c0", "c1", "c2", "c3", "c4", "_extra"]
        assert len(api.calls) == 5


def test_tables_are_looked_at_once_and_only_those_that_are_asked_for() -> None:
    with PagedApi() as api:
        api.tables = {"orders": [{"id": 1}], "items": [{"id": 2}]}
        with connected(config_for(api, "link", "orders", "items")) as connector:
            connector.discover(["items"])
            connector.discover(["items"])
            list(connector.open(Read(table="items")))

        assert api.paths() == ["/link/items", "/link/items"]


def test_without_a_sample_nothing_is_asked_for() -> None:
    with HttpApi() as api:
        resource = {"name": "orders", "infer": False, "columns": {"id": "bigint"}, "primary_key": ["id"]}
        with connected({"base_url": api.url, "resources": [resource]}) as connector:
            table = connector.discover()[0]
            hint = connector.backfill_hint("orders")

        assert types_of(table) == {"id": pa.int64(), "_extra": STRING}
        assert hint == Hint()
        assert api.calls == []


def test_a_resource_without_records_has_what_a_table_cannot_do_without() -> None:
    table = table_of([], primary_key=["id"], columns={"total": "double"}, incremental={"field": "at"})

    assert types_of(table) == {"total": pa.float64(), "id": STRING, "at": STRING, "_extra": STRING}


def test_a_primary_key_that_no_record_has_is_refused() -> None:
    with pytest.raises(PermanentFailure) as refused:
        table_of([{"order_id": 1}], primary_key=["orderid"])

    assert str(refused.value) == "the records of `orders` have no `orderid`, which is in its primary key"
    assert refused.value.hint == "did you mean `order_id`?"


def test_a_table_that_is_not_there_is_refused_with_the_nearest() -> None:
    wanted = {"base_url": "http://127.0.0.1:1", "resources": ["orders"]}
    with connected(wanted) as connector, pytest.raises(PermanentFailure) as refused:
        connector.discover(["order"])

    assert str(refused.value) == "the source has no table `order`"
    assert refused.value.hint == "did you mean `orders`?"


@pytest.mark.parametrize(
    ("mixed", "kind", "value", "extra"),
    [
        ("widen", pa.float64(), 1.5, None),
        ("string", STRING, "1.5", None),
        ("quarantine", pa.int64(), None, {"a": 1.5}),
    ],
)
def test_mixed_types_are_settled_by_the_rule_that_is_chosen(
    mixed: str, kind: pa.DataType, value: Any, extra: Any
) -> None:
    with HttpApi(lambda call: Reply(body=[{"a": 1}, {"a": 1.5}])) as api:
        wanted = {"base_url": api.url, "resources": [{"name": "orders", "mixed": mixed}]}
        with connected(wanted) as connector:
            table = connector.discover()[0]
            rows = rows_of(connector.open(Read(table="orders")))

    assert types_of(table)["a"] == kind
    assert rows[1]["a"] == value
    assert (rows[1]["_extra"] and json.loads(rows[1]["_extra"])) == extra


def test_records_that_do_not_fit_are_rejects_of_a_read_that_sets_them_aside() -> None:
    with HttpApi(lambda call: Reply(body=[{"a": 1}, {"a": "n/a", "b": 2}, {"a": 3, "new": True}])) as api:
        wanted = {"base_url": api.url, "resources": [{"name": "orders", "columns": {"a": "bigint"}}]}
        schema = pa.schema([("a", pa.int64()), ("_extra", STRING)])
        with connected(wanted) as connector:
            (batch,) = connector.open(Read(table="orders", schema=schema, sets_aside=True))

    assert batch.rows.to_pylist() == [{"a": 1, "_extra": None}, {"a": 3, "_extra": '{"new":true}'}]
    assert [(reject.reason, reject.row) for reject in batch.rejects] == [
        ("`a` has `n/a`, which is no int64", '{"a":"n/a","b":2}')
    ]


def test_what_the_sample_did_not_show_is_kept_aside() -> None:
    with PagedApi(page_records=1) as api:
        api.tables["orders"] = [{"id": n, "u": {"a": 1}} for n in range(5)] + [
            {"id": "six", "u": {"a": 1, "b": [2]}, "new": True}
        ]
        rows = read_all(config_for(api, "link", "orders"), "orders")

    assert rows[0] == {"id": 0, "u": {"a": 1}, "_extra": None}
    assert rows[5]["id"] is None
    assert json.loads(rows[5]["_extra"]) == {"id": "six", "u.b": [2], "new": True}


def test_a_reader_gets_the_columns_that_it_asks_for() -> None:
    wanted = pa.schema([("id", STRING), ("later", pa.int64()), ("_extra", STRING)])
    with HttpApi(lambda call: Reply(body=[{"id": 1, "gone": 2}])) as api:
        rows = read_all({"base_url": api.url, "resources": ["orders"]}, "orders", schema=wanted)

    assert rows == [{"id": "1", "later": None, "_extra": '{"gone":2}'}]


def test_a_decimal_column_keeps_every_digit() -> None:
    body = b'[{"id": 1, "total": 12345678901234567.89}]'
    with HttpApi(lambda call: Reply(body=body)) as api:
        resource = {"name": "orders", "columns": {"total": "decimal(20,2)"}}
        rows = read_all({"base_url": api.url, "resources": [resource]}, "orders")

    assert rows[0]["total"] == Decimal("12345678901234567.89")


def test_records_that_have_a_certain_field_are_left_out() -> None:
    records = [{"id": 1}, {"id": 2, "deleted": {"at": "now"}}, {"id": 3, "deleted": None}]
    with HttpApi(lambda call: Reply(body=records)) as api:
        resource = {"name": "orders", "without": "deleted.at"}
        rows = read_all({"base_url": api.url, "resources": [resource]}, "orders")

    assert [row["id"] for row in rows] == [1, 3]


def hint_of(headers: dict[str, str] | None = None, *, rate_limit: str | None = None, **resource: Any) -> Hint:
    with HttpApi(lambda call: Reply(body=[{"id": 1}], headers=headers or {})) as api:
        more = {} if rate_limit is None else {"rate_limit": rate_limit}
        wanted = {"base_url": api.url, "resources": [{"name": "orders", **resource}], **more}
        with connected(wanted) as connector:
            found: Hint = connector.backfill_hint("orders")
            return found


@pytest.mark.spec("HP-111")
def test_the_hint_says_how_a_resource_may_be_cut() -> None:
    by_time = {"field": "at", "param": "since"}

    assert hint_of() == Hint(cursor_kind=CursorKind.OPAQUE_TOKEN)
    assert hint_of(incremental={**by_time, "window": "7d"}) == Hint(
        cursor_kind=CursorKind.MONOTONIC, cursor_field="at", natural_window=Duration.parse("7d")
    )
    assert hint_of(incremental=by_time, path="{shop}/orders", partitions={"shop": ["a", "b"]}) == Hint(
        cursor_kind=CursorKind.PARTITIONED_MONOTONIC, cursor_field="at", partition_keys=("shop",)
    )
    assert hint_of(incremental={**by_time, "field": "meta.at"}) == Hint(cursor_kind=CursorKind.OPAQUE_TOKEN)


@pytest.mark.parametrize(
    ("headers", "rate"),
    [
        ({"ratelimit-policy": "100;w=60"}, "100/60s"),
        ({"ratelimit-policy": '"default";q=50;w=10'}, "50/10s"),
        ({"ratelimit-limit": "10, 10;w=1, 1000;w=3600"}, "10/1s"),
        ({"x-ratelimit-limit": "5000"}, None),
        ({"ratelimit-policy": "0;w=0"}, None),
    ],
)
def test_an_api_that_tells_its_rate_is_believed(headers: dict[str, str], rate: str | None) -> None:
    assert hint_of(headers).rate_budget == (None if rate is None else Rate.parse(rate))


def test_a_rate_in_the_config_comes_first() -> None:
    assert hint_of({"ratelimit-policy": "100;w=60"}, rate_limit="5/s").rate_budget == Rate.parse("5/s")


def test_the_first_page_in_its_order_tells_where_a_field_begins() -> None:
    def answered(call: Call) -> Reply:
        return Reply(body=[{"at": "2026-05-11T08:00:00+02:00"}, {"at": "2026-05-11T07:00:00Z"}])

    incremental = {"field": "at", "param": "since", "order": "asc"}
    with HttpApi(answered) as api:
        resources = [
            {"name": "orders", "incremental": incremental},
            {"name": "items", "incremental": {"field": "at"}},
        ]
        with connected({"base_url": api.url, "resources": resources}) as connector:
            assert connector.extent("orders", "at") == Extent(lowest="2026-05-11T08:00:00+02:00")
            assert connector.extent("orders", "id") == Extent()
            assert connector.extent("items", "at") == Extent()
