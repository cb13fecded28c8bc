"""Values that should be unique and are not, among the rows that one attempt has written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, cast

from hakiri.pipelines.expectations.compiled import Expectation, quoted

if TYPE_CHECKING:
    from pyspark.sql.connect.dataframe import DataFrame

_NAME, _COUNT, _ROW, _VALUE = "_name", "_count", "_hakiri_row", "_value"


def duplicates(rows: DataFrame, expectation: Expectation, *, primary_key: Sequence[str] = ()) -> DataFrame:
    """The `_position` of every row whose value another row with a lower one has, as a frame.

    Deletes and NULLs do not count. Where the table has another key, versions of one row are one row: the
    newest. Of a column that is the key itself every row counts.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from hakiri.store.rows import POSITION

    nth = F.row_number().over(Window.partitionBy(_VALUE).orderBy(POSITION))
    numbered = _compared(rows, expectation, primary_key).select(POSITION, nth.alias("_nth"))
    return cast("DataFrame", numbered.where("_nth > 1").drop("_nth"))


def repeats_in(
    rows: DataFrame, expectations: Sequence[Expectation], *, primary_key: Sequence[str] = ()
) -> dict[str, int]:
    """How many rows repeat a value, for each of these expectations by name. One job for all of them.

    `rows` are those of one attempt, read back from its files before it is committed. To set aside what an
    expectation sends to quarantine use `repeated_rows`; it names as many rows as are counted here.
    """
    from pyspark.sql import functions as F

    if not expectations:
        return {}
    counts = []
    for each in expectations:
        compared = _compared(rows, each, primary_key)
        repeats = compared.groupBy(_VALUE).agg((F.count(F.lit(1)) - 1).alias(_COUNT))
        counts.append(
            repeats.agg(F.lit(each.name).alias(_NAME), F.coalesce(F.sum(_COUNT), F.lit(0)).alias(_COUNT))
        )
    together = reduce(lambda one, other: one.unionAll(other), counts)
    return {row[_NAME]: int(row[_COUNT]) for row in together.collect()}  # a row for each expectation


def repeated_rows(
    rows: DataFrame, expectations: Sequence[Expectation], *, primary_key: Sequence[str] = ()
) -> DataFrame | None:
    """`_position` and `_reason` of every row that goes to quarantine for repeating a value, each row once.

    The reason is that of the first expectation. None if no expectation says `quarantine`.
    """
    from pyspark.sql import functions as F

    from hakiri.store.rows import POSITION, REASON

    frames = [
        duplicates(rows, each, primary_key=primary_key).select(
            POSITION, F.lit(number).alias(_NAME), F.lit(each.reason).alias(REASON)
        )
        for number, each in enumerate(expectations)
        if each.on_fail == "quarantine"
    ]
    if not frames:
        return None
    together = reduce(lambda one, other: one.unionAll(other), frames)
    return cast("DataFrame", together.groupBy(POSITION).agg(F.min_by(REASON, _NAME).alias(REASON)))


def _compared(rows: DataFrame, expectation: Expectation, primary_key: Sequence[str]) -> DataFrame:
    """Position and value of the rows that must differ from each other."""
    from pyspark.sql import functions as F

    from hakiri.store.rows import OP, POSITION, Op

    column = expectation.spec.column or ""
    value = F.col(quoted(column))
    each = F.struct(F.col(POSITION), F.col(OP), value.alias(_VALUE)).alias(_ROW)
    has_versions = primary_key and tuple(primary_key) != (column,)
    key = [F.col(quoted(part)) for part in primary_key]
    newest = F.max_by(each, POSITION).alias(_ROW)
    compared = rows.groupBy(*key).agg(newest) if has_versions else rows.select(each)
    is_alive = ~F.col(OP).eqNullSafe(Op.DELETE.value)
    counting = compared.select(f"{_ROW}.*").where(is_alive & F.col(_VALUE).isNotNull())
    return cast("DataFrame", counting.select(POSITION, _VALUE))
