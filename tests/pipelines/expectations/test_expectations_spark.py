"""Expectations over rows in Spark: one pass, column expressions only, the same as a reference in Python."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.pipelines.expectations.making import COLUMNS, compiled, expected

from hakiri.manifest import ExpectationSpec, Moment
from hakiri.pipelines.expectations import (
    BadExpectations,
    ExpectationFailed,
    Expectations,
    duplicates,
    repeated_rows,
    repeats_in,
)
from hakiri.sources.bridge.schemas import spark_schema

pytestmark = pytest.mark.spark

WITH_OP = COLUMNS.append(pa.field("_op", pa.string()))
ATTEMPT = pa.schema({"id": pa.int64(), "email": pa.string(), "_op": pa.string(), "_position": pa.int64()})


def frame(spark: Any, rows: list[dict[str, Any]], schema: pa.Schema = COLUMNS) -> Any:
    if not rows:
        return spark.createDataFrame([], spark_schema(schema, "orders"))
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


def reasons(
    spark: Any, expectations: Expectations, rows: list[dict[str, Any]], schema: pa.Schema
) -> list[Any]:
    marked = expectations.marked(frame(spark, rows, schema)).toArrow()
    assert marked.column_names == [*schema.names, "_reason"]
    return marked["_reason"].to_pylist()


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc,arg-type]


# An expectation, its column, values that are fine and values that are not.
CASES: list[tuple[dict[str, Any], str, list[Any], list[Any]]] = [
    ({"column": "email", "not_null": True}, "email", ["", "x"], [None]),
    ({"column": "a.b`c", "not_null": True}, "a.b`c", [0], [None]),
    (
        {"column": "state", "in": ["open", "it's"]},
        "state",
        ["open", "it's", None],
        ["Open", "", "closed"],
    ),
    ({"column": "id", "in": [1, 2.0, 2**62]}, "id", [1, 2, 2**62, None], [0, 2**62 + 1]),
    ({"column": "price", "in": [0.1, 5]}, "price", [0.1, 5.0, None], [0.2, math.nan]),
    ({"column": "weight", "in": [0.1]}, "weight", [0.1, None], [0.2]),
    ({"column": "amount", "in": [0.1, 7]}, "amount", [Decimal("0.10"), Decimal(7)], [Decimal("0.11")]),
    ({"column": "is_paid", "in": [True]}, "is_paid", [True, None], [False]),
    ({"column": "day", "in": ["2020-02-29"]}, "day", [dt.date(2020, 2, 29)], [dt.date(2020, 3, 1)]),
    (
        {"column": "at", "in": ["2020-01-01T12:00:00+02:00"]},
        "at",
        [utc(2020, 1, 1, 10), None],
        [utc(2020, 1, 1, 12)],
    ),
    (
        {"column": "local", "in": ["2020-01-01T12:00:00Z"]},
        "local",
        [dt.datetime(2020, 1, 1, 12)],  # noqa: DTZ001 - a column without a zone
        [dt.datetime(2020, 1, 1, 13)],  # noqa: DTZ001
    ),
    ({"column": "id", "range": {"min": 0, "max": 10}}, "id", [0, 10, None], [-1, 11]),
    ({"column": "id", "range": {"min": 0.5, "max": 2.5}}, "id", [1, 2], [0, 3]),
    ({"column": "id", "range": {"max": 1e300}}, "id", [2**63 - 1, -(2**63)], []),
    ({"column": "id", "range": {"min": -1e300}}, "id", [2**63 - 1, -(2**63)], []),
    (
        {"column": "id", "range": {"max": 9007199254740992}},
        "id",
        [9007199254740992],
        [9007199254740993],
    ),
    ({"column": "price", "range": {"min": 0}}, "price", [0.0, -0.0, math.inf, None], [-1e-9, math.nan]),
    ({"column": "price", "range": {"max": 0.1}}, "price", [0.1, -math.inf], [0.1000001, math.nan]),
    ({"column": "weight", "range": {"max": 0.1}}, "weight", [0.1], [0.11]),
    ({"column": "amount", "range": {"min": 0.1}}, "amount", [Decimal("0.10")], [Decimal("0.09")]),
    ({"column": "amount", "range": {"max": 1e300}}, "amount", [Decimal("99999999.99")], []),
    (
        {"column": "day", "range": {"min": "2020-01-01", "max": "2020-12-31T23:59:59Z"}},
        "day",
        [dt.date(2020, 1, 1), dt.date(2020, 12, 31), None],
        [dt.date(2019, 12, 31), dt.date(2021, 1, 1)],
    ),
    (
        {"column": "day", "range": {"min": "2020-01-01T00:00:01Z", "max": "2020-01-03"}},
        "day",
        [dt.date(2020, 1, 2), dt.date(2020, 1, 3)],
        [dt.date(2020, 1, 1), dt.date(2020, 1, 4)],
    ),
    (
        {"column": "at", "range": {"min": "2020-01-01T00:00:00+01:00"}},
        "at",
        [utc(2019, 12, 31, 23), utc(2020, 1, 1)],
        [utc(2019, 12, 31, 22, 59, 59, 999999)],
    ),
    (
        {"column": "local", "range": {"max": "2020-01-01"}},
        "local",
        [dt.datetime(2020, 1, 1)],  # noqa: DTZ001
        [dt.datetime(2020, 1, 1, 0, 0, 0, 1)],  # noqa: DTZ001
    ),
    ({"predicate": "price >= 0"}, "price", [0.0, None], [-1.0]),
    ({"predicate": "coalesce(price, -1) >= 0"}, "price", [0.0], [None, -1.0]),
    ({"predicate": "exists(tags, tag -> tag = 'x')"}, "tags", [["a", "x"], None], [["a"], []]),
    ({"predicate": "address.city = 'Berlin'"}, "address", [{"city": "Berlin"}, None], [{"city": "Bonn"}]),
    ({"predicate": "is_paid"}, "is_paid", [True, None], [False]),
    ({"predicate": "`a.b``c` % 2 = 0"}, "a.b`c", [2], [3]),
]


def test_every_value_is_told_fine_or_not(spark: Any) -> None:
    """All in one job, since each of them alone would take most of a second."""
    from pyspark.sql import functions as F

    frames = []
    for number, (expectation, column, good, bad) in enumerate(CASES):
        made = compiled({**expectation, "on_fail": "quarantine"})
        marked = made.marked(frame(spark, [{column: value} for value in (*good, *bad)]))
        frames.append(marked.select(F.lit(number).alias("case"), F.col("_reason").isNull().alias("is_fine")))

    told: list[list[bool]] = [[] for _ in CASES]
    for row in reduce(lambda one, other: one.unionAll(other), frames).collect():
        told[row["case"]].append(row["is_fine"])

    wrong = [
        (case, answers)
        for case, answers in zip(CASES, told, strict=True)
        if answers != [True] * len(case[2]) + [False] * len(case[3])
    ]
    assert wrong == []


def test_the_reason_is_the_first_that_says_quarantine_in_words(spark: Any) -> None:
    made = compiled(
        {"column": "email", "not_null": True},
        {"column": "price", "range": {"min": 0, "max": 1000}, "on_fail": "quarantine"},
        {"predicate": "state <> 'bad'", "on_fail": "quarantine"},
        {"column": "id", "in": [1], "on_fail": "warn"},
    )
    rows = [
        {"id": 1, "email": "x", "price": 5.0, "state": "good"},
        {"id": 2, "email": None, "price": -5.0, "state": "bad"},
        {"id": 3, "email": None, "price": None, "state": "bad"},
        {"id": 4, "email": None, "price": 1001.0, "state": None},
        {"id": 5, "email": None, "price": None, "state": None},
    ]

    assert reasons(spark, made, rows, COLUMNS) == [
        None,
        "expected `price` between 0 and 1000",
        "expected `state <> 'bad'`",
        "expected `price` between 0 and 1000",
        None,
    ]


def counted(spark: Any, expectations: Expectations, rows: Any) -> tuple[dict[str, int], pa.Table]:
    from pyspark.sql.connect.observation import Observation

    seen = Observation("expectations")
    table = expectations.counted(expectations.marked(rows), seen).toArrow()
    return expectations.violations(seen), table


def test_rows_are_counted_while_they_pass_and_those_in_quarantine_once(spark: Any) -> None:
    made = compiled(
        {"column": "email", "not_null": True},
        {"column": "price", "range": {"min": 0}, "on_fail": "quarantine"},
        {"column": "state", "in": ["open"], "on_fail": "quarantine"},
        {"column": "id", "range": {"max": 3}, "on_fail": "warn"},
        {"column": "id", "unique": True},
    )
    rows = [
        {"id": 1, "email": "x", "price": 1.0, "state": "open"},
        {"id": 2, "email": None, "price": 1.0, "state": "open"},
        {"id": 3, "email": None, "price": -1.0, "state": "closed"},
        {"id": 4, "email": "y", "price": 1.0, "state": "closed"},
        {"id": 5, "email": None, "price": 1.0, "state": "open"},
    ]

    counts, table = counted(spark, made, frame(spark, rows))

    assert counts == {"email_not_null": 2, "price_range": 1, "state_in": 1, "id_range": 1}
    assert table["_reason"].null_count == 3
    assert sum(counts[name] for name in ("price_range", "state_in")) == 2
    with pytest.raises(ExpectationFailed, match=r"`email_not_null` in 2 rows"):
        made.require(counts)


def test_no_rows_break_nothing(spark: Any) -> None:
    made = compiled({"column": "email", "not_null": True}, {"column": "id", "unique": True})

    counts, table = counted(spark, made, frame(spark, []))

    assert (counts, table.num_rows) == ({"email_not_null": 0}, 0)


def test_nothing_is_expected_of_deletes(spark: Any) -> None:
    made = compiled(
        {"column": "email", "not_null": True},
        {"predicate": "coalesce(price, 0) > 0", "on_fail": "quarantine"},
        rows=WITH_OP,
    )
    rows = [
        {"id": 1, "_op": "delete"},
        {"id": 2, "_op": "upsert", "price": 1.0},
        {"id": 3, "_op": None, "price": 1.0},
        {"id": 4, "_op": "upsert"},
    ]

    counts, table = counted(spark, made, frame(spark, rows, WITH_OP))

    assert counts == {"email_not_null": 2, "predicate": 1}
    assert [reason is None for reason in table["_reason"].to_pylist()] == [True, True, True, False]


def test_a_column_that_the_rows_lack_is_null_in_all_of_them(spark: Any) -> None:
    rows = pa.schema({"id": pa.int64()})
    made = compiled(
        {"column": "email", "not_null": True},
        {"predicate": "price > 0 or id = 1", "on_fail": "quarantine"},
        {"predicate": "notes is null and tags is null", "name": "nothing-else"},
        rows=rows,
        stored=COLUMNS,
    )

    counts, table = counted(spark, made, frame(spark, [{"id": 1}, {"id": 2}], rows))

    assert table.column_names == ["id", "_reason"]
    assert counts == {"email_not_null": 2, "predicate": 0, "nothing-else": 0}


def test_the_source_is_read_once_and_nothing_stands_between_but_projections(spark: Any) -> None:
    from pyspark.sql.connect.observation import Observation

    made = compiled(
        {"column": "email", "not_null": True},
        {"predicate": "price > 0", "on_fail": "quarantine"},
        {"column": "state", "in": ["a"], "on_fail": "warn"},
    )

    plan = made.counted(made.marked(frame(spark, [{"id": 1}])), Observation("once"))._explain_string()

    physical = plan.partition("== Physical Plan ==")[2]
    assert physical.count("Scan") == 1
    assert not [word for word in ("Exchange", "Sort", "Python", "Aggregate") if word in physical]


@pytest.mark.parametrize(
    ("predicate", "words"),
    [
        ("size(tags)", "[DATATYPE_MISMATCH"),
        ("1 / price > 0", "`odd`: Spark stops at a row with DIVIDE_BY_ZERO"),
        ("cast(state as int) > 0", "`odd`: Spark stops at a row with CAST_INVALID_INPUT"),
    ],
)
def test_a_predicate_that_spark_cannot_tell_is_named(spark: Any, predicate: str, words: str) -> None:
    from pyspark.errors import PySparkException

    made = compiled({"column": "id", "not_null": True}, {"predicate": predicate, "name": "odd"})

    with pytest.raises(PySparkException) as caught:
        counted(spark, made, frame(spark, [{"id": 1, "price": 0.0, "state": "a secret"}]))
    told = made.explain(caught.value)

    assert isinstance(told, BadExpectations)
    assert [trouble.name for trouble in told.troubles] == ["odd"]
    assert words in str(told)
    assert "secret" not in str(told)
    assert "\n" not in str(told)


def test_an_error_of_something_else_is_not_told_as_one_of_an_expectation(spark: Any) -> None:
    from pyspark.errors import PySparkException

    made = compiled({"predicate": "id > 0"})

    with pytest.raises(PySparkException) as caught:
        frame(spark, [{"id": 1}]).selectExpr("id / 0").collect()

    assert made.explain(caught.value) is None


def attempt(*rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [
        {"id": key, "email": email, "_op": op, "_position": position} for key, email, op, position in rows
    ]


ROWS = attempt(
    (1, "a", "upsert", 1 << 40),
    (2, "b", "upsert", 2),
    (3, "a", "upsert", 3),
    (4, None, "upsert", 4),
    (5, None, "upsert", 5),
    (6, "a", "delete", 0),
    (7, "b", "upsert", 7),
    (2, "c", "upsert", 8),
)


@pytest.mark.parametrize(
    ("column", "primary_key", "positions"),
    [
        # `a` at 3 comes before the `a` of another part; deletes and NULLs do not count.
        ("email", (), [7, 1 << 40]),
        # Row 2 was changed to `c`, so that the `b` of row 7 is the only one.
        ("email", ("id",), [1 << 40]),
        # The key itself: every row counts.
        ("id", ("id",), [8]),
        ("id", (), [8]),
        ("id", ("id", "email"), [8]),
    ],
)
def test_all_but_the_first_of_equal_values_repeat(
    spark: Any, column: str, primary_key: tuple[str, ...], positions: list[int]
) -> None:
    made = compiled({"column": column, "unique": True}, rows=ATTEMPT)
    rows = frame(spark, ROWS, ATTEMPT)

    found = duplicates(rows, made.each[0], primary_key=primary_key).toArrow()["_position"].to_pylist()

    assert sorted(found) == positions
    assert repeats_in(rows, made.uniques, primary_key=primary_key) == {f"{column}_unique": len(positions)}


def test_every_unique_column_is_counted_in_one_job_and_rows_leave_once(spark: Any) -> None:
    made = compiled(
        {"column": "email", "unique": True, "on_fail": "quarantine"},
        {"column": "id", "unique": True, "on_fail": "quarantine"},
        {"column": "_op", "unique": True},
        rows=ATTEMPT,
    )
    rows = frame(spark, attempt((1, "a", "upsert", 1), (1, "a", "upsert", 2), (1, "b", "upsert", 3)), ATTEMPT)

    repeated = repeated_rows(rows, made.uniques)

    assert repeats_in(rows, made.uniques) == {"email_unique": 1, "id_unique": 2, "_op_unique": 2}
    assert repeated is not None
    assert {row["_position"]: row["_reason"] for row in repeated.collect()} == {
        2: "expected `email` to be unique in a chunk",
        3: "expected `id` to be unique in a chunk",
    }


def test_without_rows_or_expectations_nothing_repeats(spark: Any) -> None:
    made = compiled({"column": "email", "unique": True}, rows=ATTEMPT)
    empty = frame(spark, [], ATTEMPT)

    assert repeats_in(empty, made.uniques, primary_key=("id",)) == {"email_unique": 0}
    assert repeats_in(empty, ()) == {}
    assert repeated_rows(empty, made.uniques) is None


NUMBERS = st.integers(-5, 5) | st.floats(-5, 5, width=32)
SPANS = st.fixed_dictionaries({}, optional={"min": NUMBERS, "max": NUMBERS}).filter(
    lambda span: span and span.get("min", -9) <= span.get("max", 9)
)
WANTED = st.one_of(
    st.fixed_dictionaries({"column": st.sampled_from(["id", "price", "weight"]), "range": SPANS}),
    st.fixed_dictionaries(
        {"column": st.just("id"), "in": st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True)}
    ),
    st.fixed_dictionaries({"column": st.sampled_from(["id", "price", "weight"]), "not_null": st.just(True)}),
)
TABLES = st.lists(
    st.fixed_dictionaries({
        "id": st.none() | st.integers(-6, 6),
        "price": st.none() | st.floats(-6, 6) | st.just(math.nan),
        "weight": st.none() | st.floats(-6, 6, width=32),
    }),
    min_size=1,
    max_size=10,
)  # fmt: skip


def breaks(expectation: ExpectationSpec, row: dict[str, Any]) -> bool:
    """The reference: the same in plain Python, a row at a time."""
    value = row[expectation.column or ""]
    if value is None:
        return expectation.not_null
    if expectation.in_ is not None:
        return value not in expectation.in_
    if expectation.range is not None:
        low, high = expectation.range.min, expectation.range.max
        assert not isinstance(low, Moment)
        assert not isinstance(high, Moment)
        return math.isnan(value) or (low is not None and value < low) or (high is not None and value > high)
    return False


@given(
    st.lists(
        st.builds(
            lambda wanted, on_fail: {**wanted, "on_fail": on_fail},
            WANTED,
            st.sampled_from(["fail", "warn", "quarantine"]),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda each: repr(sorted({**each, "on_fail": None}.items())),
    ),
    TABLES,
)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_random_expectations_say_the_same_as_the_reference(
    spark: Any, wanted: list[dict[str, Any]], rows: list[dict[str, Any]]
) -> None:
    made = compiled(*wanted)
    specs = expected(*wanted)

    counts, table = counted(spark, made, frame(spark, rows))

    leaving = [
        next((n for n, spec in enumerate(specs) if spec.on_fail == "quarantine" and breaks(spec, row)), None)
        for row in rows
    ]
    assert table["_reason"].to_pylist() == [None if n is None else made.each[n].reason for n in leaving]
    assert list(counts.values()) == [
        leaving.count(n)
        if spec.on_fail == "quarantine"
        else sum(breaks(spec, row) and left is None for row, left in zip(rows, leaving, strict=True))
        for n, spec in enumerate(specs)
    ]
