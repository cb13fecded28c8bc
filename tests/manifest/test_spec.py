"""The types: what is equal, what is derived, and what random pipelines survive."""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.core.grammar import Duration
from hakiri.manifest import (
    Code,
    Form,
    ManifestInvalid,
    Moment,
    PartitionBy,
    PipelineSpec,
    RangeSpec,
    TransformSpec,
    convert_pipeline,
    create_pipeline,
    dump_pipeline,
    expectation_names,
    index_id,
    load_project,
    parse_pipeline,
)
from hakiri.manifest.toml_text import toml_block

FORMS: tuple[Form, ...] = ("json", "toml", "json")
BASE = {"id": "a", "source": {"connector": "github"}, "tables": ["issues"]}


def made(**fields: Any) -> PipelineSpec:
    return parse_pipeline({**BASE, **fields})


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COLUMNS = NAMES | st.lists(NAMES, min_size=1, max_size=3, unique=True)
DURATIONS = st.sampled_from(["15m", "6h", "30d", "1h30m", "P1M", "PT15M"])
COUNTS = st.integers(1, 1000)
VALUES = st.recursive(
    TEXTS
    | st.integers(-(2**63), 2**63 - 1)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
CONNECTIONS = st.fixed_dictionaries(
    {"connector": st.sampled_from(["github", "sql", "my-api"])},
    optional={"config": st.dictionaries(TEXTS, VALUES, max_size=3)},
)
INDEXES = st.one_of(
    st.fixed_dictionaries({"kind": st.just("pk"), "on": COLUMNS}),
    st.fixed_dictionaries(
        {"kind": st.just("vector"), "column": NAMES, "model": st.just("m/1"), "dim": COUNTS},
        optional={"metric": st.sampled_from(["cosine", "l2", "dot"]), "incremental": st.booleans()},
    ),
    st.fixed_dictionaries(
        {"kind": st.just("fts"), "columns": COLUMNS}, optional={"analyzer": st.just("german")}
    ),
    st.fixed_dictionaries({"kind": st.just("bloom"), "on": COLUMNS}),
)
COMPACTIONS = st.fixed_dictionaries(
    {},
    optional={
        "trigger_run_count": COUNTS,
        "trigger_interval": DURATIONS,
        "cluster_by": COLUMNS,
        "partition_by": st.sampled_from(["month(at)", "tenant_id", "hour( x )"]),
        "retain_runs": DURATIONS,
    },
)
SCALARS = (
    st.lists(TEXTS, min_size=1, max_size=3, unique=True)
    | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=3, unique=True)
    | st.lists(st.booleans(), min_size=1, max_size=2, unique=True)
)
RANGES = st.sampled_from(
    [
        {"min": 0},
        {"max": 1.5},
        {"min": -3, "max": 7.25},
        {"min": "2020-01-01", "max": "2021-01-01T12:00:00+02:00"},
    ]
)
CHECKS = st.one_of(
    st.fixed_dictionaries({"column": NAMES, "not_null": st.just(True)}),
    st.fixed_dictionaries({"column": NAMES, "unique": st.just(True)}),
    st.fixed_dictionaries({"column": NAMES, "in": SCALARS}),
    st.fixed_dictionaries({"column": NAMES, "range": RANGES}),
    st.fixed_dictionaries({"predicate": st.sampled_from(["a > 0", "b like '%\"x\"%'"])}),
)
EXPECTATIONS = st.builds(
    lambda check, rest: {**check, **rest},
    CHECKS,
    st.fixed_dictionaries({}, optional={"on_fail": st.sampled_from(["fail", "warn", "quarantine"])}),
)
TABLES = NAMES | st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "primary_key": COLUMNS,
        "incremental": NAMES,
        "compaction": COMPACTIONS,
        "indexes": st.lists(INDEXES, max_size=2, unique_by=lambda index: json.dumps(index, sort_keys=True)),
        "columns": st.dictionaries(
            NAMES, st.fixed_dictionaries({}, optional={"description": TEXTS}), max_size=2
        ),
        "lag": DURATIONS | COUNTS,
        "deletes": st.sampled_from(["ignore", "missing"]),
        "on_bad_row": st.sampled_from(["fail", "quarantine"]),
        "contract": st.sampled_from(["evolve", "freeze", "discard"]),
        "expect": st.lists(EXPECTATIONS, max_size=2),
        "agent_description": TEXTS,
    },
)
BACKFILLS = st.fixed_dictionaries(
    {},
    optional={
        "window": DURATIONS,
        "parallelism": COUNTS,
        "rate_budget": st.sampled_from(["60/min", "10/s"]),
        "start_from": st.sampled_from(["2010-01-01", "2010-01-01T06:30:00Z"]),
        "max_chunks_per_tick": COUNTS,
        "destination_writes_per_sec": COUNTS | st.floats(0.1, 100),
        "max_parallel_chunks": COUNTS,
        "sla": DURATIONS,
    },
)
PIPELINES = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True),
        "source": CONNECTIONS,
        "tables": st.lists(TABLES, min_size=1, max_size=3),
    },
    optional={
        "destination": CONNECTIONS,
        "schedule": st.sampled_from(["every 15m", "0 */2 * * *", "every P1D"]),
        "incremental": NAMES,
        "transforms": st.lists(
            st.sampled_from(["a.json", "by-id", {"path": "x/y.json"}, {"id": "z"}]), max_size=2
        ),
        "secrets": st.lists(st.sampled_from(["TOKEN", "KEY_2"]), max_size=2, unique=True),
        "backfill": BACKFILLS,
        "retries": COUNTS,
    },
)


def has_distinct_names(data: dict[str, Any]) -> bool:
    """Random tables and indexes may share a name, which is refused; nothing else may be."""
    try:
        parse_pipeline(data)
    except ManifestInvalid as error:
        return {problem.code for problem in error.problems} != {Code.DUPLICATE}
    return True


VALID_PIPELINES = PIPELINES.filter(has_distinct_names)


@pytest.mark.spec("HP-008")
@given(VALID_PIPELINES)
@settings(deadline=None)
def test_the_toml_and_the_json_form_of_a_pipeline_are_equal(data: dict[str, Any]) -> None:
    spec = parse_pipeline(data)

    from_toml = parse_pipeline(tomllib.loads(toml_block(data, "pipeline"))["pipeline"][0])
    from_bare_toml = parse_pipeline(tomllib.loads(toml_block(data, "")))
    from_json = parse_pipeline(json.loads(json.dumps(data)))

    assert from_toml == from_bare_toml == from_json == spec


@pytest.mark.spec("HP-008")
@given(VALID_PIPELINES)
@settings(deadline=None)
def test_a_pipeline_equals_what_its_dump_says(data: dict[str, Any]) -> None:
    spec = parse_pipeline(data)

    assert parse_pipeline(dump_pipeline(spec)) == spec


@pytest.mark.spec("HP-023")
@given(VALID_PIPELINES)
@settings(deadline=None)
def test_conversion_there_and_back_is_lossless(data: dict[str, Any]) -> None:
    spec = parse_pipeline(data)
    head = '# The shop.\n[project]\nname = "shop"\n'
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "hakiri.toml").write_text(head, encoding="utf-8")
        create_pipeline(root, spec, "toml")

        for form in FORMS:
            convert_pipeline(root, spec.id, form)
            assert load_project(root).pipeline(spec.id) == spec

        assert (root / "hakiri.toml").read_text(encoding="utf-8").rstrip("\n") + "\n" == head


def test_a_long_list_of_texts_and_tables_in_a_config_is_kept_as_it_is() -> None:
    mixed = ["a name that is no table " * 3, {"key": "and a table " * 3}]
    data = {**BASE, "source": {"connector": "rest", "config": {"mixed": mixed}}}

    assert tomllib.loads(toml_block(data, "")) == data


def test_a_name_and_an_object_with_only_a_name_are_the_same_table() -> None:
    assert made(tables=["issues"]) == made(tables=[{"name": "issues"}])
    assert dump_pipeline(made(tables=[{"name": "issues"}]))["tables"] == ["issues"]


@pytest.mark.spec("HP-014")
def test_the_address_of_a_schema_means_nothing() -> None:
    assert made(**{"$schema": "https://hakiri.dev/schemas/v1/pipeline.json"}) == made()


def test_the_short_names_of_backfill_mean_the_long_ones() -> None:
    short = made(backfill_window="30d", backfill_parallelism=4)

    assert short == made(backfill={"window": "30d", "parallelism": 4})
    assert "backfill_window" not in dump_pipeline(short)


def test_texts_that_mean_the_same_are_equal() -> None:
    assert made(schedule="every 60m") == made(schedule="every 1h")


@pytest.mark.parametrize(
    ("connector", "table", "expected"),
    [
        ("github", "issues", "github_issues"),
        ("github", "github_issues", "github_issues"),
        ("shopify", "orders", "shopify_orders"),
        ("my-api", "orders", "my_api_orders"),
        ("sql", "orders", "orders"),
        ("files", "orders", "orders"),
        ("github", {"name": "issues", "as": "tickets"}, "tickets"),
        ("sql", {"name": "public.Orders", "as": "orders"}, "orders"),
    ],
)
def test_a_table_has_one_name_in_the_store(connector: str, table: Any, expected: str) -> None:
    spec = made(source={"connector": connector}, tables=[table])

    assert spec.store_name(spec.tables[0]) == expected


def test_a_table_overrides_the_cursor_of_its_pipeline() -> None:
    spec = made(incremental="updated_at", tables=["issues", {"name": "events", "incremental": "id"}])

    assert [spec.cursor_of(table) for table in spec.tables] == ["updated_at", "id"]


def test_a_transform_is_named_by_path_or_by_id() -> None:
    spec = made(transforms=["pipelines/a.transforms.json", "a", {"id": "b"}])

    assert [transform.artifact for transform in spec.transforms] == [
        "pipelines/a.transforms.json",
        "pipelines/a.transforms.json",
        "pipelines/b.transforms.json",
    ]
    assert spec.transforms[1] == TransformSpec(id="a")


def test_a_derived_index_id_is_safe_as_a_file_name() -> None:
    index = {"kind": "vector", "column": "a b", "model": "BAAI/bge:large", "dim": 3}
    spec = made(tables=[{"name": "issues", "indexes": [index, {"kind": "pk", "on": "id", "id": "mine"}]}])

    assert [index_id(index) for index in spec.tables[0].indexes] == ["vec-a-b-BAAI-bge-large", "mine"]


@pytest.mark.spec("HC-065")
def test_an_index_over_a_column_that_is_not_redacted_stands_beside_one_that_is() -> None:
    table = {
        "name": "users",
        "columns": {"email": {"redact": True, "description": "never stored"}, "name": {}},
        "indexes": [{"kind": "fts", "columns": "name"}],
    }

    assert made(tables=[table]).tables[0].columns["email"].redact is True


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        made().id = "b"  # type: ignore[misc]


@pytest.mark.parametrize("text", ["updated_at", "month(updated_at)", "year(x)", "day(x)", "hour( x )"])
def test_partitions_are_columns_or_parts_of_times(text: str) -> None:
    assert PartitionBy.parse(text).text == text


def test_a_lag_is_a_length_of_time_or_a_number_of_ids() -> None:
    spec = made(tables=[{"name": "issues", "lag": "2h"}, {"name": "events", "lag": 1000}, "labels"])

    assert [table.lag for table in spec.tables] == [Duration.parse("2h"), 1000, None]


def test_what_a_table_leaves_open_is_the_careful_choice() -> None:
    table = made().tables[0]

    assert (table.deletes, table.on_bad_row, table.contract, table.expect) == ("ignore", "fail", "evolve", ())
    assert made().retries == 5


def test_an_expectation_says_what_it_checks() -> None:
    spec = made(
        tables=[
            {
                "name": "orders",
                "expect": [
                    {"column": "email", "not_null": True},
                    {"column": "id", "unique": True, "on_fail": "quarantine"},
                    {"column": "state", "in": ["open", "closed"], "on_fail": "warn"},
                    {"column": "price", "range": {"min": 0, "max": 10.5}},
                    {"column": "at", "range": {"min": "2020-01-01"}, "name": "recent"},
                    {"predicate": "price >= 0"},
                ],
            }
        ]
    )

    expected = spec.tables[0].expect
    assert [each.check for each in expected] == ["not_null", "unique", "in", "range", "range", "predicate"]
    assert [each.on_fail for each in expected] == ["fail", "quarantine", "warn", "fail", "fail", "fail"]
    assert expected[2].in_ == ("open", "closed")
    assert expected[3].range == RangeSpec(min=0, max=10.5)
    assert expected[4].range is not None
    assert (expected[4].range.min, expected[4].range.max) == (Moment.parse("2020-01-01"), None)


def test_expectations_have_distinct_names_that_tell_what_they_check() -> None:
    spec = made(
        tables=[
            {
                "name": "orders",
                "expect": [
                    {"column": "price", "range": {"max": 100}, "on_fail": "warn"},
                    {"column": "price", "range": {"max": 1000}},
                    {"predicate": "a > 0"},
                    {"predicate": "b > 0"},
                    {"column": "x", "unique": True, "name": "predicate_2"},
                ],
            }
        ]
    )

    assert expectation_names(spec.tables[0].expect) == (
        "price_range",
        "price_range_2",
        "predicate",
        "predicate_3",
        "predicate_2",
    )
