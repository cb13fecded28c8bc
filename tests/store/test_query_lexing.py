"""What is quoted and what is commented is told from what is said."""

from __future__ import annotations

import pytest

from hakiri.store.query.lexing import PieceKind, is_ended, pieces, statement_end


@pytest.mark.parametrize(
    ("sql", "kind", "said"),
    [
        ("'it''s'", PieceKind.TEXT, "it's"),
        ("E'it\\'s; it''s'", PieceKind.TEXT, "it\\'s; it's"),
        ('"a ""b"""', PieceKind.NAME, 'a "b"'),
        ("$$a;'b$$", PieceKind.TEXT, "a;'b"),
        ("$x$a$$b$x$", PieceKind.TEXT, "a$$b"),
        ("-- a; b", PieceKind.COMMENT, "-- a; b"),
        ("/* a /* b */ ; */", PieceKind.COMMENT, "/* a /* b */ ; */"),
        ("é_1$x", PieceKind.WORD, "é_1$x"),
        (";", PieceKind.SIGN, ";"),
    ],
)
def test_a_piece_is_what_stands_between_its_quotes(sql: str, kind: PieceKind, said: str) -> None:
    (piece,) = pieces(f"\n{sql}\n")

    assert (piece.kind, piece.said, piece.is_whole) == (kind, said, True)
    assert (piece.start, piece.end) == (1, 1 + len(sql))


@pytest.mark.parametrize("sql", ["'a;", "'a'';", "E'a\\';", "E'a\\", '"a;', "$$a;", "$x$a;$$", "/* a; /* */"])
def test_a_piece_that_begins_and_never_ends_is_not_whole(sql: str) -> None:
    assert [piece.is_whole for piece in pieces(sql)][-1] is False
    assert not is_ended(sql)


@pytest.mark.parametrize("sql", ["SELECT ';' AS a /* /* ; */ ; */ -- ;\n, $$;$$, E'\\';', \";\""])
def test_a_semicolon_in_quotes_or_comments_ends_nothing(sql: str) -> None:
    assert statement_end(sql) == len(sql)
    assert statement_end(f"{sql};{sql}") == len(sql)


def test_letters_and_dollar_signs_within_a_word_begin_no_text() -> None:
    assert [piece.said for piece in pieces("some'e\\' a$b$;$")] == ["some", "e\\", "a$b$", ";", "$"]
    assert statement_end("some'e\\';$$;$$") == len("some'e\\'")
    assert statement_end("a$b$;$b$") == len("a$b$")
