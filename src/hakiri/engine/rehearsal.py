"""A little of everything that pipelines do in Spark, so that the archive knows the classes it takes."""

from __future__ import annotations

from pathlib import Path

from hakiri.engine.connect import connect


def rehearse(address: str, workplace: Path) -> None:
    """Read and write every built-in format, aggregate, join, sort, window, and run Python in a task."""
    spark = connect(address)
    import pyarrow as pa
    from pyspark.sql import Observation, Window
    from pyspark.sql import functions as F

    folder = str(workplace)
    rows = spark.range(2_000).select(
        "id",
        (F.col("id") % 7).alias("kind"),
        F.concat_ws("-", F.lit("row"), F.col("id").cast("string")).alias("name"),
        F.timestamp_seconds(F.col("id") * 60).alias("at"),
        F.struct(F.col("id").alias("n"), F.array(F.lit("a"), F.lit("b")).alias("tags")).alias("nested"),
    )
    seen = Observation("rows")
    rows.observe(seen, F.count(F.lit(1)).alias("rows"), F.max("at").alias("cursor")).write.parquet(
        f"{folder}/p"
    )
    rows.drop("nested").write.option("header", value=True).csv(f"{folder}/c")
    rows.write.json(f"{folder}/j")
    csv = spark.read.csv(f"{folder}/c", header=True, inferSchema=True)
    parquet = spark.read.schema(rows.schema).parquet(f"{folder}/p")
    newest = Window.partitionBy("kind").orderBy(F.desc("at"), F.desc("id"))
    latest = parquet.withColumn("nth", F.row_number().over(newest)).where("nth = 1").drop("nth")
    latest.join(csv.select("id", F.col("name").alias("other")), "id", "left").sort("kind").write.parquet(
        f"{folder}/l"
    )
    spark.read.json(f"{folder}/j").groupBy("kind").agg(
        F.count(F.lit(1)).alias("rows"), F.sum("id"), F.collect_set("name")
    ).limit(10).toArrow()
    spark.createDataFrame(pa.table({"a": [1, 2], "b": ["x", "y"]})).createOrReplaceTempView("small")
    spark.sql("SELECT a, upper(b) AS b FROM small WHERE a > 1 ORDER BY a").toArrow()
    rows.select("id").mapInArrow(lambda batches: batches, "id bigint").write.parquet(f"{folder}/m")
    spark.stop()
