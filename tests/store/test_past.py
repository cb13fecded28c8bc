"""A store at an earlier moment: which moment is meant, and what a reader saw then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.store.test_query_session import folded
from tests.store.test_visible import landed
from tests.store.workshop import ORDERS, PIPELINE, T0, Workshop

from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.core.grammar.text import BadText
from hakiri.core.ids import SnapshotId, TableName
from hakiri.store.errors import BadMoment, NotThere, PastGone
from hakiri.store.known_tables import Contents
from hakiri.store.past import (
    count_rows,
    key_at,
    landed_by,
    moment_of,
    snapshot_at,
    state_at,
    store_at,
    withdrawn,
)
from hakiri.store.query.system_tables import table_facts
from hakiri.store.views import TableState, view_sql

MINUTE = timedelta(minutes=1)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
FIRST, SECOND = SnapshotId("2026-05-11T08-00-00Z-a"), SnapshotId("2026-05-11T08-01-00Z-a")


def rows_of(*numbers: int, name: str = "n") -> list[dict[str, Any]]:
    return [{"id": number, "name": f"{name}{number}"} for number in numbers]


def rows_in(state: TableState) -> list[tuple[Any, ...]]:
    with duckdb.connect() as reader:
        reader.execute(view_sql(state))
        return reader.execute(f"SELECT * FROM {state.table} ORDER BY ALL").fetchall()


def rows_at(workshop: Workshop, at: datetime) -> list[tuple[Any, ...]]:
    return rows_in(state_at(workshop.layout, workshop.catalog, ORDERS, at))


def step(version: int, kind: str) -> SchemaChange:
    return SchemaChange(
        table=ORDERS,
        version=version,
        pipeline=PIPELINE,
        change_kind=kind,
        before=None,
        after="{}",
        decided_by="auto",
        at=T0,
    )


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-11T08:00:00Z", "2026-05-11T08:00Z"),
        ("2026-05-11", "2026-05-11T00:00Z"),
        ("2026-05-11T09:30:00+02:00", "2026-05-11T07:30Z"),
        ("2h", "2026-05-11T06:00Z"),
        ("P1D", "2026-05-10T08:00Z"),
    ],
)
def test_a_moment_is_a_time_or_how_long_ago_it_was(workshop: Workshop, text: str, moment: str) -> None:
    now = datetime(2026, 5, 11, 8, tzinfo=UTC)

    assert moment_of(text, workshop.catalog, now) == datetime.fromisoformat(moment)
    assert moment_of(text, None, now) == datetime.fromisoformat(moment)


def test_a_moment_is_that_at_which_a_snapshot_was_committed(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    folded(workshop, "id", rows=1)

    assert moment_of("2026-05-11T09-00-00Z", workshop.catalog, T0 + MINUTE) == T0


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("yesterday", BadMoment, "neither a time, nor how long ago it was, nor a snapshot"),
        ("", BadMoment, "neither a time"),
        ("2026-05-12", BadMoment, "lies in the future"),
        ("0001-01-01T00:00:00+14:00", BadMoment, "lies before the first year, in UTC"),
        ("2026-05-11T08-00-00Z-x", BadMoment, "no snapshot that the catalog knows"),
        ("2026-13-01", BadText, "a month from 01 to 12"),
        ("2x", BadText, "one of s, m, h"),
    ],
)
def test_what_is_no_moment_is_refused(
    workshop: Workshop, text: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as raised:
        moment_of(text, workshop.catalog, T0)

    assert raised.value.exit_code == 2  # type: ignore[attr-defined]


def test_the_snapshot_of_a_moment_is_the_last_that_was_committed_by_then() -> None:
    commits = [(FIRST, T0), (SECOND, T0 + MINUTE)]

    assert snapshot_at(commits, T0 - MINUTE) is None
    assert snapshot_at(commits, T0) == FIRST
    assert snapshot_at(commits, T0 + MINUTE) == SECOND
    # The clock of whoever committed it was behind.
    assert snapshot_at([(FIRST, T0 + MINUTE), (SECOND, T0)], T0 + MINUTE) == SECOND


def test_what_landed_by_a_moment_is_told_by_its_commit() -> None:
    early, late = landed(1, landed_at=T0), landed(2, landed_at=T0 + MINUTE)

    assert landed_by([early, late], None, T0) == [early]
    assert landed_by([early, late], None, T0 + MINUTE) == [early, late]


def test_the_key_of_an_older_version_is_that_of_chunks_or_of_today() -> None:
    log = [step(1, "create"), step(2, "add_column"), step(3, "add_column+change_key"), step(4, "widen")]

    assert key_at(log, 2, ("b",), {1: ("a",)}) == ("a",)
    assert key_at(log, 1, ("b",), {2: ("a",)}) == ("a",)
    assert key_at(log, 3, ("b",), {1: ("a",)}) == ("b",)
    assert key_at(log, 4, ("b",), {}) == ("b",)


@pytest.mark.spec("HC-043")
@pytest.mark.parametrize("key", [("id",), ()])
def test_any_moment_shows_what_was_seen_then(workshop: Workshop, key: tuple[str, ...]) -> None:
    first = workshop.land(rows_of(1, 2), SCHEMA, *key)
    workshop.now += MINUTE
    workshop.land(rows_of(3), SCHEMA, *key)
    workshop.now += MINUTE
    workshop.catalog.chunks.supersede(PIPELINE, [first], "again", workshop.now)
    workshop.work(rows_of(1, 2, name="again "), SCHEMA, *key)

    assert rows_at(workshop, T0) == [(1, "n1"), (2, "n2")]
    assert rows_at(workshop, T0 + MINUTE) == [(1, "n1"), (2, "n2"), (3, "n3")]
    assert rows_at(workshop, T0 + 2 * MINUTE) == [(1, "again 1"), (2, "again 2"), (3, "n3")]


def test_a_moment_has_the_columns_of_then(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.now += MINUTE
    workshop.land([{"id": 2, "name": "b", "more": 7}], SCHEMA.append(pa.field("more", pa.int64())), "id")

    assert rows_at(workshop, T0) == [(1, "n1")]
    assert rows_at(workshop, T0 + MINUTE) == [(1, "n1", None), (2, "b", 7)]


def test_a_table_was_not_there_before_its_first_rows(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")

    with pytest.raises(NotThere, match="there was no table `orders` at 2026-05-11T07:59:00"):
        rows_at(workshop, T0 - MINUTE)
    with pytest.raises(NotThere):
        state_at(workshop.layout, workshop.catalog, TableName("nothing"), T0)


def test_a_moment_whose_files_are_gone_is_refused_with_the_first_that_can_be_seen(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA, "id")
    workshop.publish()
    (file,) = workshop.layout.root.rglob("part-*.parquet")
    workshop.layout.data_folder(ORDERS).joinpath("x.parquet").write_bytes(file.read_bytes())
    workshop.now += MINUTE
    folded(workshop, "id", rows=1, at=workshop.now)
    file.unlink()

    with pytest.raises(PastGone, match="its files of then were deleted") as raised:
        rows_at(workshop, T0)
    assert raised.value.since == T0 + MINUTE
    assert "since 2026-05-11T08:01:00.123456Z" in raised.value.hint
    found = store_at(workshop.layout, workshop.catalog, T0)
    assert (found.states, list(found.refused)) == ((), ["orders"])
    assert count_rows(state_at(workshop.layout, workshop.catalog, ORDERS, T0 + MINUTE)) == 1


def test_the_list_of_tables_is_that_of_the_moment(workshop: Workshop) -> None:
    workshop.land(rows_of(1), SCHEMA)
    workshop.publish()
    workshop.now += MINUTE
    workshop.land(rows_of(2, 3), SCHEMA)

    (facts,) = table_facts(workshop.layout, workshop.catalog, T0, is_past=True)

    assert (facts.rows, facts.chunks, facts.freshness) == (1, 1, timedelta())
    assert table_facts(workshop.layout, workshop.catalog, T0 - MINUTE, is_past=True) == []


def test_withdrawn_chunks_are_those_that_nothing_was_planned_in_the_place_of() -> None:
    passes = [landed(n, pass_number=n, pass_size=1) for n in (3, 4, 5)]
    found = Contents(
        revision=1,
        snapshot=None,
        landed=(landed(1), passes[1]),
        chunks=(),
        forgotten=(landed(2), landed(6, superseded_by=7), landed(8, unchanged=True), passes[0], passes[2]),
    )

    assert [int(one.chunk) for one in withdrawn(found)] == [2, 5]
