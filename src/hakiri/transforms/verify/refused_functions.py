"""The functions that Spark has and a plan may not call, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hakiri.transforms.verify.reasons import UNSTORED_TYPE, Reason
from hakiri.transforms.verify.words import words

_REFUSED: Mapping[Reason, str] = {
    Reason(
        "calls code by its name",
        "use the functions of pyspark.sql.functions",
    ): "java_method reflect try_reflect unwrap_udt",
    Reason(
        "tells about files that are read, and a plan sees rows only",
        "use the columns of the rows themselves",
    ): "input_file_name input_file_block_start input_file_block_length read_files",
    Reason(
        "tells about the session or the server",
        "write the value as a literal",
    ): """
        current_user session_user user current_database current_schema current_catalog current_path
        current_timezone version collations sql_keywords python_worker_logs
    """,
    Reason(
        "gives another value when a chunk is read again",
        "derive the value from columns of the row, as in `F.sha2('id', 256)` or `F.xxhash64('id')`",
    ): "rand randn random randstr uniform uuid shuffle",
    Reason(
        "depends on where Spark happens to put a row",
        "number rows with `F.row_number().over(Window.partitionBy(…).orderBy(…))`",
    ): "monotonically_increasing_id spark_partition_id distributed_sequence_id",
    Reason(
        "gives another value when a chunk is read again",
        "use the column `_ingested_at` that every row of the store has, or write the date as a literal",
    ): "current_timestamp now current_date curdate current_time localtime localtimestamp",
    Reason(
        "draws a random start value, so the same row differs each time",
        "use `F.sha2` or `F.hmac`, or encrypt where the value is read",
    ): "aes_encrypt",
    Reason(
        "works on XML, whose parsers may follow references to files and addresses",
        "turn the XML into JSON or columns in the connector",
    ): """
        from_xml to_xml schema_of_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
        xpath_number xpath_short xpath_string
    """,
    Reason(
        "decodes a binary format by a schema from elsewhere",
        "decode the value in the connector",
    ): "from_avro to_avro schema_of_avro from_protobuf to_protobuf",
    Reason(
        "is a function that gives a table",
        "use `F.explode` in a select, or declare a reference table",
    ): "range variant_explode variant_explode_outer",
    Reason(
        "is for the layout of tables that Spark writes",
        "declare partitions in the manifest; for a part of a date use `F.year`, `F.month` or `F.date_trunc`",
    ): "bucket years months days hours",
    Reason(
        "belongs to metric views",
        "use an aggregate function such as `F.sum`",
    ): "measure",
    Reason(
        "is not a function on its own",
        "use groupBy, cube or rollup of the DataFrame",
    ): "cube rollup grouping_sets",
    UNSTORED_TYPE: "st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid",
}
REFUSED_FUNCTIONS: Mapping[str, Reason] = MappingProxyType(
    {name: reason for reason, names in _REFUSED.items() for name in names.split()}
)

# A name without parentheses that Spark takes for a call when there is no such column. `user` is one too, and
# is left out: it is among the commonest columns of all, and the worst it gives is the name of an account.
CALLS_WITHOUT_PARENTHESES = words(
    "current_user session_user current_date current_timestamp current_time localtime localtimestamp"
)
