"""The doors of the parser: a query, an expression or a type, from text to plan."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeVar

from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.expressions import read_named
from hakiri.transforms.sql.nodes import messages
from hakiri.transforms.sql.queries import continue_query, read_query
from hakiri.transforms.sql.reading import Reading
from hakiri.transforms.sql.relations import with_qualifiers
from hakiri.transforms.sql.scopes import Scope
from hakiri.transforms.sql.types import read_type

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import DataType, Expression, Relation

    _Plan = TypeVar("_Plan", DataType, Expression, Relation)


def query_plan(text: str, *, tables: Collection[str]) -> Relation:
    """The plan of one SELECT query over these tables, which stay in it as reads by name.

    Raises BadSql, with line and column, for text that Spark would refuse to parse, for a table that is
    none of these, and for what has no sound plan here.
    """
    return with_qualifiers(_read(text, lambda cursor: _query(cursor, tables)))


def any_query_plan(text: str) -> Relation:
    """The plan of one SELECT query over any tables: whoever takes it must look at its reads."""
    return with_qualifiers(_read(text, lambda cursor: _query(cursor, None)))


def expression_plan(text: str) -> Expression:
    """The plan of one expression as `F.expr` takes it: with an alias, or a star, if it has one."""
    return _read(text, lambda cursor: read_named(Reading(cursor=cursor)))


def type_plan(text: str) -> DataType:
    """The type that a text such as `array<bigint>` names."""
    return _read(text, read_type)


def _query(cursor: Cursor, tables: Collection[str] | None) -> Relation:
    known = None if tables is None else {name.lower(): name for name in tables}
    scope = Scope(cursor=cursor, read_query=read_query, continue_query=continue_query, tables=known)
    return read_query(scope)


def _read(text: str, read: Callable[[Cursor], _Plan]) -> _Plan:
    cursor = Cursor(text)
    messages()
    from google.protobuf.message import DecodeError

    try:
        made = read(cursor)
        cursor.expect_end()
        return type(made).FromString(made.SerializeToString())
    except DecodeError:
        return cursor.fail(
            "the plan is nested deeper than Spark's protocol allows",
            "move an inner part into a step of its own",
        )
