"""Text that is refused: where, why, and what to write instead."""

from __future__ import annotations

import pickle

import pytest

from hakiri.core.errors import ExitCode
from hakiri.engine.connect import load_client
from hakiri.transforms.sql import BadSql, expression_plan, query_plan, type_plan, without_sql_text

load_client()

EXPRESSIONS = [
    ("a +", (1, 4), "expected an expression, the text ends", "mend the text at this place"),
    ("a\n  + )", (2, 5), "expected an expression, found `)`", "mend the text at this place"),
    ("a b c", (1, 5), "expected the end of the text, found `c`", "mend the text at this place"),
    (
        "order + 1",
        (1, 1),
        "expected an expression, found `order`",
        "write `order` in backticks if it is a name",
    ),
    ("(a", (1, 3), "expected `)`, the text ends", "mend the text at this place"),
    ("a IN (1) = b", (1, 10), "expected the end of the text, found `=`", "mend the text at this place"),
    ("'open", (1, 1), "the quote ' has no end", "close it with the same quote"),
    ("1 /* a", (1, 3), "the comment has no end", "close it with `*/`"),
    (
        "grün",
        (1, 1),
        "`grün` has letters that a name without quotes cannot have",
        "write the name in backticks",
    ),
    ("a ; b", (1, 5), "expected the end of the text, found `b`", "mend the text at this place"),
    ("a § b", (1, 3), "the character `§` means nothing in SQL", "remove it"),
    ("300Y", (1, 1), "`300` does not fit into 8 bits", "write a smaller number"),
    (
        "1.0" + "0" * 40,
        (1, 1),
        "the number has 42 digits, and decimals have at most 38",
        "write fewer digits, or a double with `D`",
    ),
    ("1e400", (1, 1), "`1E400` is too large", "write a smaller number, or a decimal with `BD`"),
    ("DATE '2024-02-30'", (1, 6), "`2024-02-30` is no date", "write it as `DATE '2026-01-31'`"),
    ("DATE 'today'", (1, 6), "`today` is no date", "write it as `DATE '2026-01-31'`"),
    (
        "TIMESTAMP '2024-01-01 00:00 Mars/Base'",
        (1, 11),
        "the time zone `Mars/Base` is not supported in a literal",
        "write an offset such as `+02:00` or `Z`, or use to_timestamp",
    ),
    (
        "INTERVAL 1 MONTH 2 DAYS",
        (1, 1),
        "an interval cannot have months and days at once",
        "add two intervals one after the other",
    ),
    (
        "CAST(a AS nosuch)",
        (1, 11),
        "`nosuch` is not a type",
        "name a type of Spark's, such as `string` or `bigint`",
    ),
    (
        "a IN (SELECT 1)",
        (1, 6),
        "a subquery cannot stand in a single expression",
        "join the other table instead",
    ),
    ("v:a.b", (1, 2), "paths with `:` are not supported", "write `variant_get(v, '$.a.b', 'string')`"),
    (":x", (1, 1), "parameters are not supported", "write the value itself"),
    (
        "listagg(a) WITHIN GROUP (ORDER BY a)",
        (1, 12),
        "WITHIN GROUP is not supported",
        "use percentile(x, 0.5), or array_join of a sorted array",
    ),
    (
        "first(a) FILTER (WHERE b)",
        (1, 10),
        "FILTER is not supported for `first`",
        "filter the rows in a subquery before",
    ),
    (
        "lag(a) IGNORE NULLS OVER (ORDER BY b)",
        (1, 1),
        "IGNORE NULLS is not supported for `lag`",
        "use last_value(x, true) over a window",
    ),
    (
        "my.function(a)",
        (1, 12),
        "the function `my.function` has a qualified name",
        "call a function of Spark's by its name",
    ),
    ("IDENTIFIER('a')", (1, 1), "names that are computed are not supported", "write the name itself"),
    ("sum(a) OVER w", (1, 13), "there is no window `w`", "add `WINDOW w AS (…)` to the query"),
]
QUERIES = [
    ("SELECT a FROM inputs", (1, 15), "there is no table `inputs`", "did you mean `input`?"),
    ("SELECT a\nFROM orders", (2, 6), "there is no table `orders`", "name one of `input`, `ref`"),
    ("SELECT a FROM db.input", (1, 15), "tables have no qualified names here", "name one of `input`, `ref`"),
    ("SELECT a FROM range(3)", (1, 15), "the table function `range` is not supported", "read a table"),
    ("DROP TABLE input", (1, 1), "expected `SELECT`, found `DROP`", "mend the text at this place"),
    ("FROM input SELECT a", (1, 1), "a query cannot begin with `FROM`", "begin with SELECT"),
    (
        "SELECT TRANSFORM(a) USING 'cat' FROM input",
        (1, 21),
        "expected `,` or `FROM`, found `USING`",
        "mend the text at this place",
    ),
    ("SELECT /*+ BROADCAST(r) */ 1", (1, 8), "hints in comments are not supported", "remove the `/*+ … */`"),
    (
        "SELECT upper(a) AS u, count(*) FROM input GROUP BY u",
        (1, 52),
        "`u` may be the alias or a column",
        "repeat the expression, or write its number",
    ),
    ("SELECT a FROM input GROUP BY ALL", (1, 30), "GROUP BY ALL is not supported", "name the groups"),
    ("SELECT a FROM input ORDER BY ALL", (1, 30), "ORDER BY ALL is not supported", "name the columns"),
    (
        "SELECT a FROM input ORDER BY 2",
        (1, 30),
        "there is no column 2 to be counted in the list",
        "name the column instead",
    ),
    (
        "SELECT a, sum(b) FROM input GROUP BY a, ROLLUP (b)",
        (1, 41),
        "ROLLUP, CUBE and GROUPING SETS beside other groups are not supported",
        "write all of it as GROUPING SETS",
    ),
    (
        "SELECT sum(b) FROM input GROUP BY ROLLUP (a)",
        (1, 8),
        "a list with ROLLUP, CUBE or GROUPING SETS must begin with its groups",
        "compute it in an inner query, and select from that",
    ),
    (
        "SELECT DISTINCT a FROM input ORDER BY b",
        (1, 17),
        "`b` is not in the result of SELECT DISTINCT",
        "add it to the list",
    ),
    (
        "SELECT * FROM input NATURAL JOIN ref",
        (1, 21),
        "NATURAL JOIN is not supported",
        "name the columns with USING",
    ),
    (
        "SELECT * FROM input TABLESAMPLE (5 ROWS)",
        (1, 21),
        "TABLESAMPLE is not supported",
        "filter on a hash of the key instead",
    ),
    (
        "SELECT * FROM input PIVOT (sum(a) FOR b IN (1, 2))",
        (1, 21),
        "PIVOT is not supported",
        "write max(CASE WHEN … END) for each column instead",
    ),
    (
        "SELECT * FROM input DISTRIBUTE BY a",
        (1, 21),
        "DISTRIBUTE BY is not supported",
        "leave the distribution to Spark",
    ),
    (
        "WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x",
        (1, 6),
        "recursive queries are not supported",
        "write the levels out",
    ),
    (
        "WITH x AS (SELECT rand() AS r) SELECT * FROM x a, x b",
        (1, 51),
        "`x` is used twice, but gives other rows each time",
        "move random functions out of the CTE, or use it once",
    ),
    (
        "SELECT a FROM input UNION BY NAME SELECT a FROM ref",
        (1, 27),
        "UNION BY NAME is not supported",
        "name the columns in one order",
    ),
    (
        "SELECT a FROM input LIMIT 1 UNION SELECT 2",
        (1, 29),
        "UNION cannot stand behind ORDER BY or LIMIT",
        "put the query before in parentheses",
    ),
    (
        "SELECT b AS x FROM input QUALIFY rank() OVER (ORDER BY x) = 1",
        (1, 26),
        "the window in QUALIFY names the alias `x`",
        "repeat its expression",
    ),
    (
        "SELECT a FROM input |> WHERE a > 1",
        (1, 21),
        "expected the end of the text, found `|>`",
        "mend the text at this place",
    ),
]


@pytest.mark.parametrize(
    ("text", "place", "problem", "hint"), EXPRESSIONS, ids=[row[0][:40] for row in EXPRESSIONS]
)
def test_an_expression_is_refused_with_place_reason_and_advice(
    text: str, place: tuple[int, int], problem: str, hint: str
) -> None:
    with pytest.raises(BadSql) as caught:
        expression_plan(text)

    assert (caught.value.line, caught.value.column) == place
    assert (caught.value.problem, caught.value.hint) == (problem, hint)


@pytest.mark.parametrize(("text", "place", "problem", "hint"), QUERIES, ids=[row[0][:60] for row in QUERIES])
def test_a_query_is_refused_with_place_reason_and_advice(
    text: str, place: tuple[int, int], problem: str, hint: str
) -> None:
    with pytest.raises(BadSql) as caught:
        query_plan(text, tables={"input", "ref"})

    assert (caught.value.line, caught.value.column) == place
    assert (caught.value.problem, caught.value.hint) == (problem, hint)


def test_the_message_says_where_in_the_text_and_the_error_is_one_of_usage() -> None:
    with pytest.raises(BadSql) as caught:
        query_plan("SELECT a,\n  b +\nFROM input", tables={"input"})

    assert str(caught.value) == "SQL, line 3, column 1: expected an expression, found `FROM`"
    assert caught.value.exit_code is ExitCode.USAGE
    assert vars(pickle.loads(pickle.dumps(caught.value))) == vars(caught.value)


def test_text_inside_a_dataframe_is_named_in_the_message() -> None:
    from hakiri.transforms.offline import offline_table

    plan = offline_table("input").where("a >\n> 1")._plan.plan(None)

    with pytest.raises(BadSql) as caught:
        without_sql_text(plan)

    assert str(caught.value) == "SQL, line 2, column 1: expected an expression, found `>`, in `a > > 1`"


@pytest.mark.parametrize(
    "text", ["array<int", "array<>", "decimal(39)", "decimal(5, 6)", "int(3)", "map<int>", "", "a int"]
)
def test_a_type_that_spark_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(BadSql):
        type_plan(text)
