"""The allow list of Spark's protocol: which fields of which messages a plan may set.

A field that stands in neither table is one that a later Spark has added, and is refused until somebody
decides. Only messages that an allowed field can hold need an entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hakiri.transforms.verify.reasons import (
    ACTION,
    ANOTHER_READ,
    CODE,
    CROSS,
    FORMAT_OF_SPARK,
    LITERAL_ROWS,
    METADATA,
    POSITION,
    SAMPLE,
    SQL_TEXT,
    STREAM,
    UNKNOWN_NODE,
    UNSTORED_TYPE,
    USER_TYPE,
    Reason,
)

PACKAGE = "spark.connect."


def _allowed(table: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    return MappingProxyType({message: frozenset(fields.split()) for message, fields in table.items()})


ALLOWED = _allowed(
    {
        "Relation": """
            common read project filter join set_op sort limit offset aggregate deduplicate subquery_alias
            repartition repartition_by_expression to_df with_columns with_columns_renamed drop hint unpivot
            to_schema fill_na drop_na replace with_relations
        """,
        "RelationCommon": "plan_id origin",
        "Origin": "python_origin",
        "PythonOrigin": "fragment call_site",
        "Read": "named_table",
        "Read.NamedTable": "unparsed_identifier",
        "Project": "input expressions",
        "Filter": "input condition",
        "Join": "left right join_condition join_type using_columns",
        "SetOperation": "left_input right_input set_op_type is_all by_name allow_missing_columns",
        "Sort": "input order is_global",
        "Limit": "input limit",
        "Offset": "input offset",
        "Aggregate": "input group_type grouping_expressions aggregate_expressions pivot grouping_sets",
        "Aggregate.Pivot": "col values",
        "Aggregate.GroupingSets": "grouping_set",
        "Deduplicate": "input column_names all_columns_as_keys",
        "SubqueryAlias": "input alias qualifier",
        "Repartition": "input num_partitions shuffle",
        "RepartitionByExpression": "input partition_exprs num_partitions",
        "ToDF": "input column_names",
        "WithColumns": "input aliases",
        "WithColumnsRenamed": "input renames",
        "WithColumnsRenamed.Rename": "col_name new_col_name",
        "Drop": "input columns column_names",
        "Hint": "input name",
        "Unpivot": "input ids values variable_column_name value_column_name",
        "Unpivot.Values": "values",
        "ToSchema": "input schema",
        "NAFill": "input cols values",
        "NADrop": "input cols min_non_nulls",
        "NAReplace": "input cols replacements",
        "NAReplace.Replacement": "old_value new_value",
        "WithRelations": "root references",
        "Expression": """
            common literal unresolved_attribute unresolved_function unresolved_star alias cast
            unresolved_regex sort_order lambda_function window unresolved_extract_value update_fields
            unresolved_named_lambda_variable call_function named_argument_expression subquery_expression
        """,
        "ExpressionCommon": "origin",
        "Expression.Alias": "expr name",
        "Expression.Cast": "expr type type_str eval_mode",
        "Expression.LambdaFunction": "function arguments",
        "Expression.SortOrder": "child direction null_ordering",
        "Expression.UnresolvedAttribute": "unparsed_identifier plan_id",
        "Expression.UnresolvedExtractValue": "child extraction",
        "Expression.UnresolvedFunction": "function_name arguments is_distinct",
        "Expression.UnresolvedNamedLambdaVariable": "name_parts",
        "Expression.UnresolvedRegex": "col_name plan_id",
        "Expression.UnresolvedStar": "unparsed_target plan_id",
        "Expression.UpdateFields": "struct_expression field_name value_expression",
        "Expression.Window": "window_function partition_spec order_spec frame_spec",
        "Expression.Window.WindowFrame": "frame_type lower upper",
        "Expression.Window.WindowFrame.FrameBoundary": "current_row unbounded value",
        "CallFunction": "function_name arguments",
        "NamedArgumentExpression": "key value",
        "SubqueryExpression": "plan_id subquery_type in_subquery_values",
        "Expression.Literal": """
            null binary boolean byte short integer long float double decimal string date timestamp
            timestamp_ntz calendar_interval year_month_interval day_time_interval array map struct
            specialized_array time data_type
        """,
        "Expression.Literal.Array": "element_type elements",
        "Expression.Literal.CalendarInterval": "months days microseconds",
        "Expression.Literal.Decimal": "value precision scale",
        "Expression.Literal.Map": "key_type value_type keys values",
        "Expression.Literal.SpecializedArray": "bools ints longs floats doubles strings",
        "Expression.Literal.Struct": "struct_type elements",
        "Expression.Literal.Time": "nano precision",
        "Bools": "values",
        "Ints": "values",
        "Longs": "values",
        "Floats": "values",
        "Doubles": "values",
        "Strings": "values",
        "DataType": """
            null binary boolean byte short integer long float double decimal string char var_char date
            timestamp timestamp_ntz calendar_interval year_month_interval day_time_interval array struct map
            variant unparsed time
        """,
        "DataType.Array": "element_type contains_null",
        "DataType.Binary": "",
        "DataType.Boolean": "",
        "DataType.Byte": "",
        "DataType.CalendarInterval": "",
        "DataType.Char": "length",
        "DataType.Date": "",
        "DataType.DayTimeInterval": "start_field end_field",
        "DataType.Decimal": "scale precision",
        "DataType.Double": "",
        "DataType.Float": "",
        "DataType.Integer": "",
        "DataType.Long": "",
        "DataType.Map": "key_type value_type value_contains_null",
        "DataType.NULL": "",
        "DataType.Short": "",
        "DataType.String": "collation",
        "DataType.Struct": "fields",
        "DataType.StructField": "name data_type nullable",
        "DataType.Time": "precision",
        "DataType.Timestamp": "",
        "DataType.TimestampNTZ": "",
        "DataType.Unparsed": "data_type_string",
        "DataType.VarChar": "length",
        "DataType.Variant": "",
        "DataType.YearMonthInterval": "start_field end_field",
    }
)

# Decided, and decided against. `*` stands for every message that has the field.
REFUSED: Mapping[str, Mapping[str, Reason]] = MappingProxyType(
    {
        "*": {"type_variation_reference": FORMAT_OF_SPARK},
        "Relation": {
            "sql": SQL_TEXT,
            "local_relation": LITERAL_ROWS,
            "cached_local_relation": LITERAL_ROWS,
            "chunked_cached_local_relation": LITERAL_ROWS,
            "cached_remote_relation": ANOTHER_READ,
            "relation_changes": ANOTHER_READ,
            "range": LITERAL_ROWS,
            "unresolved_table_valued_function": LITERAL_ROWS,
            "map_partitions": CODE,
            "group_map": CODE,
            "co_group_map": CODE,
            "apply_in_pandas_with_state": CODE,
            "common_inline_user_defined_table_function": CODE,
            "common_inline_user_defined_data_source": CODE,
            "ml_relation": CODE,
            "extension": CODE,
            "parse": ANOTHER_READ,
            "catalog": ANOTHER_READ,
            "with_watermark": STREAM,
            "sample": SAMPLE,
            "sample_by": SAMPLE,
            "show_string": ACTION,
            "html_string": ACTION,
            "tail": ACTION,
            "collect_metrics": ACTION,
            "transpose": ACTION,
            "summary": ACTION,
            "crosstab": ACTION,
            "describe": ACTION,
            "cov": ACTION,
            "corr": ACTION,
            "approx_quantile": ACTION,
            "freq_items": ACTION,
            "as_of_join": CROSS,
            "lateral_join": CROSS,
            "nearest_by_join": CROSS,
            "zip": POSITION,
            "unknown": UNKNOWN_NODE,
        },
        "RelationCommon": {"source_info": FORMAT_OF_SPARK},
        "Origin": {"jvm_origin": FORMAT_OF_SPARK},
        "Read": {"data_source": ANOTHER_READ, "is_streaming": STREAM},
        "Read.NamedTable": {"options": ANOTHER_READ},
        "Join": {"join_data_type": FORMAT_OF_SPARK},
        "Deduplicate": {"within_watermark": STREAM},
        "WithColumnsRenamed": {"rename_columns_map": FORMAT_OF_SPARK},
        "Hint": {"parameters": FORMAT_OF_SPARK},
        "Expression": {
            "expression_string": SQL_TEXT,
            "common_inline_user_defined_function": CODE,
            "typed_aggregate_expression": CODE,
            "extension": CODE,
            "merge_action": ACTION,
            "direct_shuffle_partition_id": POSITION,
        },
        "Expression.Alias": {"metadata": METADATA},
        "Expression.UnresolvedAttribute": {"is_metadata_column": ANOTHER_READ},
        "Expression.UnresolvedFunction": {"is_user_defined_function": CODE, "is_internal": UNKNOWN_NODE},
        "SubqueryExpression": {"table_arg_options": CODE},
        "Expression.Literal": {
            "timestamp_ntz_nanos": UNSTORED_TYPE,
            "timestamp_ltz_nanos": UNSTORED_TYPE,
        },
        "DataType": {
            "udt": USER_TYPE,
            "geometry": UNSTORED_TYPE,
            "geography": UNSTORED_TYPE,
            "timestamp_ntz_nanos": UNSTORED_TYPE,
            "timestamp_ltz_nanos": UNSTORED_TYPE,
        },
        "DataType.StructField": {"metadata": METADATA},
    }
)

# Without these a node says nothing, or Spark puts something of its own there: a project without an input is
# one row made of nothing.
REQUIRED = _allowed(
    {
        "Relation": "rel_type",
        "Read": "read_type",
        "Project": "input",
        "Filter": "input condition",
        "Join": "left right",
        "SetOperation": "left_input right_input",
        "Sort": "input",
        "Limit": "input",
        "Offset": "input",
        "Aggregate": "input",
        "Aggregate.Pivot": "col",
        "Deduplicate": "input",
        "SubqueryAlias": "input",
        "Repartition": "input",
        "RepartitionByExpression": "input",
        "ToDF": "input",
        "WithColumns": "input",
        "WithColumnsRenamed": "input",
        "Drop": "input",
        "Hint": "input",
        "Unpivot": "input",
        "ToSchema": "input schema",
        "NAFill": "input",
        "NADrop": "input",
        "NAReplace": "input",
        "NAReplace.Replacement": "old_value new_value",
        "WithRelations": "root",
        "Expression": "expr_type",
        "Expression.Alias": "expr",
        "Expression.Cast": "expr cast_to_type",
        "Expression.LambdaFunction": "function",
        "Expression.SortOrder": "child",
        "Expression.UnresolvedExtractValue": "child extraction",
        "Expression.UpdateFields": "struct_expression",
        "Expression.Window": "window_function",
        "Expression.Window.WindowFrame": "lower upper",
        "Expression.Window.WindowFrame.FrameBoundary": "boundary",
        "NamedArgumentExpression": "value",
        "Expression.Literal": "literal_type",
        "Expression.Literal.SpecializedArray": "value_type",
        "DataType": "kind",
        "DataType.StructField": "data_type",
    }
)
