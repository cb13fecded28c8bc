"""Why something is not in the allow list, and what an author writes instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A clause that follows the name of what is refused, and an order."""

    problem: str
    hint: str


SQL_TEXT = Reason(
    "is SQL text, which is translated into plan nodes when a transform is compiled",
    "run `hakiri compile` again, and write the step with columns if it is still there",
)
CODE = Reason(
    "runs code, and a plan holds none",
    "use the functions of pyspark.sql.functions",
)
ANOTHER_READ = Reason(
    "reads something other than the declared inputs",
    "declare the data as a reference table in the manifest and join it",
)
LITERAL_ROWS = Reason(
    "brings rows of its own",
    "declare a small table as a reference in the manifest, or use `when` or a literal map",
)
STREAM = Reason("belongs to a stream, and a transform sees batches", "leave it out")
SAMPLE = Reason(
    "gives other rows when a chunk is read again",
    "filter on a hash of the key, as in `F.pmod(F.xxhash64('id'), F.lit(100)) < 10`",
)
ACTION = Reason(
    "asks for an answer, and a transform describes rows",
    "use groupBy, agg or select, and leave looking at the result to `hakiri preview`",
)
CROSS = Reason(
    "compares every row with every other",
    "join on equal columns, and choose among the matches with a window function",
)
POSITION = Reason(
    "depends on where Spark happens to put a row",
    "use columns of the row itself",
)
METADATA = Reason(
    "is metadata of a column, some of which Spark reads as SQL",
    "describe the column in the manifest",
)
USER_TYPE = Reason("is a type made by code", "use Spark's own types")
UNSTORED_TYPE = Reason("is a type that the store does not have", "use a string, a number, a date or binary")
FORMAT_OF_SPARK = Reason("is not written by Spark's Python client", "run `hakiri compile` again")
UNKNOWN_NODE = Reason("is internal to Spark", "use the functions of pyspark.sql.functions")
