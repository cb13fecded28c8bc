"""What is wrong with an expectation is told before anything runs, without Spark."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest
from tests.pipelines.expectations.making import COLUMNS, compiled, expected

from hakiri.core.errors import ExitCode, Place
from hakiri.pipelines.expectations import (
    BadExpectations,
    Broken,
    ExpectationFailed,
    check_expectations,
    compile_expectations,
    rule_of,
    rules_of,
)

ONE_ROW = "write a condition on columns of one row and literals, with functions of Spark SQL"
OWN_KIND = "compare it with values of its own kind, or write a `predicate`"
NAMES = ", ".join(f"`{name}`" for name in COLUMNS.names)


@pytest.mark.parametrize(
    "expectation",
    [
        {"column": "email", "not_null": True},
        {"column": "a.b`c", "not_null": True},
        {"column": "notes", "not_null": True},
        {"column": "tags", "unique": True},
        {"column": "state", "in": ["open", "closed"]},
        {"column": "id", "in": [1, 2.0]},
        {"column": "day", "in": ["2020-01-01"]},
        {"column": "at", "in": ["2020-01-01T12:00:00+02:00"]},
        {"column": "is_paid", "in": [True]},
        {"column": "price", "range": {"min": 0, "max": 10.5}},
        {"column": "amount", "range": {"max": 0.1}},
        {"column": "day", "range": {"min": "2020-01-01T12:00:00Z"}},
        {"column": "local", "range": {"min": "2020-01-01"}},
        {"predicate": "price >= 0 and (amount is null or amount < price)"},
        {"predicate": "PRICE > 0 and `a.b``c` = 1"},
        {"predicate": "address.city = 'Berlin' and exists(tags, tag -> tag = state)"},
        {"predicate": "is_paid"},
        {"predicate": "true"},
        {"predicate": "email rlike '^[^@]+@[^@]+$'"},
    ],
)
def test_a_sound_expectation_is_taken(expectation: dict[str, Any]) -> None:
    (made,) = check_expectations(expected(expectation), table="orders", columns=COLUMNS)

    assert made.spec == expected(expectation)[0]


@pytest.mark.parametrize(
    ("expectation", "problem", "hint"),
    [
        ({"column": "emial", "not_null": True}, "there is no column `emial`", "did you mean `email`?"),
        ({"column": "Email", "not_null": True}, "there is no column `Email`", "did you mean `email`?"),
        (
            {"column": "address.city", "not_null": True},
            "there is no column `address.city`",
            f"its columns are {NAMES}",
        ),
        ({"column": "notes", "unique": True}, "`notes` holds maps, which cannot be compared", OWN_KIND),
        (
            {"column": "state", "range": {"min": 1}},
            "`state` is a column of texts, and the range is one of numbers",
            OWN_KIND,
        ),
        (
            {"column": "price", "range": {"max": "2020-01-01"}},
            "`price` is a column of floats, and the range is one of dates or moments",
            OWN_KIND,
        ),
        (
            {"column": "id", "in": [1, 2.5]},
            "`id` is a column of whole numbers, and `2.5` is none of them",
            OWN_KIND,
        ),
        (
            {"column": "state", "in": [True]},
            "`state` is a column of texts, and `true` is none of them",
            OWN_KIND,
        ),
        (
            {"column": "is_paid", "in": ["yes"]},
            "`is_paid` is a column of true and false, and `yes` is none of them",
            OWN_KIND,
        ),
        (
            {"column": "day", "in": ["2020-01-01T12:00:00Z"]},
            "`day` is a column of dates, and `2020-01-01T12:00:00Z` has a time of day",
            OWN_KIND,
        ),
        (
            {"column": "at", "in": ["today"]},
            (
                "`at` is a column of moments, and `today` is not a moment: unexpected `t` at position 1 "
                "(a year of four digits was expected)"
            ),
            OWN_KIND,
        ),
        (
            {"column": "tags", "in": ["a"]},
            "`tags` is a column of other values, and `a` is none of them",
            OWN_KIND,
        ),
        ({"predicate": "prize > 0"}, "there is no column `prize`", "did you mean `price`?"),
        ({"predicate": "orders.price > 0"}, "there is no column `orders`", f"its columns are {NAMES}"),
        (
            {"predicate": "price"},
            "`price` is a column of floats, and no condition",
            "compare it with something",
        ),
        (
            {"predicate": "price >"},
            "expected an expression, the text ends (line 1, column 8)",
            "mend the text at this place",
        ),
        ({"predicate": "price > 0 as sound"}, "a condition has no alias", "take the alias out"),
        ({"predicate": "*"}, "`*` is no condition", ONE_ROW),
        ({"predicate": "1"}, "it is a value, and no condition", ONE_ROW),
        ({"predicate": "price + 1"}, "it gives a value that is neither true nor false", ONE_ROW),
        ({"predicate": "sum(price) > 0"}, "`sum` looks at several rows, or makes several of one", ONE_ROW),
        (
            {"predicate": "explode(tags) = 'a'"},
            "`explode` looks at several rows, or makes several of one",
            ONE_ROW,
        ),
        ({"predicate": "price > avg(price) over ()"}, "it looks at other rows", ONE_ROW),
        (
            {"predicate": "id in (select 1)"},
            "a subquery cannot stand in a single expression (line 1, column 7)",
            "join the other table instead",
        ),
        ({"predicate": "at < now()"}, "`now` gives another value when a chunk is read again", ONE_ROW),
        ({"predicate": "rand() < price"}, "`rand` gives another value when a chunk is read again", ONE_ROW),
        ({"predicate": "java_method('a', 'b') = state"}, "`java_method` calls code by its name", ONE_ROW),
        ({"predicate": "uper(state) = 'X'"}, "the function `uper` is not known", "did you mean `upper`?"),
        (
            {"predicate": "_metadata.file_path = 'x'"},
            "the column `_metadata` tells about files that are read",
            ONE_ROW,
        ),
    ],
)
def test_an_expectation_that_cannot_be_checked_is_refused(
    expectation: dict[str, Any], problem: str, hint: str
) -> None:
    with pytest.raises(BadExpectations) as caught:
        check_expectations(expected({**expectation, "name": "x"}), table="orders", columns=COLUMNS)

    assert str(caught.value) == f"an expectation of table `orders` cannot be checked: `x`: {problem}"
    assert caught.value.hint == hint
    assert caught.value.exit_code is ExitCode.USAGE


def test_everything_wrong_is_told_at_once_with_its_places() -> None:
    expectations = expected(
        {"column": "emial", "not_null": True},
        {"column": "email", "not_null": True},
        {"predicate": "sum(price) > 0"},
    )

    with pytest.raises(BadExpectations) as caught:
        check_expectations(
            expectations, table="orders", columns=COLUMNS, place_of=lambda n: Place("hakiri.toml", 10 + n)
        )

    assert str(caught.value) == (
        "2 expectations of table `orders` cannot be checked: `emial_not_null`: there is no column `emial`; "
        "`predicate`: `sum` looks at several rows, or makes several of one"
    )
    assert caught.value.places == (Place("hakiri.toml", 10), Place("hakiri.toml", 12))
    assert caught.value.hint == f"did you mean `email`?; {ONE_ROW}"


def test_without_the_columns_only_what_shows_in_the_text_is_refused() -> None:
    (made,) = check_expectations(expected({"predicate": "whatever > 0"}), table="orders")
    assert made.predicate is not None

    with pytest.raises(BadExpectations):
        check_expectations(expected({"predicate": "count(*) > 0"}), table="orders")


def test_a_column_that_the_rows_lack_is_one_of_the_table() -> None:
    rows = COLUMNS.remove(COLUMNS.get_field_index("email"))

    made = compiled({"column": "email", "not_null": True}, rows=rows, stored=COLUMNS)

    assert made.absent.names == ["email"]
    with pytest.raises(BadExpectations):
        compiled({"column": "email", "not_null": True}, rows=rows)


def test_no_expectations_are_none() -> None:
    assert compile_expectations((), table="orders", rows=COLUMNS) is None


def test_checking_starts_no_jvm_and_plain_checks_load_no_spark() -> None:
    program = (
        "import sys\n"
        "from hakiri.pipelines.expectations import check_expectations\n"
        "from hakiri.manifest import parse_pipeline\n"
        "expect = [{'column': 'a', 'not_null': True}, {'column': 'b', 'range': {'min': 0}}]\n"
        "table = {'name': 't', 'expect': expect}\n"
        "spec = parse_pipeline({'id': 'a', 'source': {'connector': 'sql'}, 'tables': [table]})\n"
        "check_expectations(spec.tables[0].expect, table='t')\n"
        "print(sorted({'pyspark', 'pyarrow', 'google.protobuf'} & sys.modules.keys()))\n"
    )

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert shown.stdout == "[]\n"


@pytest.mark.parametrize(
    ("expectation", "rule"),
    [
        ({"column": "email", "not_null": True}, "expect `email` to have a value, else the chunk fails"),
        (
            {"column": "id", "unique": True, "on_fail": "quarantine"},
            "expect `id` to be unique in a chunk, else the row goes to quarantine",
        ),
        (
            {"column": "state", "in": ["open", "closed"], "on_fail": "warn"},
            "expect `state` to be one of `open`, `closed`, else the row is counted, and stored",
        ),
        ({"column": "is_paid", "in": [True]}, "expect `is_paid` to be `true`, else the chunk fails"),
        (
            {"column": "id", "in": list(range(11)), "on_fail": "quarantine"},
            (
                "expect `id` to be one of `0`, `1`, `2`, `3`, `4`, `5`, `6`, `7` and 3 more, "
                "else the row goes to quarantine"
            ),
        ),
        (
            {"column": "price", "range": {"min": 0, "max": 1000}},
            "expect `price` between 0 and 1000, else the chunk fails",
        ),
        ({"column": "price", "range": {"min": 0.5}}, "expect `price` of at least 0.5, else the chunk fails"),
        (
            {"column": "at", "range": {"max": "2030-01-01"}},
            "expect `at` of at most 2030-01-01, else the chunk fails",
        ),
        ({"predicate": "price\n  >= 0"}, "expect `price >= 0`, else the chunk fails"),
        (
            {"predicate": "price > 0 or " * 20 + "true"},
            f"expect `{('price > 0 or ' * 20)[:200]}…`, else the chunk fails",
        ),
    ],
)
def test_a_rule_reads_as_a_sentence(expectation: dict[str, Any], rule: str) -> None:
    assert rule_of(expected(expectation)[0]) == rule
    assert rules_of(expected(expectation)) == (rule,)


def test_two_lists_that_begin_alike_have_different_reasons() -> None:
    many = list(range(20))

    made = compiled(
        {"column": "id", "in": many, "on_fail": "quarantine"},
        {"column": "id", "in": [*many[:-1], 99], "on_fail": "quarantine"},
    )

    shown = "expected `id` to be one of `0`, `1`, `2`, `3`, `4`, `5`, `6`, `7` and 12 more"
    assert [each.reason for each in made.each] == [f"{shown} (id_in)", f"{shown} (id_in_2)"]


def test_only_what_says_fail_fails_and_every_count_is_told() -> None:
    made = compiled(
        {"column": "email", "not_null": True},
        {"column": "price", "range": {"min": 0, "max": 1000}, "name": "price-is-sound"},
        {"column": "state", "not_null": True, "on_fail": "warn"},
        {"column": "id", "not_null": True, "on_fail": "quarantine"},
    )
    counts = {"email_not_null": 1, "price-is-sound": 2, "state_not_null": 3, "id_not_null": 4}

    with pytest.raises(ExpectationFailed) as caught:
        made.require(counts)

    assert str(caught.value) == (
        "table `orders` is not as expected: `email_not_null` in 1 row (expected `email` to have a value), "
        "`price-is-sound` in 2 rows (expected `price` between 0 and 1000)"
    )
    assert caught.value.hint == (
        "correct the source, a transform or the expectation; with "
        '`on_fail = "quarantine"` such rows are set aside and the others stored'
    )
    assert (caught.value.exit_code, caught.value.retryable) == (ExitCode.FAILED, False)
    assert caught.value.counts == {"email_not_null": 1, "price-is-sound": 2}
    assert made.broken(counts, "warn") == (
        Broken(name="state_not_null", expected="`state` to have a value", rows=3),
    )
    made.require({**counts, "email_not_null": 0, "price-is-sound": 0})


def test_the_errors_survive_pickling() -> None:
    failed = ExpectationFailed("orders", [Broken(name="x", expected="`a` to have a value", rows=2)])
    with pytest.raises(BadExpectations) as caught:
        check_expectations(expected({"predicate": "sum(a) > 0"}), table="orders")

    for error in (failed, caught.value):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.hint, vars(again)) == (str(error), error.hint, vars(error))
