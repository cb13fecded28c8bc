"""Tables whose primary key became another one: the same rows before and after a compaction."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS

from hakiri.compaction.recipes import TableLayout
from hakiri.store.frames import table_frame
from hakiri.store.state import table_state

SMALL = 500  # bytes a range: so little that a snapshot is merged into
BOTH = pytest.mark.parametrize("is_full", [False, True], ids=["as ever", "in full"])


def renamed(name: str, before: str) -> pa.Field:
    return pa.field(name, pa.int64(), metadata={"hakiri.was": f'["{before}"]'})


@pytest.mark.spec("HC-014")
@pytest.mark.spec("HC-030")
@BOTH
def test_a_key_of_the_same_name_over_another_column_is_another_key(bench: Bench, is_full: bool) -> None:
    before = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    bench.land([{"a": 1, "b": 7}, {"a": 2, "b": 7}, {"a": 3, "b": 8}], before, "a")
    bench.compact(bytes_a_range=SMALL)
    after = pa.schema([renamed("a", "b"), renamed("old", "a")])
    bench.workshop.evolve(after, "a")
    bench.workshop.publish()
    seen = bench.rows()

    bench.land([{"a": 9, "old": 9}], after, "a")
    bench.compact(TableLayout(), bytes_a_range=SMALL, is_full=is_full)

    assert seen == [(7, 2), (8, 3)]
    assert bench.rows() == [*seen, (9, 9)]


@pytest.mark.spec("HC-014")
@BOTH
def test_a_delete_is_no_row_of_a_table_that_has_lost_its_key(bench: Bench, is_full: bool) -> None:
    bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    bench.land([{"id": 1, "_op": "delete"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    bench.workshop.evolve(SCHEMA)
    bench.workshop.publish()
    seen = bench.rows()

    bench.compact(is_full=is_full)

    assert seen == [(1, "a"), (2, "b")]
    assert bench.rows() == seen


@pytest.mark.spark
def test_spark_takes_no_delete_for_a_row_either(bench: Bench, spark: Any) -> None:
    bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    bench.land([{"id": 1, "_op": "delete"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    bench.workshop.evolve(SCHEMA)

    state = table_state(bench.workshop.layout, bench.workshop.catalog, ORDERS)

    assert state is not None
    assert sorted(table_frame(spark, state).toArrow().column("id").to_pylist()) == [1, 2]
