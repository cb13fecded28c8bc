"""Words, names, strings and numbers, as Spark's lexer cuts them; and which operator binds stronger."""

from __future__ import annotations

import pytest

from hakiri.transforms.sql import BadSql, expression_plan
from hakiri.transforms.sql.tokens import Kind, tokens_of


def cut(text: str) -> list[tuple[str, str]]:
    return [(token.kind.name, token.value) for token in tokens_of(text) if token.kind is not Kind.END]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("select a1", [("WORD", "select"), ("WORD", "a1")]),
        ("`a b``c`.d", [("QUOTED", "a b`c"), ("SYMBOL", "."), ("WORD", "d")]),
        ("1a 1_0", [("WORD", "1a"), ("WORD", "1_0")]),
        ("1L 1.5 .5 5. 1e3 1.5E-3BD", [("NUMBER", n) for n in ("1L", "1.5", ".5", "5.", "1e3", "1.5E-3BD")]),
        ("t.1a", [("WORD", "t"), ("SYMBOL", "."), ("WORD", "1a")]),
        ("1.5x", [("NUMBER", "1"), ("SYMBOL", "."), ("WORD", "5x")]),
        (">= <=> != <> ||", [("SYMBOL", s) for s in (">=", "<=>", "!=", "<>", "||")]),
        ("a>>b", [("WORD", "a"), ("SYMBOL", ">"), ("SYMBOL", ">"), ("WORD", "b")]),
        ("->=>::", [("SYMBOL", s) for s in ("->", "=>", "::")]),
        ("a -- b\n c", [("WORD", "a"), ("WORD", "c")]),
        ("a /* b /* c */ d */ e", [("WORD", "a"), ("WORD", "e")]),
        ("--", []),
        ("'it''s' \"a\"\"b\"", [("STRING", "it's"), ("STRING", 'a"b')]),
        (r"'\n\t\\\'\%\_\x'", [("STRING", "\n\t\\'\\%\\_x")]),
        (r"'\u00e4\U0001F600\101\0'", [("STRING", "ä😀A\0")]),
        (r"r'\n' R" + r'"\d"', [("STRING", r"\n"), ("STRING", r"\d")]),
        ("a\u00a0b\u3000c", [("WORD", "a"), ("WORD", "b"), ("WORD", "c")]),
    ],
)  # fmt: skip
def test_text_is_cut_as_spark_cuts_it(text: str, tokens: list[tuple[str, str]]) -> None:
    assert cut(text) == tokens


def test_a_token_knows_its_line_and_column() -> None:
    tokens = tokens_of("a\n  /* x\n y */ b\n'c\nd' e")

    assert [(token.text, token.line, token.column) for token in tokens] == [
        ("a", 1, 1),
        ("b", 3, 7),
        ("'c\nd'", 4, 1),
        ("e", 5, 4),
        ("", 5, 5),
    ]


@pytest.mark.parametrize("text", ["'a", '"a', "`a", "/* /* */", "/*", r"'\U00110000'", r"'\ud800'", "a € b"])
def test_text_that_cannot_be_cut_is_refused(text: str) -> None:
    with pytest.raises(BadSql):
        tokens_of(text)


@pytest.mark.parametrize(
    ("loose", "strict"),
    [
        ("a OR b AND c", "a OR (b AND c)"),
        ("a AND b OR c", "(a AND b) OR c"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT a IN (1)", "NOT (a IN (1))"),
        ("NOT a BETWEEN 1 AND 2 AND b", "(NOT (a BETWEEN 1 AND 2)) AND b"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a = b = c", "(a = b) = c"),
        ("a BETWEEN b + 1 AND c = d", "a BETWEEN (b + 1) AND (c = d)"),
        ("a | b = c", "(a | b) = c"),
        ("a | b ^ c & d", "a | (b ^ (c & d))"),
        ("a & b << c + d", "a & (b << (c + d))"),
        ("a + b || c", "(a + b) || c"),
        ("a || b + c", "(a || b) + c"),
        ("a + b * c", "a + (b * c)"),
        ("a * b DIV c % d", "((a * b) DIV c) % d"),
        ("-a * b", "(-a) * b"),
        ("- a.b[0]", "-(a.b[0])"),
        ("~a + b", "(~a) + b"),
        ("-1::string", "(-1)::string"),
        ("-a::string", "-(a::string)"),
        ("a::int + b", "(a::int) + b"),
        ("a LIKE b || '%'", "a LIKE (b || '%')"),
        ("a >> b > c", "(a >> b) > c"),
        ("x + 1 IN (1, 2)", "(x + 1) IN (1, 2)"),
        ("f(x -> x > 1 AND y)", "f(x -> ((x > 1) AND y))"),
        ("CASE WHEN a THEN b OR c END", "CASE WHEN (a) THEN (b OR c) END"),
    ],
)
def test_operators_bind_as_in_spark(loose: str, strict: str) -> None:
    assert expression_plan(loose) == expression_plan(strict)
