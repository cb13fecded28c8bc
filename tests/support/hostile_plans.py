"""Plans that may not run, each under the path at which it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.plans import call, plan_of, proto, read_of, table

from hakiri.transforms.verify import limits

from pyspark.sql import functions as F  # isort: skip - the client is loaded by tests.support.plans

INPUTS = ("input", "countries")


def relation(**fields: Any) -> proto.Relation:
    return proto.Relation(**fields)


def holding(**expression: Any) -> proto.Relation:
    """A project of the input that has this expression."""
    return relation(project=proto.Project(input=read_of(), expressions=[proto.Expression(**expression)]))


def with_type(**kind: Any) -> proto.Relation:
    return holding(
        cast=proto.Expression.Cast(
            expr=proto.Expression(literal=proto.Expression.Literal(integer=1)), type=proto.DataType(**kind)
        )
    )


def literal(**value: Any) -> proto.Relation:
    return holding(literal=proto.Expression.Literal(**value))


def text(value: str) -> proto.Expression:
    return proto.Expression(literal=proto.Expression.Literal(string=value))


REFUSED_RELATIONS: dict[str, Callable[[], proto.Relation]] = {
    "root.sql": lambda: relation(sql=proto.SQL(query="SELECT 1")),
    "root.local_relation": lambda: relation(local_relation=proto.LocalRelation(schema="a int")),
    "root.cached_local_relation": lambda: relation(cached_local_relation=proto.CachedLocalRelation(hash="x")),
    "root.chunked_cached_local_relation": lambda: relation(
        chunked_cached_local_relation=proto.ChunkedCachedLocalRelation(dataHashes=["x"])
    ),
    "root.cached_remote_relation": lambda: relation(
        cached_remote_relation=proto.CachedRemoteRelation(relation_id="x")
    ),
    "root.read.data_source": lambda: relation(
        read=proto.Read(data_source=proto.Read.DataSource(format="csv", paths=["/etc/passwd"]))
    ),
    "root.read.is_streaming": lambda: relation(
        read=proto.Read(named_table=proto.Read.NamedTable(unparsed_identifier="input"), is_streaming=True)
    ),
    "root.read.named_table.options": lambda: relation(
        read=proto.Read(named_table=proto.Read.NamedTable(unparsed_identifier="input", options={"path": "x"}))
    ),
    "root.range": lambda: relation(range=proto.Range(end=10**12, step=1)),
    "root.relation_changes": lambda: relation(
        relation_changes=proto.RelationChanges(unparsed_identifier="input")
    ),
    "root.unresolved_table_valued_function": lambda: relation(
        unresolved_table_valued_function=proto.UnresolvedTableValuedFunction(function_name="range")
    ),
    "root.map_partitions": lambda: relation(map_partitions=proto.MapPartitions(input=read_of())),
    "root.group_map": lambda: relation(group_map=proto.GroupMap(input=read_of())),
    "root.co_group_map": lambda: relation(co_group_map=proto.CoGroupMap(input=read_of())),
    "root.apply_in_pandas_with_state": lambda: relation(
        apply_in_pandas_with_state=proto.ApplyInPandasWithState(input=read_of())
    ),
    "root.common_inline_user_defined_table_function": lambda: relation(
        common_inline_user_defined_table_function=proto.CommonInlineUserDefinedTableFunction()
    ),
    "root.common_inline_user_defined_data_source": lambda: relation(
        common_inline_user_defined_data_source=proto.CommonInlineUserDefinedDataSource(name="x")
    ),
    "root.parse": lambda: relation(parse=proto.Parse(input=read_of())),
    "root.catalog": lambda: relation(catalog=proto.Catalog(drop_temp_view=proto.DropTempView(view_name="x"))),
    "root.ml_relation": lambda: relation(ml_relation=proto.MlRelation()),
    "root.extension": lambda: relation(extension={"type_url": "x/y"}),
    "root.unknown": lambda: relation(unknown=proto.Unknown()),
    "root.with_watermark": lambda: plan_of(table().withWatermark("at", "1 hour")),
    "root.deduplicate.within_watermark": lambda: plan_of(table().dropDuplicatesWithinWatermark()),
    "root.sample": lambda: plan_of(table().sample(0.5, seed=1)),
    "root.sample_by": lambda: plan_of(table().sampleBy("a", {1: 0.5}, seed=1)),
    "root.show_string": lambda: relation(show_string=proto.ShowString(input=read_of())),
    "root.html_string": lambda: relation(html_string=proto.HtmlString(input=read_of())),
    "root.tail": lambda: relation(tail=proto.Tail(input=read_of(), limit=1)),
    "root.collect_metrics": lambda: plan_of(table().observe("n", F.count("*"))),
    "root.transpose": lambda: plan_of(table().transpose()),
    "root.summary": lambda: plan_of(table().summary()),
    "root.describe": lambda: plan_of(table().describe("a")),
    "root.crosstab": lambda: plan_of(table().crosstab("a", "b")),
    "root.freq_items": lambda: plan_of(table().freqItems(["a"])),
    "root.cov": lambda: relation(cov=proto.StatCov(input=read_of())),
    "root.corr": lambda: relation(corr=proto.StatCorr(input=read_of())),
    "root.approx_quantile": lambda: relation(approx_quantile=proto.StatApproxQuantile(input=read_of())),
    "root.lateral_join": lambda: plan_of(table().lateralJoin(table("countries"))),
    "root.as_of_join": lambda: relation(as_of_join=proto.AsOfJoin(left=read_of(), right=read_of())),
    "root.nearest_by_join": lambda: relation(nearest_by_join=proto.NearestByJoin(left=read_of())),
    "root.zip": lambda: relation(zip=proto.Zip(left=read_of(), right=read_of())),
    "root.hint.parameters": lambda: plan_of(table().hint("broadcast", "a")),
    "root.hint": lambda: plan_of(table().hint("shuffle_replicate_nl")),
    "root.common.source_info": lambda: relation(
        common=proto.RelationCommon(source_info="x"), read=read_of().read
    ),
    "root.with_columns.aliases[0].metadata": lambda: plan_of(table().withMetadata("a", {"x": 1})),
    "root.read.named_table": lambda: read_of("secrets"),
    "root.join": lambda: relation(join=proto.Join(left=read_of(), right=read_of(), join_type=1)),
    "root.join.join_type": lambda: plan_of(table().join(table("countries"), "id", "cross")),
    "root.join.join_condition": lambda: plan_of(table().join(table("countries"), F.lit(True))),
    "root.join.join_data_type": lambda: relation(
        join=proto.Join(
            left=read_of(),
            right=read_of(),
            join_type=1,
            using_columns=["a"],
            join_data_type={"is_left_struct": True},
        )
    ),
    "root.set_op.set_op_type": lambda: relation(
        set_op=proto.SetOperation(left_input=read_of(), right_input=read_of())
    ),
    "root.aggregate.pivot.values": lambda: plan_of(table().groupBy("a").pivot("b").agg(F.sum("n"))),
    "root.aggregate.pivot": lambda: relation(aggregate=proto.Aggregate(input=read_of(), group_type=4)),
    "root.aggregate.group_type": lambda: relation(aggregate=proto.Aggregate(input=read_of())),
    "root.aggregate.grouping_expressions": lambda: plan_of(table().cube(*"abcdefghi").count()),
    "root.repartition.num_partitions": lambda: plan_of(table().repartition(100_000)),
    "root.repartition_by_expression.num_partitions": lambda: plan_of(table().repartition(100_000, "a")),
    "root.project": lambda: relation(project=proto.Project(expressions=[text("x")])),
    "root": proto.Relation,
}

REFUSED_EXPRESSIONS: dict[str, Callable[[], proto.Relation]] = {
    "expression_string": lambda: plan_of(table().select(F.expr("java_method('a', 'b')"))),
    "common_inline_user_defined_function": lambda: holding(
        common_inline_user_defined_function=proto.CommonInlineUserDefinedFunction(function_name="f")
    ),
    "typed_aggregate_expression": lambda: holding(
        typed_aggregate_expression=proto.TypedAggregateExpression()
    ),
    "merge_action": lambda: holding(merge_action=proto.MergeAction()),
    "direct_shuffle_partition_id": lambda: holding(
        direct_shuffle_partition_id=proto.Expression.DirectShufflePartitionID(child=text("x"))
    ),
    "extension": lambda: holding(extension={"type_url": "x/y"}),
    "common.origin.jvm_origin": lambda: holding(
        common=proto.ExpressionCommon(origin={"jvm_origin": {"sql_text": "x"}}), literal=text("x").literal
    ),
    "unresolved_function(java_method)": lambda: plan_of(
        table().select(F.java_method(F.lit("java.lang.System"), F.lit("exit"), F.lit(1)))
    ),
    "unresolved_function(JAVA_METHOD)": lambda: plan_of(table().select(call("JAVA_METHOD"))),
    "unresolved_function(abs).is_user_defined_function": lambda: holding(
        unresolved_function={"function_name": "abs", "is_user_defined_function": True}
    ),
    "unresolved_function(abs).is_internal": lambda: holding(
        unresolved_function={"function_name": "abs", "is_internal": True}
    ),
    "call_function(`java_method`)": lambda: plan_of(table().select(F.call_function("`java_method`"))),
    "call_function(system.builtin.reflect)": lambda: plan_of(
        table().select(F.call_function("system.builtin.reflect"))
    ),
    "unresolved_attribute.is_metadata_column": lambda: holding(
        unresolved_attribute={"unparsed_identifier": "a", "is_metadata_column": True}
    ),
    "unresolved_attribute": lambda: plan_of(table().select("_metadata.file_path")),
    "cast.type_str": lambda: plan_of(table().select(F.col("a").cast("int) FROM x --"))),
    "cast.type.udt": lambda: with_type(udt={"type": "udt", "jvm_class": "x.Y"}),
    "cast.type.geometry": lambda: with_type(geometry={"srid": 4326}),
    "cast.type.unparsed.data_type_string": lambda: with_type(unparsed={"data_type_string": "x y"}),
    "cast.type.string.collation": lambda: with_type(string={"collation": "x`y"}),
    "cast.type.struct.fields[0].metadata": lambda: with_type(
        struct={
            "fields": [
                {"name": "a", "data_type": {"integer": {}}, "metadata": '{"EXISTS_DEFAULT": "reflect()"}'}
            ]
        }
    ),
    "cast.type.integer.type_variation_reference": lambda: with_type(integer={"type_variation_reference": 3}),
    "literal.decimal.value": lambda: literal(decimal={"value": "1e2000000000"}),
    "literal.string": lambda: literal(string="x" * (limits.LONGEST_TEXT_BYTES + 1)),
    "literal.timestamp_ltz_nanos": lambda: literal(timestamp_ltz_nanos={"epoch_micros": 1}),
    "literal": literal,
    "alias.metadata": lambda: plan_of(table().select(F.col("a").alias("b", metadata={"x": 1}))),
    "sort_order.direction": lambda: holding(
        sort_order=proto.Expression.SortOrder(child=text("x"), direction=77)  # type: ignore[arg-type]
    ),
    "unresolved_star": lambda: plan_of(table().select(table()["*"])),
    "subquery_expression.plan_id": lambda: holding(
        subquery_expression=proto.SubqueryExpression(plan_id=7, subquery_type=1)
    ),
}
