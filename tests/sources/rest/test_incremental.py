"""Reads by a field that grows: from a cursor on, in windows, in any order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.http_api import Call, HttpApi, Reply
from tests.support.paged_api import PagedApi, config_for
from tests.support.rest import connected, rows_of

from hakiri.sources.contract import Batch, Read, Window
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible

FIELD = "updated_at"
BY_TIME = {"field": FIELD, "param": "since", "until_param": "until"}


def moment(second: int) -> str:
    return f"2026-05-11T08:00:{second:02d}Z"


def changed(number: int, second: int) -> dict[str, Any]:
    return {"id": number, FIELD: moment(second)}


@contextmanager
def changes(
    *seconds: int, kind: str = "link", page_records: int = 2, sort: str = "", **incremental: Any
) -> Iterator[tuple[Any, PagedApi]]:
    """A connector, one page a batch, to records that were changed in these seconds."""
    with PagedApi(page_records=page_records) as api:
        api.tables["orders"] = [changed(number, second) for number, second in enumerate(seconds)]
        resource = {
            "name": "orders",
            "columns": {"id": "bigint", FIELD: "string"},
            "infer": False,
            "params": {"sort": sort} if sort else {},
            "incremental": {**BY_TIME, **incremental},
        }
        with connected(config_for(api, kind, resource)) as connector:
            connector.batch_records = 1
            yield connector, api


def read(connector: Any, cursor: Any = None, **more: Any) -> list[Batch]:
    return list(connector.open(Read(table="orders", cursor=cursor, **more)))


def ids(batches: list[Batch]) -> list[int]:
    return [row["id"] for row in rows_of(batches)]


def last_cursor(batches: list[Batch]) -> Any:
    return next((batch.cursor for batch in reversed(batches) if batch.cursor is not None), None)


@pytest.mark.spec("HP-025")
def test_a_read_from_the_start_asks_for_everything_and_one_from_a_cursor_for_the_rest() -> None:
    with changes(1, 2, 3, sort="asc", order="asc") as (connector, api):
        whole = read(connector)
        assert "since" not in api.calls[0].params
        api.calls.clear()
        rest = read(connector, {FIELD: moment(2)})

        assert ids(whole) == [0, 1, 2]
        assert ids(rest) == [1, 2]
        assert api.calls[0].params["since"] == moment(2)


def test_a_second_read_gives_nothing_while_nothing_changes() -> None:
    with changes(1, 2, 2, sort="asc", order="asc") as (connector, _):
        first = read(connector)

        assert last_cursor(first)[FIELD] == moment(2)
        assert read(connector, last_cursor(first)) == []


def test_a_record_that_gets_the_value_of_the_cursor_later_is_read() -> None:
    with changes(1, 2, sort="asc", order="asc") as (connector, api):
        cursor = last_cursor(read(connector))
        api.tables["orders"] += [changed(7, 2)]

        assert ids(read(connector, cursor)) == [7]


def test_a_record_that_changes_and_keeps_its_value_is_read_again() -> None:
    with changes(1, 2, sort="asc", order="asc") as (connector, api):
        cursor = last_cursor(read(connector))
        api.tables["orders"][1]["id"] = 70

        assert ids(read(connector, cursor)) == [70]


def test_records_that_are_equal_are_each_given_once() -> None:
    with changes(1, 2, page_records=1, sort="asc", order="asc") as (connector, api):
        api.tables["orders"] = [changed(1, 2)] * 3
        first = read(connector)
        api.tables["orders"] += [changed(1, 2)]

        assert ids(first) == [1, 1, 1]
        assert ids(read(connector, last_cursor(first))) == [1]


def test_more_records_of_one_value_than_a_cursor_can_hold_are_read_again() -> None:
    with changes(*[5] * 1001, page_records=2000, sort="asc", order="asc") as (connector, _):
        first = read(connector)

        assert last_cursor(first) == {FIELD: moment(5)}
        assert ids(read(connector, last_cursor(first))) == [*range(1001)]


@pytest.mark.spec("HP-027")
@pytest.mark.parametrize("order", ["asc", "desc", None])
@given(
    seconds=st.lists(st.integers(0, 6), max_size=12),
    page_records=st.integers(1, 4),
    taken=st.integers(1, 13),
    more=st.lists(st.integers(0, 9), max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_a_read_that_goes_on_after_any_batch_gives_each_record_once(
    order: str | None, seconds: list[int], page_records: int, taken: int, more: list[int]
) -> None:
    sort, told = (order, {"order": order}) if order else ("", {})
    with changes(*seconds, sort=sort, page_records=page_records, **told) as (connector, api):
        begun = read(connector)[:taken]
        rest = read(connector, last_cursor(begun))
        assert sorted(ids(begun) + ids(rest)) == [*range(len(seconds))]

        cursor = last_cursor(rest) or last_cursor(begun)
        latest = max(seconds, default=0)
        api.tables["orders"] += [changed(100 + n, latest + plus) for n, plus in enumerate(more)]
        assert sorted(ids(read(connector, cursor))) == [100 + n for n in range(len(more))]


@pytest.mark.parametrize(("sort", "order"), [("asc", "asc"), ("desc", "desc"), ("", None)])
@pytest.mark.parametrize("has_until", [True, False])
def test_windows_hold_every_record_once(sort: str, order: str | None, has_until: bool) -> None:
    told: dict[str, Any] = {"order": order} if order else {}
    if not has_until:
        told["until_param"] = None
    seconds = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    with changes(*seconds, sort=sort, **told) as (connector, api):
        cuts = [None, moment(2), moment(3), moment(5), moment(9), None]
        found = []
        for since, until in pairwise(cuts):
            api.calls.clear()
            found += ids(read(connector, window=Window(field=FIELD, since=since, until=until)))
            assert api.calls[0].params.get("since") == since
            assert api.calls[0].params.get("until") == (until if has_until else None)

    assert sorted(found) == [*range(len(seconds))]


def test_a_window_goes_on_after_a_cursor_in_it() -> None:
    with changes(*range(10), sort="asc", order="asc") as (connector, _):
        window = Window(field=FIELD, since=moment(2), until=moment(8))
        begun = read(connector, window=window)[:2]

        rest = read(connector, last_cursor(begun), window=window)

        assert ids(begun) + ids(rest) == [2, 3, 4, 5, 6, 7]


def test_records_without_a_value_belong_to_the_window_that_says_so() -> None:
    records = [changed(0, 1), changed(1, 2), {"id": 9, FIELD: None}]
    with HttpApi(lambda call: Reply(body=records)) as api:
        wanted = {"base_url": api.url, "resources": [{"name": "orders", "incremental": {"field": FIELD}}]}
        with connected(wanted) as connector:
            first = read(connector, window=Window(field=FIELD, until=moment(2), has_nulls=True))
            second = read(connector, window=Window(field=FIELD, since=moment(2)))
            everything = read(connector)

    assert (ids(first), ids(second), ids(everything)) == ([0, 9], [1], [0, 1, 9])


@pytest.mark.parametrize(
    ("form", "cursor", "until", "asked"),
    [
        ("iso", moment(2), moment(5), ("2026-05-11T08:00:02Z", "2026-05-11T08:00:05Z")),
        ("iso", "2026-05-11T10:00:00.5+02:00", moment(5), ("2026-05-11T08:00:00.500000Z", moment(5))),
        ("date", moment(2), moment(5), ("2026-05-11", "2026-05-12")),
        ("date", "2026-05-11", "2026-05-12", ("2026-05-11", "2026-05-12")),
        ("unix", moment(2), "2026-05-11T08:00:04.2Z", ("1778486402", "1778486405")),
        ("unix", 1778486402, 1778486405, ("1778486402", "1778486405")),
        ("unix_ms", moment(2), moment(5), ("1778486402000", "1778486405000")),
        ("number", 5, 9, ("5", "9")),
    ],
)
def test_the_api_is_asked_in_its_own_format(
    form: str, cursor: Any, until: Any, asked: tuple[str, str]
) -> None:
    with HttpApi(lambda call: Reply(body=[])) as api:
        resource = {"name": "orders", "infer": False, "incremental": {**BY_TIME, "format": form}}
        with connected({"base_url": api.url, "resources": [resource]}) as connector:
            read(connector, {FIELD: cursor}, window=Window(field=FIELD, until=until))

    assert (api.calls[0].params["since"], api.calls[0].params["until"]) == asked


@pytest.mark.parametrize(
    ("form", "values"), [("number", [3, 5, 5, 8]), ("unix", [1778486403, 1778486405, 1778486405, 1778486408])]
)
def test_numbers_grow_too(form: str, values: list[int]) -> None:
    def answered(call: Call) -> Reply:
        since = int(call.params.get("since", 0))
        return Reply(body=[{"id": n, "seq": value} for n, value in enumerate(values) if value >= since])

    incremental = {"field": "seq", "param": "since", "format": form, "order": "asc"}
    with HttpApi(answered) as api:
        wanted = {"base_url": api.url, "resources": [{"name": "orders", "incremental": incremental}]}
        with connected(wanted) as connector:
            first = read(connector)
            values.append(values[-1] + 1)

            assert last_cursor(first)["seq"] == values[-2]
            assert ids(read(connector, last_cursor(first))) == [4]
            assert ids(read(connector, {"seq": values[1]})) == [1, 2, 3, 4]


def test_a_first_read_begins_where_the_config_says() -> None:
    with changes(1, 2, 3, initial=moment(2)) as (connector, api):
        assert ids(read(connector)) == [1, 2]
        assert api.calls[0].params["since"] == moment(2)
        assert ids(read(connector, window=Window(field=FIELD, since=None, until=moment(3)))) == [1]
        assert connector.extent("orders", FIELD).lowest == moment(2)


def test_a_lookback_finds_what_came_late_and_gives_nothing_twice() -> None:
    with changes(1, 5, 9, sort="asc", order="asc", lookback="6s") as (connector, api):
        cursor = last_cursor(read(connector))
        api.tables["orders"] += [changed(7, 4), changed(8, 2)]
        api.calls.clear()

        assert ids(read(connector, cursor)) == [7]
        assert api.calls[0].params["since"] == moment(3)


def test_an_interrupted_read_in_any_order_goes_on_at_its_page() -> None:
    with changes(5, 1, 4, 2, 3) as (connector, api):
        begun = read(connector, {FIELD: moment(1)})[:1]
        api.calls.clear()
        rest = read(connector, begun[-1].cursor)

        assert begun[-1].cursor[FIELD] == moment(1)
        assert begun[-1].cursor["_reading"]["next"]["url"].endswith("from=2")
        assert ids(begun) + ids(rest) == [0, 1, 2, 3, 4]
        assert len(api.calls) == 2
        assert last_cursor(rest)[FIELD] == moment(5)


def test_what_changes_while_it_is_read_in_any_order_is_read_by_the_next() -> None:
    def answered(call: Call) -> Reply:
        if call.params:
            return Reply(body=[changed(1, 45)], headers={"date": "Mon, 11 May 2026 08:00:46 GMT"})
        link = f'<{api.url}/orders?page=2>; rel="next"'
        return Reply(body=[changed(0, 10)], headers={"link": link, "date": "Mon, 11 May 2026 08:00:30 GMT"})

    with HttpApi(answered) as api:
        wanted = {"base_url": api.url, "resources": [{"name": "orders", "incremental": BY_TIME}]}
        with connected(wanted) as connector:
            first = read(connector)

    # A record of the first page may have changed too, between its first page and its second.
    assert ids(first) == [0, 1]
    assert last_cursor(first)[FIELD] == moment(30)


def test_a_listing_from_the_newest_on_ends_where_it_is_known() -> None:
    with changes(*range(10), sort="desc", order="desc", param=None, until_param=None) as (connector, api):
        cursor = last_cursor(read(connector))
        api.tables["orders"] += [changed(20, 12)]
        api.calls.clear()

        assert ids(read(connector, cursor)) == [20]
        assert len(api.calls) == 2
        assert all(call.params.keys() <= {"sort", "from"} for call in api.calls)


def test_with_keyset_a_record_that_moves_to_the_end_takes_no_other_with_it() -> None:
    with changes(*range(6), sort="asc", order="asc", keyset=True) as (connector, api):
        first_pages = []

        def moving(call: Call) -> Reply:
            reply = api._answered(call)
            first_pages.append(call)
            if len(first_pages) == 1:
                api.tables["orders"][0] = changed(0, 50)
            return reply

        api.answer = moving
        found = ids(read(connector))

    assert sorted(set(found)) == [0, 1, 2, 3, 4, 5]
    assert found == [0, 1, 2, 3, 4, 5, 0]
    assert all("from" not in call.params for call in first_pages)


def test_with_keyset_a_whole_page_of_one_value_is_turned_by_its_link() -> None:
    with changes(*[3] * 5, 4, 5, sort="asc", order="asc", keyset=True) as (connector, _):
        assert ids(read(connector)) == [0, 1, 2, 3, 4, 5, 6]


def test_records_in_another_order_than_the_config_says_are_refused() -> None:
    with changes(5, 1, order="asc") as (connector, _), pytest.raises(PermanentFailure) as refused:
        read(connector)

    assert str(refused.value) == "the records of `orders` do not come in the order of `updated_at`"
    assert refused.value.hint == (
        "ask the API for that order in `params`, or remove `order`, and read the table anew"
    )


def test_a_value_that_is_no_moment_is_told_and_not_shown() -> None:
    with changes(1) as (connector, api):
        api.tables["orders"] += [{"id": 5, FIELD: "tomorrow"}]
        with pytest.raises(SchemaIncompatible) as refused:
            read(connector)

    assert str(refused.value) == (
        "a record of `orders` has a `updated_at` that does not fit the format `iso`"
    )


def test_a_cursor_that_does_not_fit_is_refused() -> None:
    with changes(1) as (connector, _), pytest.raises(PermanentFailure) as refused:
        read(connector, {FIELD: 17})

    assert str(refused.value) == "the cursor of `updated_at` does not fit the format `iso`"


@pytest.mark.parametrize(
    "asked", [{"incremental": "created_at"}, {"window": Window(field="created_at", since=moment(1))}]
)
def test_a_read_by_another_field_is_refused(asked: dict[str, Any]) -> None:
    with changes(1) as (connector, _), pytest.raises(PermanentFailure) as refused:
        read(connector, **asked)

    assert str(refused.value) == "`orders` cannot be read by `created_at`"
    assert refused.value.hint == "it is read by `updated_at`"


def test_a_field_inside_of_another_grows_too() -> None:
    def answered(call: Call) -> Reply:
        records = [{"id": n, "meta": {"at": moment(n)}} for n in range(3)]
        return Reply(
            body=[record for record in records if record["meta"]["at"] >= call.params.get("since", "")]
        )

    incremental = {"field": "meta.at", "param": "since", "order": "asc"}
    with HttpApi(answered) as api:
        wanted = {"base_url": api.url, "resources": [{"name": "orders", "incremental": incremental}]}
        with connected(wanted) as connector:
            first = read(connector)

            assert last_cursor(first)["meta.at"] == moment(2)
            assert ids(read(connector, {"meta.at": moment(1)})) == [1, 2]
            assert connector.discover()[0].cursor_fields == ()
