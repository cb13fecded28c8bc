"""Random plans of allowed parts over one small table, mostly of the kind that Spark can run."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

from tests.support.plans import call, plan_of, proto, table

from hakiri.transforms.verify.functions import ALLOWED_FUNCTIONS

from pyspark.sql import functions as F  # isort: skip - the client is loaded by tests.support.plans
from pyspark.sql import Window

# Column → the expression that makes it, over a column `id`.
COLUMNS = {
    "id": "id",
    "n": "cast(id % 7 - 3 as int)",
    "x": "id / 3.0d",
    "c": "cast(id as decimal(10, 2))",
    "s": "concat('a-', id, ',é')",
    "b": "cast(concat('b', id) as binary)",
    "flag": "id % 2 = 0",
    "d": "date_add(date '2024-02-28', cast(id as int))",
    "at": "timestamp_seconds(1700000000 + id * 3600)",
    "tags": "array('x', concat('y', id))",
    "ns": "array(1, cast(id as int), null)",
    "lines": "array(named_struct('sku', concat('k', id), 'price', id * 1.5d))",
    "m": "map('k', cast(id as int))",
    "st": "named_struct('a', id, 'b', 'z')",
    "raw": 'concat(\'{"a": \', id, \', "b": [1, {"c": "d"}]}\')',
    "v": "parse_json('{\"a\": [1, 2]}')",
    "none": "cast(null as string)",
}
LITERALS = (
    *(0, 1, -1, 3, 100, 2**31 - 1, -(2**31), 2**62, 0.5, -1e300, True, None, b"\x01\xff", [1, 2]),
    *("", "a", "%s %d", "yyyy-MM-dd", "$.a[0]", "(a+)+$", "UTF-8", "SHA-256", "month", "\x00"),
    *(dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.timedelta(days=1)),
)
TYPES = (
    *("int", "string", "double", "date", "timestamp", "decimal(38, 18)"),
    *("array<string>", "variant", "binary", "map<string,int>"),
)
NAMES = tuple(sorted(ALLOWED_FUNCTIONS))
OFTEN = (
    "+",
    "-",
    "concat",
    "coalesce",
    "length",
    "upper",
    "size",
    "array",
    "when",
    "substring",
    "to_json",
    "cast",
)


def small_table(spark: Any) -> Any:
    """Twelve rows with a column of every type."""
    return spark.range(12).selectExpr(*(f"{made} AS {name}" for name, made in COLUMNS.items()))


def random_plan(random: Random) -> proto.Relation:
    frame = table()
    for _ in range(random.choice([1, 1, 2, 3])):
        frame = random_step(random, frame)
    return plan_of(frame)


def random_column(random: Random, depth: int = 2) -> Any:
    roll = random.random()
    if depth == 0 or roll < 0.35:
        return F.col(random.choice(tuple(COLUMNS)))
    if roll < 0.5:
        return F.lit(random.choice(LITERALS))
    if roll < 0.6:
        return random_column(random, depth - 1).try_cast(random.choice(TYPES))
    if roll < 0.65:
        return F.transform(random_column(random, depth - 1), lambda each: call(random.choice(NAMES), each))
    if roll < 0.7:
        window = Window.partitionBy("flag").orderBy("id")
        return call(random.choice(NAMES), random_column(random, depth - 1)).over(window)
    name = random.choice(NAMES if random.random() < 0.8 else OFTEN)
    return call(
        name, *(random_column(random, depth - 1) for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4])))
    )


def random_step(random: Random, frame: Any) -> Any:
    columns = {f"r{n}": random_column(random) for n in range(random.choice([1, 1, 2]))}
    roll = random.randrange(10)
    if roll < 5:
        return frame.withColumns(columns)
    if roll == 5:
        return frame.where(next(iter(columns.values())).isNotNull())
    if roll == 6:
        aggregates = [column.alias(name) for name, column in columns.items()]
        return frame.groupBy("flag").agg(
            *aggregates, *(F.first(name).alias(name) for name in COLUMNS if name != "flag")
        )
    if roll == 7:
        return frame.orderBy(*columns.values()).limit(random.choice([0, 5]))
    if roll == 8:
        return frame.dropDuplicates(["id"]).unionByName(frame).withColumns(columns)
    return frame.join(frame.groupBy("id").agg(F.count("*").alias("count")), "id").withColumns(columns)
