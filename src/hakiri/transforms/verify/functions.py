"""The functions a plan may call, by their names on the wire in lower case.

Some of them are held to limits besides: see function_rules.py. Every name that pyspark can write is here or
in refused_functions.py, and a test keeps it so.
"""

from __future__ import annotations

OPERATORS = """
    + - * / % == = <=> < > <= >= & | ^ ~ ! << >> >>> and or not in between div mod positive negative
"""
CONDITIONS = """
    when if coalesce ifnull nvl nvl2 nullif nullifzero zeroifnull nanvl isnull isnotnull isnan equal_null
    greatest least assert_true raise_error typeof
"""
CONVERSIONS = """
    bigint binary boolean date decimal double float int smallint string timestamp tinyint time
    to_binary try_to_binary to_char to_varchar to_number try_to_number conv bin hex unhex
    base64 unbase64 to_base32 from_base32 encode decode
"""
STRINGS = """
    ascii bit_length btrim char char_length character_length chr collate collation concat concat_ws contains
    elt endswith find_in_set format_number format_string ilike initcap instr is_valid_utf8
    jaro_winkler_similarity lcase left len length levenshtein like locate lower lpad ltrim luhn_check
    make_valid_utf8 mask octet_length overlay position printf quote repeat replace reverse right rpad rtrim
    sentences soundex space split split_part startswith str_to_map substr substring substring_index
    translate trim try_validate_utf8 ucase upper validate_utf8
"""
REGULAR_EXPRESSIONS = """
    regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace
    regexp_substr rlike
"""
MATH = """
    abs acos acosh asin asinh atan atan2 atanh bround cbrt ceil ceiling cos cosh cot csc degrees e exp expm1
    factorial floor hypot ln log log10 log1p log2 pi pmod pow power radians rint round sec sign signum
    sin sinh sqrt tan tanh width_bucket try_add try_divide try_mod try_multiply try_subtract
"""
BITS = """
    bit_count bit_get getbit shiftleft shiftright shiftrightunsigned bitmap_bit_position
    bitmap_bucket_number bitmap_count
"""
DATES_AND_TIMES = """
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub
    date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime
    from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month monthname months_between next_day
    quarter second session_window time_bucket time_diff time_from_micros time_from_millis time_from_seconds
    time_to_micros time_to_millis time_to_seconds time_trunc timestamp_micros timestamp_millis
    timestamp_nanos timestamp_seconds timestampadd timestampdiff to_date to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_make_interval
    try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_to_date try_to_time
    try_to_timestamp unix_date unix_micros unix_millis unix_nanos unix_seconds unix_timestamp weekday
    weekofyear window window_time year
"""
LISTS = """
    array array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
    array_size array_sort array_union arrays_overlap arrays_zip cardinality element_at flatten get sequence
    size slice sort_array try_element_at
    aggregate exists filter forall reduce transform zip_with
"""
MAPS_AND_STRUCTS = """
    map map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys
    map_values map_zip_with transform_keys transform_values named_struct struct
"""
VECTORS = """
    vector_avg vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm
    vector_normalize vector_sum
"""
ROWS_FROM_VALUES = """
    explode explode_outer inline inline_outer posexplode posexplode_outer stack
"""
JSON_AND_CSV = """
    from_csv from_json get_json_object json_array_length json_object_keys json_tuple schema_of_csv
    schema_of_json to_csv to_json
    is_valid_variant is_variant_null parse_json schema_of_variant schema_of_variant_agg to_variant_object
    try_parse_json try_variant_array_append try_variant_get try_variant_insert try_variant_set
    variant_array_append variant_delete variant_get variant_insert variant_set variant_strip_nulls
"""
HASHES = """
    aes_decrypt crc32 hash hmac md5 sha sha1 sha2 try_aes_decrypt xxhash64
"""
URLS = """
    parse_url try_parse_url try_url_decode url_decode url_encode
"""
# Which row is first, and in which order rows are collected, is Spark's to choose unless they are sorted.
AGGREGATES = """
    any any_value approx_count_distinct approx_percentile approx_top_k array_agg avg bit_and bit_or bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set
    collect_union corr count count_if count_min_sketch covar_pop covar_samp every first first_value
    grouping grouping_id histogram_numeric kurtosis last last_value listagg max max_by mean median min
    min_by mode percentile percentile_approx percentile_cont percentile_disc product regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev
    stddev_pop stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance
"""
WINDOWS = """
    counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
"""
# Sketches as binary values. Their readers trust the bytes they are given, so they take them from each other
# only, never from a column.
SKETCH_BUILDERS = """
    approx_top_k_accumulate hll_sketch_agg theta_sketch_agg kll_sketch_agg_bigint kll_sketch_agg_double
    kll_sketch_agg_float tuple_sketch_agg_double tuple_sketch_agg_integer
"""
SKETCH_READERS = """
    approx_top_k_combine approx_top_k_estimate
    hll_sketch_estimate hll_union hll_union_agg
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float
    theta_difference theta_intersection theta_intersection_agg theta_sketch_estimate theta_union
    theta_union_agg
    tuple_difference_double tuple_difference_integer tuple_difference_theta_double
    tuple_difference_theta_integer tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
    tuple_intersection_theta_integer tuple_sketch_estimate_double tuple_sketch_estimate_integer
    tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
    tuple_sketch_theta_integer tuple_union_agg_double tuple_union_agg_integer tuple_union_double
    tuple_union_integer tuple_union_theta_double tuple_union_theta_integer
"""

_GROUPS = (
    OPERATORS,
    CONDITIONS,
    CONVERSIONS,
    STRINGS,
    REGULAR_EXPRESSIONS,
    MATH,
    BITS,
    DATES_AND_TIMES,
    LISTS,
    MAPS_AND_STRUCTS,
    VECTORS,
    ROWS_FROM_VALUES,
    JSON_AND_CSV,
    HASHES,
    URLS,
    AGGREGATES,
    WINDOWS,
    SKETCH_BUILDERS,
    SKETCH_READERS,
)
ALLOWED_FUNCTIONS = frozenset(name for group in _GROUPS for name in group.split())
