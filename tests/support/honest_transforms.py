"""What authors write every day: steps over the table `input` and the references `countries` and `rates`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.support.plans import table

from pyspark.sql import functions as F  # isort: skip - the client is loaded by tests.support.plans
from pyspark.sql import Window
from pyspark.sql.types import ArrayType, DecimalType, LongType, StringType, StructField, StructType

INPUTS = ("input", "countries", "rates")

Step = Callable[[Any], Any]

BY_DAY = Window.partitionBy("customer").orderBy(F.desc("at"), "id")
LINE = StructType([StructField("sku", StringType()), StructField("price", DecimalType(10, 2))])
DAY = dt.timedelta(days=1)


def ref(name: str = "countries") -> Any:
    return table(name)


def join_on_code(orders: Any, countries: Any) -> Any:
    return orders.join(countries, orders["country"] == countries["code"], "left_outer")


# What it shows → the step.
STEPS: dict[str, Step] = {
    "the rows as they are": lambda df: df,
    "select": lambda df: df.select("id", F.col("user.login").alias("author")),
    "select all and more": lambda df: df.select("*", F.length("body").alias("body_len")),
    "select from a struct": lambda df: df.select("id", "user.*"),
    "columns by regular expression": lambda df: df.select(df.colRegex("`^amount_.*`")),
    "a column of the frame": lambda df: df.select(df["id"], df.total),
    "with columns": lambda df: df.withColumns({"a": F.lit(1), "b": F.col("x") + F.col("y") * 2}),
    "rename": lambda df: df.withColumnRenamed("n", "count").withColumnsRenamed({"a": "b", "c": "d"}),
    "all columns renamed": lambda df: df.toDF("a", "b"),
    "drop": lambda df: df.drop("secret", F.col("other")),
    "where": lambda df: df.where((F.col("state") == "open") & F.col("n").between(1, 5) & ~F.col("gone")),
    "in a list": lambda df: df.where(F.col("state").isin("open", "closed") | F.col("x").isNull()),
    "like": lambda df: df.where(F.col("a").like("x%") | F.col("a").rlike("^y+$") | F.col("a").ilike("%z")),
    "text predicates": lambda df: df.where(
        F.col("a").startswith("x") | F.col("a").endswith("y") | F.col("a").contains("z")
    ),
    "null-safe equality": lambda df: df.where(F.col("a").eqNullSafe(F.col("b"))),
    "cast by name": lambda df: df.select(F.col("a").cast("decimal(10, 2)"), F.col("b").cast("array<string>")),
    "cast by type": lambda df: df.select(F.col("a").cast(LongType()), F.col("b").cast(ArrayType(LINE))),
    "try cast": lambda df: df.select(F.col("a").try_cast("bigint")),
    "milliseconds to a time": lambda df: df.select(F.timestamp_millis("ms"), F.to_utc_timestamp("t", "CET")),
    "dates": lambda df: df.select(
        F.to_timestamp("created_at", "yyyy-MM-dd'T'HH:mm:ssX"),
        F.date_trunc("month", "at"),
        F.date_add("day", 7),
        F.datediff("a", "b"),
        F.months_between("a", "b"),
        F.date_format("at", "yyyy-MM"),
        F.unix_timestamp("at"),
        F.make_date("y", "m", "d"),
        F.extract(F.lit("year"), "at"),
        F.dayofweek("at"),
        F.timestamp_diff("HOUR", "a", "b"),
    ),
    "literals of every kind": lambda df: df.select(
        F.lit(None),
        F.lit(True),
        F.lit(3),
        F.lit(2**40),
        F.lit(1.5),
        F.lit("x"),
        F.lit(b"\x00\x01"),
        F.lit(Decimal("12.50")),
        F.lit(dt.date(2024, 2, 29)),
        F.lit(dt.datetime(2024, 2, 29, 12, 0, tzinfo=dt.UTC)),
        F.lit(DAY),
        F.lit([1, 2, 3]),
    ),
    "choices": lambda df: df.select(
        F.when(F.col("n") > 10, "many").when(F.col("n") > 1, "some").otherwise("one"),
        F.coalesce("a", "b", F.lit(0)),
        F.greatest("a", "b"),
        F.nullif(F.col("a"), F.lit("")),
    ),
    "strings": lambda df: df.select(
        F.upper(F.trim("a")),
        F.initcap("a"),
        F.substring("a", 1, 3),
        F.split("a", ","),
        F.element_at(F.split("email", "@"), -1),
        F.concat_ws("-", "a", "b"),
        F.translate("a", "ab", "xy"),
        F.replace("a", F.lit("x"), F.lit("y")),
        F.levenshtein("a", "b"),
        F.reverse("a"),
    ),
    "padding": lambda df: df.select(
        F.lpad("n", 8, "0"), F.rpad("n", 3, " "), F.format_string("%05d-%s", "n", "a")
    ),
    "numbers as text": lambda df: df.select(F.format_number("n", 2), F.to_char("n", F.lit("999.99"))),
    "masks": lambda df: df.select(
        F.concat(F.repeat(F.lit("*"), F.length("card") - 4), F.right("card", F.lit(4))),
        F.mask("name"),
        F.regexp_replace("mail", r"^[^@]+", "***"),
    ),
    "hashes": lambda df: df.select(F.sha2("mail", 256), F.md5("mail"), F.xxhash64("a", "b"), F.crc32("a")),
    "regular expressions": lambda df: df.select(
        F.regexp_extract("a", r"(\d+)-(\d+)", 1),
        F.regexp_extract_all("a", F.lit(r"\d+")),
        F.regexp_count("a", F.lit("x")),
    ),
    "URLs": lambda df: df.select(
        F.parse_url("u", F.lit("HOST")), F.url_decode("u"), F.try_parse_url("u", F.lit("PATH"))
    ),
    "numbers": lambda df: df.select(
        F.round("n", 2),
        F.round("n"),
        F.floor("n"),
        F.ceil("n"),
        F.abs("n"),
        F.pow("n", 2),
        F.log1p("n"),
        F.pmod("n", F.lit(7)),
        -F.col("n"),
        F.col("n") % 3,
        F.col("n") / 2,
        F.try_divide("n", "m"),
        F.bround("n", -2),
    ),
    "bits": lambda df: df.select(
        F.col("a").bitwiseAND(7), F.bitwise_not("a"), F.shiftleft("a", 2), F.bit_count("a")
    ),
    "list of structs": lambda df: df.select(
        F.transform("labels", lambda label: label["name"]).alias("labels"),
        F.transform("labels", lambda label, i: F.struct(i.alias("nth"), label["name"].alias("name"))),
        F.filter("labels", lambda label: label["color"] == "red"),
        F.exists("labels", lambda label: label["name"].isNull()),
        F.aggregate("lines", F.lit(0.0), lambda total, line: total + line["price"]),
    ),
    "lists": lambda df: df.select(
        F.array_distinct("a"),
        F.array_sort("a"),
        F.size("a"),
        F.array_contains("a", "x"),
        F.flatten("a"),
        F.slice("a", 1, 3),
        F.array_join("a", ","),
        F.arrays_zip("a", "b"),
        F.array_union("a", "b"),
        F.col("a")[0],
        F.array_insert("a", 1, F.lit("x")),
        F.zip_with("a", "b", lambda x, y: x + y),
    ),
    "maps": lambda df: df.select(
        F.create_map(F.lit("a"), "x"),
        F.map_keys("m"),
        F.map_filter("m", lambda k, v: v > 1),
        F.col("m")["key"],
        F.transform_values("m", lambda k, v: v * 2),
        F.map_from_entries("e"),
        F.str_to_map("s", F.lit(","), F.lit("=")),
    ),
    "structs": lambda df: df.select(
        F.struct("a", F.col("b").alias("c")),
        F.col("user").withField("full", F.lit("x")),
        F.col("user").dropFields("mail"),
        F.col("user").getField("login"),
        F.named_struct(F.lit("a"), "x"),
    ),
    "explode": lambda df: df.select("id", F.explode("lines").alias("line")).select("id", "line.sku"),
    "explode with positions": lambda df: df.select("id", F.posexplode_outer("lines").alias("nth", "line")),
    "inline": lambda df: df.select("id", F.inline("lines")),
    "a row a day": lambda df: df.select(
        "id", F.explode(F.sequence("starts", "ends", F.lit(DAY))).alias("day")
    ),
    "a row a day between dates": lambda df: df.select(F.explode(F.sequence(F.to_date("a"), F.to_date("b")))),
    "a row a month": lambda df: df.select(F.sequence("starts", "ends", F.make_interval(months=F.lit(1)))),
    "a row a number": lambda df: df.select(F.explode(F.sequence(F.lit(1), F.lit(12)))),
    "positions of a list": lambda df: df.select(F.sequence(F.lit(1), F.size("lines"), F.lit(1))),
    "stack": lambda df: df.select("id", F.stack(F.lit(2), F.lit("a"), "a", F.lit("b"), "b").alias("k", "v")),
    "a path in JSON": lambda df: df.select(
        F.get_json_object("raw", "$.user.name"), F.json_tuple("raw", "a", "b")
    ),
    "JSON by a schema": lambda df: df.select(
        F.from_json("raw", "id bigint, tags array<string>, user struct<name: string, age: int>"),
        F.from_json("raw", LINE),
        F.from_json("raw", ArrayType(LINE), {"mode": "PERMISSIVE", "dateFormat": "dd.MM.yyyy"}),
        F.from_json("raw", F.schema_of_json(F.lit('{"a": 1}'))),
    ),
    "to JSON": lambda df: df.select(
        F.to_json(F.struct("a", "b")), F.to_json("s", {"ignoreNullFields": "false"})
    ),
    "CSV": lambda df: df.select(F.from_csv("line", "a int, b string", {"sep": ";"}), F.to_csv(F.struct("a"))),
    "variants": lambda df: df.select(
        F.variant_get(F.parse_json("raw"), "$.user.age", "int"),
        F.try_variant_get(F.try_parse_json("raw"), "$.items[0]", "array<string>"),
        F.schema_of_variant(F.parse_json("raw")),
    ),
    "window functions": lambda df: df.select(
        "id",
        F.row_number().over(BY_DAY).alias("nth"),
        F.lag("total", 1, 0).over(BY_DAY),
        F.sum("total").over(BY_DAY.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
        F.avg("total").over(BY_DAY.rowsBetween(-6, 0)),
        F.ntile(4).over(BY_DAY),
        F.first("x", ignorenulls=True).over(BY_DAY),
    ),
    "the newest row of each": lambda df: (
        df.withColumn("nth", F.row_number().over(BY_DAY)).where(F.col("nth") == 1).drop("nth")
    ),
    "group and aggregate": lambda df: df.groupBy("customer", F.to_date("at").alias("day")).agg(
        F.count("*").alias("n"),
        F.sum("total"),
        F.avg("total"),
        F.min("at"),
        F.max_by("state", "at"),
        F.count_distinct("sku"),
        F.collect_set("sku"),
        F.approx_count_distinct("sku", 0.02),
        F.percentile_approx("total", 0.5, 1000),
        F.sum(F.when(F.col("x") > 1, 1).otherwise(0)),
    ),
    "short aggregates": lambda df: (
        df.groupBy("a")
        .agg({"b": "max", "c": "avg"})
        .unionByName(df.groupBy("a").count(), allowMissingColumns=True)
    ),
    "aggregate of all": lambda df: df.agg(
        F.max("at"), F.count_if(F.col("n") > 3), F.listagg("a", F.lit(","))
    ),
    "pivot": lambda df: df.groupBy("customer").pivot("kind", ["a", "b"]).agg(F.sum("n")),
    "rollup and cube": lambda df: (
        df.rollup("a", "b")
        .agg(F.grouping_id(), F.sum("n"))
        .union(df.cube("a", "b").agg(F.grouping("a"), F.sum("n")))
    ),
    "grouping sets": lambda df: df.groupingSets([["a"], ["b"], []], "a", "b").agg(F.sum("n")),
    "windows of time": lambda df: df.groupBy(F.window("at", "1 hour", "15 minutes"), "a").count(),
    "sessions": lambda df: df.groupBy(F.session_window("at", "30 minutes"), "customer").count(),
    "join on a name": lambda df: df.join(ref(), "country", "left"),
    "join on several names": lambda df: df.join(ref(), ["country", "year"], "inner"),
    "join on a condition": lambda df: join_on_code(df, ref()),
    "join on a span": lambda df: df.alias("o").join(
        F.broadcast(ref("rates")).alias("r"),
        (F.col("o.cur") == F.col("r.cur")) & F.col("o.at").between(F.col("r.since"), F.col("r.until")),
    ),
    "semi and anti joins": lambda df: df.join(ref(), "code", "semi").join(ref("rates"), "code", "anti"),
    "full and right joins": lambda df: df.join(ref(), "code", "full").join(ref("rates"), "code", "right"),
    "join with itself": lambda df: df.join(df.groupBy("customer").agg(F.sum("n").alias("all")), "customer"),
    "union": lambda df: df.union(df).unionByName(df, allowMissingColumns=True),
    "intersect and except": lambda df: df.intersect(df).exceptAll(df).subtract(df),
    "distinct": lambda df: df.distinct().dropDuplicates(["id"]),
    "sort and limit": lambda df: df.orderBy(F.desc_nulls_last("at"), "id").offset(5).limit(10),
    "sort within partitions": lambda df: df.repartition(8, "customer").sortWithinPartitions("id").coalesce(2),
    "missing values": lambda df: (
        df.fillna({"a": 0, "b": "x"}).dropna(subset=["id"]).replace({"n/a": None}, subset=["b"])
    ),
    "unpivot": lambda df: df.unpivot("id", ["jan", "feb"], "month", "value"),
    "to a schema": lambda df: df.to(LINE),
    "alias": lambda df: df.alias("o").select("o.id", "o.*"),
    "exists": lambda df: df.where(ref().where(F.col("code") == df["country"].outer()).exists()),
    "scalar subquery": lambda df: df.where(F.col("n") > df.agg(F.avg("n")).scalar()).where(
        F.col("m") > df.agg(F.avg("m")).scalar()
    ),
    "in a subquery": lambda df: df.where(F.col("country").isin(ref().select("code"))),
    "function by name": lambda df: df.select(F.call_function("upper", "a"), F.call_function("abs", "n")),
    "checks": lambda df: df.select(
        F.assert_true(F.col("n") > 0), F.when(F.col("n") < 0, F.raise_error(F.lit("negative")))
    ),
    "sketches": lambda df: df.groupBy("a").agg(
        F.hll_sketch_estimate(F.hll_sketch_agg("b", 12)), F.hll_sketch_agg("b")
    ),
    "vectors": lambda df: df.select(F.vector_cosine_similarity("a", "b"), F.vector_norm("a")),
    "encodings": lambda df: df.select(
        F.base64("a"), F.unhex("a"), F.decode("a", "UTF-8"), F.conv("a", 16, 10), F.hex("n")
    ),
    "a column named user": lambda df: df.select("user", df["current_date"]),
}
