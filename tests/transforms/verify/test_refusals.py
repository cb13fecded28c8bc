"""Each kind of thing that a plan may not hold is refused, with the path to it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from hakiri.core.errors import ExitCode
from hakiri.transforms.verify import PlanRefused, Refusal, verify_plan
from hakiri.transforms.verify import limits
from tests.support.plans import call, plan_of, proto, read_of, table

from pyspark.sql import functions as F  # isort: skip - the client is loaded by tests.support.plans

INPUTS = ("input", "countries")


def refusals_of(plan: proto.Relation) -> tuple[Refusal, ...]:
    with pytest.raises(PlanRefused) as refused:
        verify_plan(plan, inputs=INPUTS)
    return refused.value.refusals


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
    "root.catalog": lambda: relation(
        catalog=proto.Catalog(drop_temp_view=proto.DropTempView(view_name="x"))
    ),
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
            left=read_of(), right=read_of(), join_type=1, using_columns=["a"], join_data_type={"is_left_struct": True}
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
    "root": lambda: relation(),
}  # fmt: skip

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
    "unresolved_function(f).is_user_defined_function": lambda: holding(
        unresolved_function={"function_name": "f", "is_user_defined_function": True}
    ),
    "unresolved_function(abs).is_internal": lambda: holding(
        unresolved_function={"function_name": "abs", "is_internal": True}
    ),
    "call_function(`java_method`)": lambda: plan_of(table().select(F.call_function("`java_method`"))),
    "call_function(system.builtin.reflect)": lambda: plan_of(
        table().select(F.call_function("system.builtin.reflect"))
    ),
    "unresolved_attribute.is_metadata_column": lambda: plan_of(table().select(table().metadataColumn("a"))),
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
    "literal": lambda: literal(),
    "alias.metadata": lambda: plan_of(table().select(F.col("a").alias("b", metadata={"x": 1}))),
    "sort_order.direction": lambda: holding(
        sort_order=proto.Expression.SortOrder(child=text("x"), direction=77)  # type: ignore[arg-type]
    ),
    "subquery_expression.plan_id": lambda: holding(
        subquery_expression=proto.SubqueryExpression(plan_id=7, subquery_type=1)
    ),
}  # fmt: skip


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("path", REFUSED_RELATIONS)
def test_a_relation_outside_the_allow_list_is_refused_with_its_path(path: str) -> None:
    refusals = refusals_of(REFUSED_RELATIONS[path]())

    assert [refusal.path for refusal in refusals] == [path]
    assert all(refusal.problem and refusal.hint for refusal in refusals)


@pytest.mark.spec("HP-091")
@pytest.mark.parametrize("path", REFUSED_EXPRESSIONS)
def test_an_expression_outside_the_allow_list_is_refused_with_its_path(path: str) -> None:
    refusals = refusals_of(REFUSED_EXPRESSIONS[path]())

    assert [refusal.path for refusal in refusals] == [f"root.project.expressions[0].{path}"]
    assert all(refusal.problem and refusal.hint for refusal in refusals)


@pytest.mark.parametrize(
    ("wrap", "path"),
    [
        (lambda hostile: table().where(hostile > 1), "filter.condition.unresolved_function(>).arguments[0]"),
        (lambda hostile: table().select("a", F.array(hostile)), "project.expressions[1].unresolved_function(array).arguments[0]"),
        (lambda hostile: table().orderBy(hostile).limit(1), "limit.input.sort.order[0].child"),
        (lambda hostile: table().groupBy("a").agg(F.sum(hostile)), "aggregate.aggregate_expressions[0].unresolved_function(sum).arguments[0]"),
        (lambda hostile: table().withColumn("x", hostile), "with_columns.aliases[0].expr"),
        (
            lambda hostile: table().select(F.transform("a", lambda x: x + hostile)),
            "project.expressions[0].unresolved_function(transform).arguments[1].lambda_function.function"
            ".unresolved_function(+).arguments[1]",
        ),
        (lambda hostile: table().where(table("countries").where(hostile).exists()), "with_relations.references[0].filter.condition"),
        (lambda hostile: table().join(table("countries").where(hostile), "a"), "join.right.filter.condition"),
    ],
)  # fmt: skip
def test_a_call_of_java_is_found_wherever_it_stands(wrap: Callable[[Any], Any], path: str) -> None:
    hostile = F.call_function("java_method", F.lit("java.lang.Runtime"), F.lit("getRuntime"))

    refusals = refusals_of(plan_of(wrap(hostile)))

    assert [refusal.path for refusal in refusals] == [f"root.{path}.call_function(java_method)"]


@pytest.mark.parametrize("name", ["current_date", "CURRENT_TIMESTAMP", "`current_user`", "localtimestamp"])
def test_a_name_that_spark_would_take_for_a_call_is_refused(name: str) -> None:
    [refusal] = refusals_of(plan_of(table().select(F.col(name))))

    assert refusal.path == "root.project.expressions[0].unresolved_attribute"
    assert "if it is a column, write `df[" in refusal.hint


def test_fields_that_only_bytes_can_hold_are_refused() -> None:
    plan = read_of()
    plan.common.MergeFromString(b"\xfa\x01\x03abc")

    assert [refusal.path for refusal in refusals_of(plan)] == ["root.common"]


def test_a_subquery_that_holds_itself_is_refused() -> None:
    itself = proto.Expression(subquery_expression=proto.SubqueryExpression(plan_id=1, subquery_type=2))
    inner = relation(
        common={"plan_id": 1}, filter=proto.Filter(input=read_of(), condition=itself)
    )
    plan = relation(with_relations=proto.WithRelations(root=read_of(), references=[inner]))

    assert [refusal.path for refusal in refusals_of(plan)] == [
        "root.with_relations.references[0].filter.condition.subquery_expression.plan_id"
    ]


def test_two_subqueries_of_one_id_must_say_the_same() -> None:
    other = plan_of(table().limit(1))
    other.common.plan_id = 1
    one = read_of()
    one.common.plan_id = 1
    plan = relation(with_relations=proto.WithRelations(root=read_of(), references=[one, other]))

    assert [refusal.path for refusal in refusals_of(plan)] == ["root.with_relations.references[1]"]


def test_a_plan_that_is_too_deep_is_refused() -> None:
    frame = table()
    for _ in range(limits.DEEPEST_PLAN // 2):
        frame = frame.limit(1)

    [refusal] = refusals_of(plan_of(frame))

    assert refusal.problem == "the plan is more than 200 levels deep"


def test_a_plan_of_too_many_nodes_is_refused() -> None:
    many = [proto.Expression(literal={"boolean": True})] * (limits.MOST_NODES // 2 + 1)

    refusals = refusals_of(relation(project=proto.Project(input=read_of(), expressions=many)))

    assert [refusal.problem for refusal in refusals] == ["the plan has more than 100000 nodes"]


def test_a_plan_of_too_many_bytes_is_refused() -> None:
    many = [text("x" * 90_000)] * 100

    refusals = refusals_of(relation(project=proto.Project(input=read_of(), expressions=many)))

    assert [refusal.problem for refusal in refusals] == ["the plan is larger than 8388608 bytes"]


def test_an_unknown_function_is_refused_with_the_one_that_was_meant() -> None:
    [refusal] = refusals_of(plan_of(table().select(F.call_function("uper", "a"))))

    assert refusal == Refusal(
        "root.project.expressions[0].call_function(uper)",
        "the function `uper` is not known",
        "did you mean `upper`?",
    )


def test_an_unknown_table_is_refused_with_the_one_that_was_meant() -> None:
    [refusal] = refusals_of(read_of("country"))

    assert refusal.problem == "table `country` is not among the declared inputs"
    assert refusal.hint == "did you mean `countries`?"


def test_all_refusals_are_carried_and_the_first_five_are_told() -> None:
    plan = plan_of(table().select(*[F.rand(n) for n in range(7)]))

    with pytest.raises(PlanRefused) as refused:
        verify_plan(plan, inputs=INPUTS)

    assert len(refused.value.refusals) == 7
    assert str(refused.value) == (
        "the plan of the transform is refused: "
        + "; ".join(
            f"root.project.expressions[{n}].unresolved_function(rand): "
            "`rand` gives another value when a chunk is read again"
            for n in range(5)
        )
        + "; and 2 more"
    )
    assert refused.value.hint == (
        "derive the value from columns of the row, as in `F.sha2('id', 256)` or `F.xxhash64('id')`"
    )
    assert refused.value.code == "transforms.refused"
    assert refused.value.exit_code is ExitCode.USAGE


def test_a_refusal_survives_the_way_from_another_process() -> None:
    with pytest.raises(PlanRefused) as refused:
        verify_plan(relation(), inputs=INPUTS)

    again = pickle.loads(pickle.dumps(refused.value))

    assert again.refusals == refused.value.refusals
    assert str(again) == str(refused.value)


def test_a_name_from_a_plan_is_shown_short_and_without_what_a_terminal_obeys() -> None:
    [refusal] = refusals_of(plan_of(table().select(F.call_function("\x1b[2Jx" + "y" * 500))))

    assert refusal.path == f"root.project.expressions[0].call_function(?[2Jx{'y' * 35}…)"
