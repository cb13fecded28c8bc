"""Words that mean something to the parser: keywords, and functions of which it must know the kind."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Where one of these stands, an expression cannot begin. Spark would often take them for names; here
# they are names in backticks only, so that no text has two readings.
RESERVED = _words(
    """
    ALL AND AS BETWEEN BY DISTINCT ELSE END EXCEPT FROM GROUP HAVING ILIKE IN INTERSECT INTO IS LATERAL
    LIKE LIMIT MINUS NOT OFFSET OR ORDER OUTER QUALIFY REGEXP RLIKE SELECT SET THEN UNION WHEN WHERE WITH
    """
)
# Words of joins: names where an expression or a table must begin, for no join can begin there.
JOINING = _words("ANTI CROSS FULL INNER JOIN LEFT NATURAL ON RIGHT SEMI USING")
# Words that may follow a table, and so are no alias unless `AS` stands before them.
NO_ALIAS = (
    RESERVED
    | JOINING
    | _words(
        """
        ASC CLUSTER COLLATE DESC DISTRIBUTE DIV FILTER FOLLOWING FOR IGNORE NULLS OVER PIVOT PRECEDING
        RESPECT ROWS SORT TABLESAMPLE UNPIVOT WINDOW WITHIN
        """
    )
)
# Spark's "strict non-reserved" words, which no `AS` makes the name of a table.
NO_TABLE_ALIAS = JOINING | _words("EXCEPT INTERSECT LATERAL MINUS UNION")
# Words that may follow an expression. Of joins only `USING`, which in Spark may follow `TRANSFORM (…)`.
NO_COLUMN_ALIAS = NO_ALIAS - JOINING | {"USING"}
SET_OPERATORS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
QUERY_STARTS = ("SELECT", "WITH", "VALUES")

AGGREGATES = _words(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set collect_union corr count count_if
    count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric
    hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg
    max max_by mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance
    vector_avg vector_sum
    """
)
# A row whose argument is NULL counts for nothing here, so a condition on rows can be one on that argument.
# The number says which argument, counted from 0.
SKIPS_NULLS = dict.fromkeys(
    _words(
        """
    any approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or
    collect_list collect_set corr count count_if covar_pop covar_samp every kurtosis listagg max mean
    median min mode percentile percentile_approx regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum
    try_avg try_sum var_pop var_samp variance
    """
    ),
    0,
) | {"max_by": 1, "min_by": 1}
# These take «ignore nulls» as a last argument: the number of arguments before it.
IGNORES_NULLS = {"any_value": 1, "first": 1, "first_value": 1, "last": 1, "last_value": 1, "nth_value": 2}

GENERATORS = frozenset({"explode", "inline", "json_tuple", "posexplode", "stack"})
OUTER_GENERATORS = frozenset({"explode", "inline", "posexplode"})

# Called twice, they give two answers.
UNSTABLE = _words(
    """
    input_file_block_length input_file_block_start input_file_name monotonically_increasing_id rand
    randn random randstr shuffle spark_partition_id uniform uuid
    """
)

UNITS = _words("YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND")
