"""SQL and DataFrames give the same nodes, where both can say the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hakiri.engine.connect import load_client
from hakiri.transforms.sql import expression_plan, query_plan, type_plan, without_sql_text

load_client()

from pyspark.sql import types as T  # noqa: E402
from pyspark.sql.connect import functions as F  # noqa: E402
from pyspark.sql.connect.types import pyspark_types_to_proto_types  # noqa: E402
from pyspark.sql.connect.window import Window  # noqa: E402

from hakiri.transforms.offline import offline_table  # noqa: E402
from hakiri.transforms.sql.relations import messages_in  # noqa: E402

Columns = Callable[[], Any]
Frames = Callable[[Any, Any], Any]
c = F.col


def bare(plan: Any) -> Any:
    """The plan without what differs from run to run: ids, authors' lines, numbers of lambda variables."""
    names: dict[str, str] = {}
    for message in messages_in(plan):
        kind = message.DESCRIPTOR.name
        if kind in {"Relation", "Expression"}:
            message.ClearField("common")
        elif kind == "UnresolvedNamedLambdaVariable":
            name = message.name_parts[0]
            message.name_parts[0] = names.setdefault(name, f"v{len(names)}")
    return plan


EXPRESSIONS: list[tuple[str, Columns]] = [
    ("a", lambda: c("a")),
    ("a.b.c", lambda: c("a.b.c")),
    ("`order id`", lambda: c("order id")),
    ("`a.b`", lambda: c("`a.b`")),
    ("*", lambda: c("*")),
    ("t.*", lambda: c("t.*")),
    ("1", lambda: F.lit(1)),
    ("-1", lambda: F.lit(-1)),
    ("3000000000", lambda: F.lit(3000000000)),
    ("1.5D", lambda: F.lit(1.5)),
    ("1e3", lambda: F.lit(1000.0)),
    ("'x'", lambda: F.lit("x")),
    ("TRUE", lambda: F.lit(True)),
    ("NULL", lambda: F.lit(None)),
    ("X'01'", lambda: F.lit(b"\x01")),
    ("DATE '2024-02-29'", lambda: F.lit(date(2024, 2, 29))),
    ("INTERVAL '1 00:00:00' DAY TO SECOND", lambda: F.lit(timedelta(days=1))),
    ("a = 1", lambda: c("a") == 1),
    ("a <> 1", lambda: c("a") != 1),
    ("a < 1", lambda: c("a") < 1),
    ("a >= b", lambda: c("a") >= c("b")),
    ("a <=> NULL", lambda: c("a").eqNullSafe(None)),
    ("a + b * 2", lambda: c("a") + c("b") * 2),
    ("(a + b) * 2", lambda: (c("a") + c("b")) * 2),
    ("a - b - c", lambda: c("a") - c("b") - c("c")),
    ("a / 2", lambda: c("a") / 2),
    ("a % 2", lambda: c("a") % 2),
    ("-a", lambda: -c("a")),
    ("~a", lambda: F.bitwise_not("a")),
    ("a & 1", lambda: c("a").bitwiseAND(1)),
    ("a | 1", lambda: c("a").bitwiseOR(1)),
    ("a ^ 1", lambda: c("a").bitwiseXOR(1)),
    ("a << 2", lambda: F.shiftleft("a", 2)),
    ("a AND b", lambda: c("a") & c("b")),
    ("a OR b AND c", lambda: c("a") | (c("b") & c("c"))),
    ("a AND b AND c AND d", lambda: c("a") & c("b") & c("c") & c("d")),
    ("NOT a", lambda: ~c("a")),
    ("a IS NULL", lambda: c("a").isNull()),
    ("a IS NOT NULL", lambda: c("a").isNotNull()),
    ("a BETWEEN 1 AND 2", lambda: c("a").between(1, 2)),
    ("a NOT BETWEEN 1 AND 2", lambda: ~c("a").between(1, 2)),
    ("a IN (1, 2)", lambda: c("a").isin(1, 2)),
    ("a NOT IN ('x')", lambda: ~c("a").isin("x")),
    ("a LIKE 'x%'", lambda: c("a").like("x%")),
    ("a ILIKE 'x%'", lambda: c("a").ilike("x%")),
    ("a RLIKE 'x'", lambda: c("a").rlike("x")),
    ("a LIKE 'x/%' ESCAPE '/'", lambda: F.like("a", F.lit("x/%"), F.lit("/"))),
    ("a[0]", lambda: c("a")[0]),
    ("a['k']", lambda: c("a")["k"]),
    ("upper(a).b", lambda: F.upper("a")["b"]),
    ("CAST(a AS bigint)", lambda: c("a").cast(T.LongType())),
    ("a::decimal(5, 2)", lambda: c("a").cast(T.DecimalType(5, 2))),
    ("TRY_CAST(a AS string)", lambda: c("a").try_cast(T.StringType())),
    ("CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END", lambda: F.when(c("a"), 1).when(c("b"), 2).otherwise(3)),
    ("CASE WHEN a THEN 1 END", lambda: F.when(c("a"), 1)),
    ("CASE a WHEN 1 THEN 'x' END", lambda: F.when(c("a") == 1, "x")),
    ("a AS b", lambda: c("a").alias("b")),
    ("a b", lambda: c("a").alias("b")),
    ("posexplode(a) AS (p, x)", lambda: F.posexplode("a").alias("p", "x")),
    ("upper(a)", lambda: F.upper("a")),
    ("UPPER(a)", lambda: F.upper("a")),
    ("coalesce(a, b, 0)", lambda: F.coalesce("a", "b", F.lit(0))),
    ("concat(a, '-', b)", lambda: F.concat("a", F.lit("-"), "b")),
    ("a || b", lambda: F.concat("a", "b")),
    ("struct(a, b AS c)", lambda: F.struct("a", c("b").alias("c"))),
    ("map('k', a)", lambda: F.create_map(F.lit("k"), "a")),
    ("array(a, b)", lambda: F.array("a", "b")),
    ("transform(a, x -> x + 1)", lambda: F.transform("a", lambda x: x + 1)),
    ("filter(a, x -> x.b > 1)", lambda: F.filter("a", lambda x: x["b"] > 1)),
    ("aggregate(a, 0, (s, x) -> s + x)", lambda: F.aggregate("a", F.lit(0), lambda s, x: s + x)),
    ("substring(a, 1, 2)", lambda: F.substring("a", 1, 2)),
    ("substr(a, 1, 2)", lambda: c("a").substr(1, 2)),
    ("trim(a)", lambda: F.trim("a")),
    ("trim(BOTH 'x' FROM a)", lambda: F.trim("a", F.lit("x"))),
    ("trim(LEADING 'x' FROM a)", lambda: F.ltrim("a", F.lit("x"))),
    ("position('x' IN a)", lambda: F.position(F.lit("x"), "a")),
    ("overlay(a PLACING b FROM 2)", lambda: F.overlay("a", "b", 2)),
    ("extract(YEAR FROM a)", lambda: F.extract(F.lit("YEAR"), "a")),
    ("timestampadd(DAY, 1, a)", lambda: F.timestamp_add("DAY", F.lit(1), "a")),
    ("timestampdiff(HOUR, a, b)", lambda: F.timestamp_diff("HOUR", "a", "b")),
    ("date_add(a, 3)", lambda: F.date_add("a", 3)),
    ("CURRENT_DATE", F.current_date),
    ("to_timestamp(a)", lambda: F.to_timestamp("a")),
    ("count(*)", lambda: F.count(F.lit(1))),
    ("count(DISTINCT a, b)", lambda: F.count_distinct("a", "b")),
    ("sum(DISTINCT a)", lambda: F.sum_distinct("a")),
    ("first(a)", lambda: F.first("a")),
    ("last(a) IGNORE NULLS", lambda: F.last("a", ignorenulls=True)),
    (
        "lag(a) OVER (PARTITION BY b ORDER BY d)",
        lambda: F.lag("a").over(Window.partitionBy("b").orderBy("d")),
    ),
    (
        "row_number() OVER (PARTITION BY a, b ORDER BY d DESC, e NULLS LAST)",
        lambda: F.row_number().over(Window.partitionBy("a", "b").orderBy(F.desc("d"), F.asc_nulls_last("e"))),
    ),
    (
        "sum(a) OVER (PARTITION BY b ORDER BY d ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        lambda: F.sum("a").over(Window.partitionBy("b").orderBy("d").rowsBetween(-2, 0)),
    ),
    (
        "sum(a) OVER (PARTITION BY b ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        lambda: F.sum("a").over(
            Window.partitionBy("b")
            .orderBy("d")
            .rangeBetween(Window.unboundedPreceding, Window.unboundedFollowing)
        ),
    ),
    ("a COLLATE UNICODE", lambda: F.collate("a", "UNICODE")),
]

QUERIES: list[tuple[str, Frames]] = [
    ("SELECT * FROM input", lambda df, _: df),
    ("SELECT a, b FROM input", lambda df, _: df.select("a", "b")),
    (
        "SELECT a AS x, b + 1 AS y FROM input",
        lambda df, _: df.select(c("a").alias("x"), (c("b") + 1).alias("y")),
    ),
    ("SELECT * FROM input WHERE a > 1", lambda df, _: df.where(c("a") > 1)),
    ("SELECT a FROM input WHERE a > 1 AND b", lambda df, _: df.where((c("a") > 1) & c("b")).select("a")),
    ("SELECT DISTINCT a FROM input", lambda df, _: df.select("a").distinct()),
    ("SELECT *, upper(a) AS b FROM input", lambda df, _: df.select("*", F.upper("a").alias("b"))),
    ("SELECT a FROM input ORDER BY b DESC", lambda df, _: df.select("a").orderBy(F.desc("b"))),
    ("SELECT * FROM input SORT BY a", lambda df, _: df.sortWithinPartitions("a")),
    ("SELECT * FROM input LIMIT 3 OFFSET 1", lambda df, _: df.offset(1).limit(3)),
    ("SELECT max(a) AS m FROM input", lambda df, _: df.agg(F.max("a").alias("m"))),
    (
        "SELECT a, count(1) AS n, max(b) AS m FROM input GROUP BY a",
        lambda df, _: df.groupBy("a").agg(F.count(F.lit(1)).alias("n"), F.max("b").alias("m")),
    ),
    (
        "SELECT a, sum(b) AS s FROM input GROUP BY a HAVING s > 1 ORDER BY s DESC LIMIT 5",
        lambda df, _: (
            df.groupBy("a").agg(F.sum("b").alias("s")).where(c("s") > 1).orderBy(F.desc("s")).limit(5)
        ),
    ),
    (
        "SELECT max(b) AS m, a AS x FROM input GROUP BY a",
        lambda df, _: df.groupBy("a").agg(F.max("b").alias("m")).select("m", c("a").alias("x")),
    ),
    (
        "SELECT a, b, sum(d) AS s FROM input GROUP BY ROLLUP (a, b)",
        lambda df, _: df.rollup("a", "b").agg(F.sum("d").alias("s")),
    ),
    (
        "SELECT a, b, sum(d) AS s FROM input GROUP BY CUBE (a, b)",
        lambda df, _: df.cube("a", "b").agg(F.sum("d").alias("s")),
    ),
    (
        "SELECT a, sum(d) AS s FROM input GROUP BY GROUPING SETS ((a), ())",
        lambda df, _: df.groupingSets([["a"], []], "a").agg(F.sum("d").alias("s")),
    ),
    (
        "SELECT * FROM input AS l LEFT JOIN ref AS r ON l.a = r.a",
        lambda df, ref: df.alias("l").join(ref.alias("r"), c("l.a") == c("r.a"), "left"),
    ),
    ("SELECT * FROM input JOIN ref USING (a, b)", lambda df, ref: df.join(ref, ["a", "b"])),
    ("SELECT * FROM input ANTI JOIN ref USING (a)", lambda df, ref: df.join(ref, ["a"], "anti")),
    ("SELECT * FROM input CROSS JOIN ref", lambda df, ref: df.crossJoin(ref)),
    (
        "SELECT full, on + 1 left FROM input FULL JOIN ref ON inner",
        lambda df, ref: df.join(ref, c("inner"), "full").select("full", (c("on") + 1).alias("left")),
    ),
    ("SELECT * FROM input UNION ALL SELECT * FROM ref", lambda df, ref: df.union(ref)),
    ("SELECT * FROM input UNION SELECT * FROM ref", lambda df, ref: df.union(ref).distinct()),
    ("SELECT * FROM input INTERSECT SELECT * FROM ref", lambda df, ref: df.intersect(ref)),
    ("SELECT * FROM input EXCEPT ALL SELECT * FROM ref", lambda df, ref: df.exceptAll(ref)),
    ("SELECT * FROM input EXCEPT SELECT * FROM ref", lambda df, ref: df.subtract(ref)),
    (
        "SELECT * FROM input LATERAL VIEW explode(xs) v AS x",
        lambda df, _: df.select("*", F.explode("xs").alias("x")),
    ),
    (
        "SELECT a, x FROM input LATERAL VIEW OUTER posexplode(xs) v AS p, x WHERE v.p > 0",
        lambda df, _: (
            df.select("*", F.posexplode_outer("xs").alias("p", "x")).where(c("p") > 0).select("a", "x")
        ),
    ),
    (
        "SELECT a FROM (SELECT a, b FROM input WHERE b > 1)",
        lambda df, _: df.where(c("b") > 1).select("a", "b").select("a"),
    ),
    (
        "WITH x AS (SELECT a FROM input) SELECT a FROM x",
        lambda df, _: df.select("a").alias("x").select("a"),
    ),
    (
        "SELECT * FROM input WHERE a IN (SELECT a FROM ref)",
        lambda df, ref: df.where(c("a").isin(ref.select("a"))),
    ),
    (
        "SELECT * FROM input WHERE EXISTS (SELECT * FROM ref WHERE ref.a = input.a)",
        lambda df, ref: df.alias("input").where(
            ref.alias("ref").where(c("ref.a") == c("input.a").outer()).exists()
        ),
    ),
    (
        "SELECT a, (SELECT max(b) AS m FROM ref) AS m FROM input",
        lambda df, ref: df.select("a", ref.agg(F.max("b").alias("m")).scalar().alias("m")),
    ),
]

TYPES: list[tuple[str, T.DataType]] = [
    ("bigint", T.LongType()),
    ("LONG", T.LongType()),
    ("int", T.IntegerType()),
    ("smallint", T.ShortType()),
    ("tinyint", T.ByteType()),
    ("float", T.FloatType()),
    ("real", T.FloatType()),
    ("double", T.DoubleType()),
    ("boolean", T.BooleanType()),
    ("string", T.StringType()),
    ("char(3)", T.CharType(3)),
    ("varchar(3)", T.VarcharType(3)),
    ("binary", T.BinaryType()),
    ("date", T.DateType()),
    ("timestamp", T.TimestampType()),
    ("timestamp_ltz", T.TimestampType()),
    ("timestamp_ntz", T.TimestampNTZType()),
    ("time(3)", T.TimeType(3)),
    ("decimal", T.DecimalType(10, 0)),
    ("numeric(5)", T.DecimalType(5, 0)),
    ("dec(38, 18)", T.DecimalType(38, 18)),
    ("void", T.NullType()),
    ("variant", T.VariantType()),
    ("interval", T.CalendarIntervalType()),
    ("interval day", T.DayTimeIntervalType(0, 0)),
    ("interval day to second", T.DayTimeIntervalType(0, 3)),
    ("interval year to month", T.YearMonthIntervalType(0, 1)),
    ("array<int>", T.ArrayType(T.IntegerType())),
    ("array<array<string>>", T.ArrayType(T.ArrayType(T.StringType()))),
    ("map<string,array<int>>", T.MapType(T.StringType(), T.ArrayType(T.IntegerType()))),
    ("struct<>", T.StructType([])),
    (
        "struct<a: int, `b c` string NOT NULL>",
        T.StructType([T.StructField("a", T.IntegerType()), T.StructField("b c", T.StringType(), False)]),
    ),
]


@pytest.mark.parametrize(("text", "frame"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_an_expression_gives_the_nodes_that_columns_give(text: str, frame: Columns) -> None:
    assert bare(expression_plan(text)) == bare(frame().to_plan(None))


@pytest.mark.spec("HP-092")
@pytest.mark.parametrize(("text", "frame"), QUERIES, ids=[text for text, _ in QUERIES])
def test_a_query_gives_the_plan_that_dataframes_give(text: str, frame: Frames) -> None:
    made = frame(offline_table("input"), offline_table("ref"))._plan.plan(None)

    plan = query_plan(text, tables={"input", "ref"})

    assert without_plan_ids(plan) == without_plan_ids(made)


@pytest.mark.parametrize(("text", "kind"), TYPES, ids=[text for text, _ in TYPES])
def test_a_type_is_the_type_that_spark_s_client_sends(text: str, kind: T.DataType) -> None:
    assert type_plan(text) == pyspark_types_to_proto_types(kind)


def test_a_decimal_has_the_precision_of_its_digits() -> None:
    literal = expression_plan("-012.340").literal.decimal

    assert (Decimal(literal.value), literal.precision, literal.scale) == (Decimal("-12.340"), 5, 3)


TEXTS: list[tuple[str, Frames, Frames]] = [
    ("where", lambda df, _: df.where("a > 1"), lambda df, _: df.where(c("a") > 1)),
    (
        "selectExpr",
        lambda df, _: df.selectExpr("a + 1 AS b", "*", "upper(s)"),
        lambda df, _: df.select((c("a") + 1).alias("b"), "*", F.upper("s")),
    ),
    (
        "an aggregate",
        lambda df, _: df.groupBy("a").agg(F.expr("max(b) AS m")).where("m IS NOT NULL"),
        lambda df, _: df.groupBy("a").agg(F.max("b").alias("m")).where(c("m").isNotNull()),
    ),
    (
        "a lambda",
        lambda df, _: df.select(F.transform("xs", lambda x: F.concat(x, F.expr("b + 1")))),
        lambda df, _: df.select(F.transform("xs", lambda x: F.concat(x, c("b") + 1))),
    ),
    (
        "a window",
        lambda df, _: df.select(
            F.sum(F.expr("a * 2")).over(Window.partitionBy(F.expr("b + 1")).orderBy(F.expr("d % 2").desc()))
        ),
        lambda df, _: df.select(
            F.sum(c("a") * 2).over(Window.partitionBy(c("b") + 1).orderBy((c("d") % 2).desc()))
        ),
    ),
    (
        "an order",
        lambda df, _: df.orderBy(F.expr("a % 2").desc()),
        lambda df, _: df.orderBy((c("a") % 2).desc()),
    ),
    (
        "a join",
        lambda df, ref: df.alias("l").join(ref.alias("r"), F.expr("l.a = r.a AND l.b > 1")),
        lambda df, ref: df.alias("l").join(ref.alias("r"), (c("l.a") == c("r.a")) & (c("l.b") > 1)),
    ),
    (
        "a cast",
        lambda df, _: df.withColumn("a", c("a").cast("array<bigint>")),
        lambda df, _: df.withColumn("a", c("a").cast(T.ArrayType(T.LongType()))),
    ),
    (
        "text deep inside",
        lambda df, _: df.select(F.when(F.expr("a > 1"), F.array(F.struct(F.expr("b").alias("x"))))),
        lambda df, _: df.select(F.when(c("a") > 1, F.array(F.struct(c("b").alias("x"))))),
    ),
]


def without_plan_ids(plan: Any) -> Any:
    """Bare, with the ids of subqueries counted from one in the order in which they are met."""
    ids: dict[int, int] = {}
    for message in messages_in(plan):
        if message.DESCRIPTOR.name == "SubqueryExpression":
            message.plan_id = ids.setdefault(message.plan_id, len(ids) + 1)
    return bare(plan)


@pytest.mark.parametrize(("texts", "columns"), [pair[1:] for pair in TEXTS], ids=[pair[0] for pair in TEXTS])
def test_text_in_a_dataframe_becomes_the_nodes_of_columns(texts: Frames, columns: Frames) -> None:
    tables = (offline_table("input"), offline_table("ref"))
    plan = texts(*tables)._plan.plan(None)
    before = plan.SerializeToString(deterministic=True)

    replaced = without_sql_text(plan)

    assert bare(replaced) == bare(columns(*tables)._plan.plan(None))
    assert plan.SerializeToString(deterministic=True) == before


def test_a_plan_without_text_stays_as_it_is() -> None:
    df = offline_table("input")
    plan = df.where(c("a") > 1).groupBy("b").agg(F.max("d")).alias("x")._plan.plan(None)

    assert without_sql_text(plan) == plan


def test_nodes_keep_the_author_s_line_of_the_text_they_replace() -> None:
    plan = offline_table("input").select(F.expr("a + 1"))._plan.plan(None)
    plan.project.expressions[0].common.origin.python_origin.call_site = "transforms/orders.py:7"

    replaced = without_sql_text(plan)

    expression = replaced.project.expressions[0]
    assert expression.unresolved_function.function_name == "+"
    assert expression.common.origin.python_origin.call_site == "transforms/orders.py:7"


def test_a_whole_query_in_a_plan_becomes_nodes_too() -> None:
    plan = offline_table("input")._plan.plan(None)
    plan.sql.query = "SELECT a FROM anything"

    assert bare(without_sql_text(plan)) == bare(offline_table("anything").select("a")._plan.plan(None))
