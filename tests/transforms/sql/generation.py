"""Random SQL expressions of known types, with few parentheses, so that precedence decides what they mean."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

DEPTH = 3

_number = st.sampled_from(
    ["i", "i", "st.a", "st.c.d", "t.i", "NULL", "size(xs)", "length(s)", "year(dt)"]
) | (st.integers(-9, 9).map(str))
_truth = st.sampled_from(["b", "TRUE", "FALSE", "i > 1", "s = ''", "NULL"])
_text = st.sampled_from(["s", "st.b", "'x'", "'it''s'", "''", "upper(s)", "NULL", "s || 'y'"])
_list = st.sampled_from(["xs", "array(1, 2)", "array(i, 3)", "sequence(1, 3)", "ss.v"])

_PATTERNS = ["LIKE '%p%'", "NOT LIKE 'a_'", "RLIKE '^[a-z]'", "ILIKE 'A%'"]


def _in_parentheses(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(texts, texts.map(lambda text: f"({text})"))


def _binary(operands: st.SearchStrategy[str], operators: list[str]) -> st.SearchStrategy[str]:
    operand = _in_parentheses(operands)
    return st.tuples(operand, st.sampled_from(operators), operand).map(" ".join)


def numbers(depth: int = DEPTH) -> st.SearchStrategy[str]:
    if depth == 0:
        return _number
    inner = numbers(depth - 1)
    return st.one_of(
        inner,
        _binary(inner, ["+", "-", "&", "|", "^"]),
        st.tuples(inner, st.sampled_from(["* 2", "* -3", "% 5", "DIV 3", "<< 1", ">> 1"])).map(" ".join),
        st.tuples(st.sampled_from(["- ", "+ ", "~ ", "-"]), inner).map(
            lambda parts: f"{parts[0]}({parts[1]})"
        ),
        st.tuples(truths(depth - 1), inner, inner).map(
            lambda p: f"CASE WHEN {p[0]} THEN {p[1]} ELSE {p[2]} END"
        ),
        st.tuples(inner, inner, inner).map(
            lambda p: f"CASE {p[0]} WHEN 2 THEN {p[1]} WHEN 1 THEN {p[2]} END"
        ),
        st.tuples(inner, inner).map(lambda parts: f"coalesce({parts[0]}, {parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"nullif({parts[0]}, {parts[1]})"),
        texts(depth - 1).map(lambda text: f"length({text})"),
        texts(depth - 1).map(lambda text: f"position('x' IN {text})"),
        lists(depth - 1).map(lambda text: f"size({text})"),
        inner.map(lambda text: f"CAST(({text}) AS int)"),
        inner.map(lambda text: f"({text})::bigint::int"),
    )


def truths(depth: int = DEPTH) -> st.SearchStrategy[str]:
    if depth == 0:
        return _truth
    inner, number, text = truths(depth - 1), numbers(depth - 1), texts(depth - 1)
    return st.one_of(
        inner,
        _binary(inner, ["AND", "OR"]),
        _in_parentheses(inner).map(lambda truth: f"NOT {truth}"),
        _binary(number, ["=", "<>", "<", ">=", "<=>", "!=", "=="]),
        _binary(text, ["=", "<", "<=>"]),
        st.tuples(number, st.sampled_from(["", "NOT "]), number, number).map(
            lambda parts: f"{parts[0]} {parts[1]}BETWEEN {parts[2]} AND {parts[3]}"
        ),
        st.tuples(number, number).map(lambda parts: f"{parts[0]} IN (1, {parts[1]}, NULL)"),
        st.tuples(text, st.sampled_from(_PATTERNS)).map(" ".join),
        st.tuples(number, st.sampled_from(["IS NULL", "IS NOT NULL", "IS DISTINCT FROM 2"])).map(" ".join),
        inner.map(lambda truth: f"({truth}) IS NOT TRUE"),
        lists(depth - 1).map(lambda text: f"exists({text}, x -> x = 2 OR x IS NULL)"),
    )  # fmt: skip


def texts(depth: int = DEPTH) -> st.SearchStrategy[str]:
    if depth == 0:
        return _text
    inner, number = texts(depth - 1), numbers(depth - 1)
    return st.one_of(
        inner,
        _binary(inner, ["||"]),
        inner.map(lambda text: f"lower({text})"),
        inner.map(lambda text: f"trim(LEADING 'a' FROM {text})"),
        st.tuples(inner, number).map(lambda parts: f"substring({parts[0]} FROM {parts[1]} FOR 3)"),
        number.map(lambda text: f"({text})::string"),
        number.map(lambda text: f"date_format(dt + make_interval(0, 0, 0, ({text}) % 100), 'yyyy-MM-dd')"),
        st.tuples(truths(depth - 1), inner).map(lambda parts: f"if({parts[0]}, {parts[1]}, s)"),
    )


def lists(depth: int = DEPTH) -> st.SearchStrategy[str]:
    if depth == 0:
        return _list
    inner = lists(depth - 1)
    return st.one_of(
        inner,
        inner.map(lambda text: f"transform({text}, x -> x + i)"),
        inner.map(lambda text: f"transform({text}, (x, n) -> x * 2 - n)"),
        inner.map(lambda text: f"filter({text}, e -> e % 2 = 1 OR e > i)"),
        _binary(inner, ["||"]),
    )


def expressions() -> st.SearchStrategy[str]:
    return st.one_of(numbers(), truths(), texts(), lists())


def random_expressions(count: int) -> list[str]:
    """So many expressions, the same ones every time."""
    found: list[str] = []

    @settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(expressions())
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return found
