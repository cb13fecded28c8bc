"""How an answer looks: aligned, as wide as the screen, and no number cut into another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hakiri.cli.query.table import Table
from hakiri.store.query.values import Column

COLUMNS = (Column("id", "BIGINT"), Column("name", "VARCHAR"), Column("price", "DECIMAL(10,2)"))
ROWS = [(1, "Ada", "1.50"), (1200, "", None), (3, None, "10.00")]


def text_of(columns: Sequence[Column], rows: Sequence[tuple[Any, ...]], **look: Any) -> str:
    table = Table(columns=columns, **{"width": None, **look})
    return "".join(f"{line}\n" for line in [*table.begin(rows), *table.lines(rows)])


def test_numbers_stand_right_and_null_is_told_from_an_empty_text() -> None:
    assert text_of(COLUMNS, ROWS) == (
        "  id  name  price\n   1  Ada    1.50\n1200            ∅\n   3  ∅     10.00\n"
    )


def test_a_screen_shows_the_types_below_the_names() -> None:
    assert text_of(COLUMNS, ROWS[:1], width=80) == (
        "    id  name            price\nbigint  varchar  decimal(10,…\n     1  Ada              1.50\n"
    )


def test_colours_change_nothing_but_the_colour() -> None:
    plain = text_of(COLUMNS, ROWS, width=80)

    colored = text_of(COLUMNS, ROWS, width=80, has_colors=True)

    assert "\x1b[1mname\x1b[0m" in colored
    assert "\x1b[2m∅\x1b[0m" in colored
    for style in ("\x1b[1m", "\x1b[2m", "\x1b[0m"):
        colored = colored.replace(style, "")
    assert colored == plain


def test_texts_are_cut_to_the_screen_and_numbers_never() -> None:
    columns = (Column("number", "BIGINT"), Column("text", "VARCHAR"), Column("note", "VARCHAR"))
    rows = [(12345678901234567890, "a" * 60, "short")]

    lines = text_of(columns, rows, width=50).splitlines()

    assert lines[2] == f"12345678901234567890  {'a' * 18}…  short"
    assert max(map(len, lines)) <= 50


def test_columns_in_the_middle_give_way_where_there_is_no_room() -> None:
    columns = [Column(f"column_{n}", "BIGINT") for n in range(9)]
    table = Table(columns=columns, width=40)

    lines = list(table.begin([tuple(range(9))]))

    assert lines[0] == "column_0  column_1  …  column_8"
    assert table.hidden == tuple(f"column_{n}" for n in range(2, 8))


def test_a_screen_too_narrow_for_one_column_shows_one() -> None:
    table = Table(columns=COLUMNS, width=3)

    lines = [*table.begin(ROWS), *table.lines(ROWS)]

    assert table.hidden == ("name", "price")
    assert [line.split()[0] for line in lines[2:]] == ["1", "1200", "3"]


def test_nothing_is_cut_where_nobody_looks_at_a_screen() -> None:
    long = "x" * 5000

    assert long in text_of((Column("text", "VARCHAR"),), [(long,)])


def test_signs_that_would_move_the_cursor_are_made_visible() -> None:
    assert text_of((Column("a\nb", "VARCHAR"),), [("x\x1b[31m\ny\t",)]) == "a⏎b\nx␛[31m⏎y␉\n"


def test_wide_letters_take_two_cells() -> None:
    columns = (Column("city", "VARCHAR"), Column("n", "INTEGER"))

    assert text_of(columns, [("東京", 1), ("Rome", 22)]) == "city   n\n東京   1\nRome  22\n"


def test_later_blocks_keep_the_widths_of_the_first() -> None:
    table = Table(columns=(Column("a", "VARCHAR"), Column("b", "VARCHAR")), width=20)
    list(table.begin([("xx", "y")]))

    assert list(table.lines([("xxxxxxxxxx", "z")])) == ["xxxxxx…  z"]


def test_an_answer_without_rows_has_its_names() -> None:
    assert text_of(COLUMNS, []) == "id  name  price\n"
