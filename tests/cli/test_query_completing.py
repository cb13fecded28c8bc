"""What the shell proposes, and when it takes a statement as written to its end."""

from __future__ import annotations

import pytest

from hakiri.cli.query.shell.completing import is_complete, proposals
from hakiri.cli.query.shell.dots import DotCommand, chosen, help_lines, most_rows, parse_dot
from hakiri.core.errors import UsageError


class Words:
    """A store with three tables."""

    def tables(self) -> tuple[str, ...]:
        return ("orders", "order items", "customers")

    def columns(self, table: str) -> tuple[str, ...]:
        return {"orders": ("id", "Order Date"), "customers": ("id", "city")}.get(table, ())

    def keywords(self) -> tuple[str, ...]:
        return ("select", "set", "order")


def offered(before: str, after: str = "") -> tuple[str, ...]:
    return proposals(before, before + after, Words()).words


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("", True),
        (".tables", True),
        ("SELECT 1;", True),
        ("SELECT 1;  ", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT ';';", True),
        ("SELECT 1 -- done;", False),
        ("SELECT 1; -- done", True),
        ("SELECT 1 /* ;", False),
        ("SELECT $$;", False),
        ("SELECT $x$;$x$;", True),
        ('SELECT "its;', False),
        ("SELECT E'it\\'s';", True),
        ("SELECT E'it\\';", False),
        ("SELECT 1; /* a /* b */ c */", True),
        ("SELECT /* /* */ ;", False),
    ],
)
def test_a_statement_ends_with_its_semicolon(text: str, is_whole: bool) -> None:
    assert is_complete(text) is is_whole


def test_tables_are_offered_where_a_table_stands() -> None:
    assert offered("SELECT * FROM ") == ("orders", '"order items"', "customers")
    assert offered("SELECT * FROM ord") == ("orders", '"order items"')
    assert offered("select * from orders join cust") == ("customers",)


def test_columns_of_the_named_tables_come_before_tables_and_keywords() -> None:
    assert offered("SELECT ", " FROM customers") == ("id", "city", "orders", '"order items"', "customers")
    assert offered("SELECT o", " FROM orders") == ('"Order Date"', "orders", '"order items"', "order")
    assert offered("SEL") == ("SELECT",)
    assert offered("sel") == ("select",)


def test_columns_are_offered_behind_a_table_or_its_other_name() -> None:
    assert offered("SELECT customers.", " FROM customers") == ("id", "city")
    assert offered("SELECT c.ci", " FROM orders o JOIN customers AS c") == ("city",)
    assert offered("SELECT x.", " FROM orders o") == ()
    assert offered("FROM hakiri.") == ("tables",)


def test_the_letters_that_are_replaced_are_those_of_the_last_word() -> None:
    assert proposals("FROM cust", "FROM cust", Words()).letters == 4
    assert proposals("SELECT c.ci", "SELECT c.ci FROM customers c", Words()).letters == 2


def test_commands_of_the_shell_and_what_they_take_are_offered() -> None:
    assert offered(".t") == (".tables", ".timer")
    assert offered(".schema cu") == ("customers",)
    assert offered(".mode ") == ("table", "csv", "json")
    assert offered(".read ") == ()


def test_a_command_is_read_with_its_argument() -> None:
    assert parse_dot(".schema orders") == DotCommand(".schema", "orders")
    assert parse_dot(".exit") == DotCommand(".quit", "")
    assert parse_dot(".read 'my file.sql';") == DotCommand(".read", "my file.sql")


def test_a_command_that_is_none_is_told_the_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        parse_dot(".table")

    assert str(refused.value) == "the shell has no command `.table`"
    assert refused.value.hint == "did you mean `.tables`?"


def test_an_argument_that_is_none_of_the_choices_is_refused() -> None:
    with pytest.raises(UsageError, match="takes `on` or `off`"):
        chosen(parse_dot(".timer maybe"), "on", "off")


@pytest.mark.parametrize("argument", ["0", "-1", "many", ""])
def test_a_number_of_rows_is_above_zero(argument: str) -> None:
    with pytest.raises(UsageError, match="a number above 0"):
        most_rows(DotCommand(".rows", argument))


def test_every_command_is_in_the_help() -> None:
    assert help_lines()[:2] == [
        ".tables               list the tables",
        ".schema [TABLE]       show the columns of a table, or of all",
    ]
