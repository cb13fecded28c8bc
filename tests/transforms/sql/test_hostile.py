"""Any text is either a plan or BadSql, and soon."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.transforms.sql.corpus import EXPRESSIONS, QUERIES, TABLES, lines

from hakiri.engine.connect import load_client
from hakiri.transforms.sql import BadSql, expression_plan, query_plan, type_plan

pytestmark = pytest.mark.proof

load_client()

SOON = settings(
    max_examples=400, deadline=5000, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
TEXTS = [*lines(EXPRESSIONS), *lines(QUERIES)]
PIECES = sorted({piece for text in TEXTS for piece in text.replace("(", " ( ").replace(")", " ) ").split()})


def read(text: str) -> bool:
    """Whether the text is a query, an expression or a type; anything but BadSql comes through."""
    is_good = False
    for door in (expression_plan, type_plan, lambda text: query_plan(text, tables=set(TABLES))):
        with suppress(BadSql):
            door(text)
            is_good = True
    return is_good


@SOON
@given(st.text())
def test_random_text_is_a_plan_or_refused(text: str) -> None:
    read(text)


@SOON
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_random_pieces_of_sql_are_a_plan_or_refused(pieces: list[str]) -> None:
    read(" ".join(pieces))


@SOON
@given(st.sampled_from(TEXTS), st.data())
def test_a_damaged_query_is_a_plan_or_refused(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(start + 8, len(text))))
        text = text[:start] + data.draw(st.sampled_from(["", "(", ")", "'", " ", ",", *PIECES])) + text[end:]

    read(text)


def chained_ctes(count: int) -> str:
    """Each CTE names the one before twice: put in where they are named, they would fill the world."""
    ctes = ["c0 AS (SELECT i FROM t)"]
    ctes += [f"c{n} AS (SELECT a.i FROM c{n - 1} a, c{n - 1} b)" for n in range(1, count)]
    return f"WITH {', '.join(ctes)} SELECT * FROM c{count - 1}"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "(" * 10_000 + "a" + ")" * 10_000,
        "NOT " * 10_000 + "a",
        "- " * 10_000 + "a",
        "f(" * 10_000,
        "a[" * 10_000,
        "CASE WHEN " * 5_000,
        "SELECT (" * 5_000,
        "SELECT * FROM (" * 5_000,
        "x -> " * 10_000 + "x",
        "array<" * 10_000,
        "/*" * 10_000,
        "position(" * 5_000 + "a",
        "trim(" * 5_000 + "a",
        "CAST(" * 5_000,
        "a BETWEEN " * 5_000,
        "sum(a) OVER (PARTITION BY " * 3_000,
        "a " + "+ a " * 5_000,
        "a" + "[0]" * 5_000,
        "a" + "::int" * 5_000,
        "SELECT i FROM t " + "UNION ALL SELECT i FROM t " * 500,
        "SELECT * FROM t " + "JOIN t USING (i) " * 500,
        "9" * 100_000,
        "1e" + "9" * 10_000,
        "1e" + "9" * 10_000 + "BD",
        "'" + "''" * 100_000,
        "`" * 100_001,
        "SELECT 1 FROM t" + ", t" * 500,
        "SELECT 1 FROM t" + " LATERAL VIEW explode(xs) e" * 500,
        "SELECT 1 FROM t" + ", LATERAL (SELECT 1)" * 500,
        chained_ctes(60),
        "WITH c0 AS (SELECT i FROM t)"
        + "".join(f", c{n} AS (SELECT i + 1 AS i FROM c{n - 1})" for n in range(1, 200))
        + " SELECT * FROM c199",
    ],
    ids=lambda text: text[:24],
)
def test_text_that_is_built_to_hurt_is_refused(text: str) -> None:
    assert not read(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: " AND ".join(["a > 1"] * n),
        lambda n: " OR ".join(["a = 1"] * n),
        lambda n: f"a IN ({', '.join(['1'] * n)})",
        lambda n: f"coalesce({', '.join(['a'] * n)})",
        lambda n: f"CASE a {'WHEN 1 THEN 2 ' * n} END",
        lambda n: f"SELECT {', '.join(['i'] * n)} FROM t",
        lambda n: f"SELECT i FROM t WHERE i = 1 {'OR i = 2 ' * n} GROUP BY i",
        lambda n: f"SELECT * FROM VALUES {', '.join(['(1, 2)'] * n)} AS x(a, b)",
        lambda n: "'" + "x" * n * 100 + "'",
        lambda n: "a" + ".b" * n,
    ],
)
def test_long_text_that_is_not_nested_is_read(make: Callable[[int], str]) -> None:
    assert read(make(2_000))


def test_operands_that_the_plan_repeats_do_not_make_it_explode() -> None:
    text = "a"
    for _ in range(40):
        text = f"({text}) BETWEEN 1 AND 2"

    assert not read(text)
