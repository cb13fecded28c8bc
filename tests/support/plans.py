"""Plans without a server: frames over named tables, and the protobuf that Spark's client makes of them."""

from __future__ import annotations

from typing import Any

from hakiri.engine.connect import load_client

load_client()

from pyspark.sql.connect import proto  # noqa: E402
from pyspark.sql.connect.expressions import UnresolvedFunction  # noqa: E402

from hakiri.transforms.offline import offline_table, relation_of  # noqa: E402


def table(name: str = "input") -> Any:
    """A frame over a table of this name."""
    return offline_table(name)


def plan_of(frame: Any) -> proto.Relation:
    return relation_of(frame)


def read_of(name: str = "input") -> proto.Relation:
    """The smallest plan: a table as it is."""
    return plan_of(table(name))


def call(name: str, *columns: Any) -> Any:
    """A column that calls a function by any name, also one that Spark's client would not write."""
    from pyspark.sql.connect.column import Column

    return Column(UnresolvedFunction(name, [column._expr for column in columns]))
