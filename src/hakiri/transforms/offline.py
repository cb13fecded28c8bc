"""DataFrames without Spark: everything that is written down in a plan works, everything that asks does not.

Import this after `load_client()`: it brings Spark's client with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, cast

from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.plan import LogicalPlan, Read
from pyspark.sql.connect.proto import Relation
from pyspark.sql.connect.session import SparkSession

from hakiri.core.errors import ExitCode, HakiriError
from hakiri.transforms.walking import named_tables, with_fresh_plan_ids

INPUT = "input"


class NeedsRows(HakiriError):
    """An author's function asks Spark for an answer while it is compiled."""

    code = "transforms.needs_rows"
    exit_code = ExitCode.USAGE

    def __init__(self) -> None:
        super().__init__(
            "it asks Spark for rows or for a schema, and none runs while a transform is compiled",
            hint="describe the result with columns alone: no schema, columns, count, collect, UDF or session",
        )


class _Nobody:
    """Stands where the session and its client are, and refuses to answer."""

    session_id = "offline"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # asked by Python itself, which can do without
            raise AttributeError(name)
        raise NeedsRows


class _Offline(_Nobody):
    client = _client = cast("Any", _Nobody())


_SESSION = cast("SparkSession", _Offline())


class Grafted(LogicalPlan):
    """A stored plan whose named tables are other frames. Each of them must be named at most once."""

    def __init__(self, relation: Relation, tables: Mapping[str, DataFrame]) -> None:
        plans = {name: frame._plan for name, frame in tables.items()}  # noqa: SLF001 - Spark has no other way
        super().__init__(plans.get(INPUT))
        self._relation = relation
        self._tables = plans

    def plan(self, session: Any) -> Relation:
        grafted = with_fresh_plan_ids(self._relation, LogicalPlan._fresh_plan_id)  # noqa: SLF001
        for leaf in named_tables(grafted):
            table = self._tables[leaf.read.named_table.unparsed_identifier]
            own_id = leaf.common.plan_id
            leaf.CopyFrom(table.plan(session))
            leaf.common.plan_id = own_id  # columns of the stored plan may point at it
        return grafted

    @property
    def observations(self) -> dict[str, Any]:
        return {
            name: observed for table in self._tables.values() for name, observed in table.observations.items()
        }


def offline_table(name: str) -> DataFrame:
    """A frame that stands for a table of this name."""
    return DataFrame(Read(name), _SESSION)


def relation_of(frame: DataFrame) -> Relation:
    """What a frame says is to be done, as Spark's protocol writes it."""
    client = cast("Any", frame.sparkSession).client
    return frame._plan.plan(client)  # noqa: SLF001 - Spark has no other way


def grafted(relation: Relation, tables: Mapping[str, DataFrame]) -> DataFrame:
    """The stored plan as a frame over these tables; `input` must be among them."""
    return DataFrame(Grafted(relation, tables), tables[INPUT].sparkSession)
