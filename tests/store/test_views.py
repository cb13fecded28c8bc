"""Views show exactly the committed rows, in the types and under the names of today."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.random_rows import LEAVES, floats_of_every_magnitude, types, values
from tests.store.workshop import T0, Workshop, open_workshop

from hakiri.store.descent import inner_fields
from hakiri.store.errors import UnknownSchemaVersion
from hakiri.store.fitting import fitted
from hakiri.store.reading import VisibleFiles
from hakiri.store.schemas import fingerprint
from hakiri.store.views import TableState, view_sql
from hakiri.store.writing import BadRows

MOMENT, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")
NOON = datetime(2026, 5, 11, 12, tzinfo=UTC)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def named(name: str, kind: pa.DataType, *former: str) -> pa.Field:
    return pa.field(name, kind, metadata={"hakiri.was": json.dumps(former)} if former else None)


def struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


def types_of(workshop: Workshop, view: str = "orders") -> dict[str, str]:
    return {row[0]: row[1] for row in workshop.query(f"DESCRIBE {view}")}


GOLDEN = """\
-- views/orders.sql: made by Hakiri from its catalog, form 5; written anew at every commit
-- Catalog schema fingerprint: {fingerprint} (rev 2)
-- Committed chunks: rev 12 since 2026-05-11T08:00:00.123456+00:00, below "/data/it's"
-- Snapshot: none
CREATE OR REPLACE VIEW "orders" AS
{newest};
CREATE OR REPLACE VIEW "orders__quarantine" AS
  SELECT _reason, _row, _run_id, _pipeline_id, _ingested_at, _seq, _position
  FROM read_parquet([
      '/data/it''s/q.parquet'
    ], hive_partitioning = false);
"""


ROWS = """\
  SELECT -- schema version 1
    CAST("id" AS BIGINT) AS "id",
    CAST("name" AS VARCHAR) AS "title",
    CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS "at",
    _seq, _position, _op
  FROM read_parquet([
      '/data/it''s/a.parquet',
      '/data/it''s/b.parquet'
    ], hive_partitioning = false)
  UNION ALL BY NAME
  SELECT -- schema version 2
    CAST("id" AS BIGINT) AS "id",
    CAST("title" AS VARCHAR) AS "title",
    CAST("at" AS TIMESTAMP WITH TIME ZONE) AS "at",
    _seq, _position, _op
  FROM read_parquet([
      '/data/it''s/c.parquet'
    ], hive_partitioning = false)
"""
KEYS = """\
  SELECT -- schema version 1
    CAST("id" AS BIGINT) AS "id",
    _seq, _position, _op
  FROM read_parquet([
      '/data/it''s/a.parquet',
      '/data/it''s/b.parquet'
    ], hive_partitioning = false)
  UNION ALL BY NAME
  SELECT -- schema version 2
    CAST("id" AS BIGINT) AS "id",
    _seq, _position, _op
  FROM read_parquet([
      '/data/it''s/c.parquet'
    ], hive_partitioning = false)
"""
SORTED = f"""\
SELECT "id", "title", "at"
FROM (
  FROM (
{ROWS}  )
  QUALIFY row_number() OVER (PARTITION BY "id" ORDER BY _seq DESC, _position DESC) = 1
)
WHERE _op <> 'delete'"""
UNSURPASSED = f"""\
SELECT "id", "title", "at"
FROM (
{ROWS}) AS found
ANTI JOIN (
{KEYS}) AS newer
  ON newer."id" IS NOT DISTINCT FROM found."id"
  AND (newer._seq > found._seq OR newer._seq = found._seq AND newer._position > found._position)
WHERE _op <> 'delete'"""


@pytest.mark.parametrize(("rows", "newest"), [(3 * 500 - 1, SORTED), (3 * 500, UNSURPASSED)])
@pytest.mark.spec("HC-012")
@pytest.mark.spec("HC-018")
def test_the_text_of_a_view_says_what_it_shows(rows: int, newest: str) -> None:
    new = pa.schema([("id", pa.int64()), named("title", pa.string(), "name"), ("at", ZONED)])
    state = TableState(
        table="orders",
        primary_key=("id",),
        schemas={1: pa.schema([("id", pa.int32()), ("name", pa.string())]), 2: new},
        revision=12,
        since=T0,
        root="/data/it's",
        files={2: ("/data/it's/c.parquet",), 1: ("/data/it's/a.parquet", "/data/it's/b.parquet")},
        rows=rows,
        quarantine=("/data/it's/q.parquet",),
    )

    assert view_sql(state) == GOLDEN.format(fingerprint=fingerprint(new), newest=newest)


def test_files_of_a_version_that_nobody_knows_are_refused() -> None:
    state = TableState(
        table="orders",
        primary_key=(),
        schemas={1: SCHEMA},
        revision=1,
        since=T0,
        root="/",
        files={4: ("/a",)},
        rows=1,
    )

    with pytest.raises(UnknownSchemaVersion, match="has files of schema version 4"):
        view_sql(state)


@pytest.mark.spec("HC-014")
@pytest.mark.spec("HP-147")
def test_the_newest_row_of_a_key_is_the_one_that_is_seen(workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "name": "A"}], SCHEMA, "id")
    workshop.land([{"id": 2, "name": "B"}], SCHEMA, "id")
    workshop.publish()

    assert workshop.query("FROM orders ORDER BY id") == [(1, "A"), (2, "B")]


@pytest.mark.spec("HC-014")
@pytest.mark.spec("HP-147")
def test_a_claim_that_came_first_never_wins_by_landing_last(workshop: Workshop) -> None:
    workshop.land([], SCHEMA, "id")
    workshop.land([], SCHEMA, "id")
    workshop.catalog.chunks.supersede(
        workshop.chunks()[0].pipeline, [chunk.chunk for chunk in workshop.chunks()], "again", NOON
    )
    early, late = workshop.claim(), workshop.claim()
    for attempt, name in ((late, "late"), (early, "early")):
        workshop.commit(attempt, workshop.write(attempt, [{"id": 1, "name": name}], SCHEMA, "id"), None)
    workshop.publish()

    assert workshop.query("FROM orders") == [(1, "late")]


def test_a_deleted_key_is_hidden_until_it_comes_again(workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    workshop.land([{"id": 1, "_op": "delete"}, {"id": 3, "_op": "delete"}], SCHEMA, "id")
    workshop.publish()
    assert workshop.query("FROM orders") == [(2, "b")]

    workshop.land([{"id": 1, "name": "back"}], SCHEMA, "id")
    workshop.publish()
    assert workshop.query("FROM orders ORDER BY id") == [(1, "back"), (2, "b")]


def test_a_key_of_several_columns_names_a_row_as_a_whole(workshop: Workshop) -> None:
    rows = [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}, {"id": 1, "name": "a"}]
    workshop.land(rows, SCHEMA, "id", "name")
    workshop.publish()

    assert workshop.query("FROM orders ORDER BY name") == [(1, "a"), (1, "b")]


@pytest.mark.spec("HP-148")
def test_without_a_key_every_row_is_seen(workshop: Workshop) -> None:
    for _ in range(2):
        workshop.land([{"id": 1, "name": "a"}, {"id": 1, "name": "a"}], SCHEMA)
    workshop.publish()

    assert workshop.query("FROM orders") == [(1, "a")] * 4


def test_a_table_without_files_is_empty_and_has_its_types(workshop: Workshop) -> None:
    workshop.evolve(pa.schema([("id", pa.int64()), ("s", struct(a=pa.list_(ZONED)))]), "id")
    workshop.publish()

    assert workshop.query("FROM orders") == []
    assert types_of(workshop) == {"id": "BIGINT", "s": "STRUCT(a TIMESTAMP WITH TIME ZONE[])"}


@pytest.mark.spec("HC-015")
def test_the_columns_of_the_store_itself_are_not_shown(workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.publish()

    assert types_of(workshop) == {"id": "BIGINT", "name": "VARCHAR"}


@pytest.mark.spec("HC-013")
@pytest.mark.spec("HP-066")
@pytest.mark.spec("HP-067")
def test_a_new_column_is_null_in_older_rows_and_one_that_is_gone_in_newer(workshop: Workshop) -> None:
    both = SCHEMA.append(pa.field("age", pa.int32()))
    workshop.land([{"id": 1, "name": "Ada"}], SCHEMA, "id")
    workshop.land([{"id": 2, "name": None, "age": 36}], both, "id")
    workshop.publish()

    assert workshop.query("FROM orders ORDER BY id") == [(1, "Ada", None), (2, None, 36)]


WIDENINGS = [
    (pa.int32(), 7, pa.int64(), 2**40, 7, "BIGINT"),
    (pa.int8(), 7, pa.decimal128(10, 2), Decimal("1.50"), Decimal("7.00"), "DECIMAL(10,2)"),
    (pa.int64(), 7, pa.float64(), 0.5, 7.0, "DOUBLE"),
    (pa.float32(), 0.5, pa.float64(), 0.1, 0.5, "DOUBLE"),
    (pa.decimal128(5, 2), Decimal("1.50"), pa.decimal128(38, 4), None, Decimal("1.5000"), "DECIMAL(38,4)"),
    (pa.date32(), date(2026, 5, 11), MOMENT, None, datetime.fromisoformat("2026-05-11"), "TIMESTAMP"),
    (
        pa.date32(),
        date(2026, 5, 11),
        ZONED,
        NOON,
        datetime(2026, 5, 11, tzinfo=UTC),
        "TIMESTAMP WITH TIME ZONE",
    ),
    (pa.int64(), 7, pa.string(), "x", "7", "VARCHAR"),
    (pa.bool_(), True, pa.string(), "x", "true", "VARCHAR"),
    (ZONED, NOON, pa.string(), "x", "2026-05-11 12:00:00.000000Z", "VARCHAR"),
    (pa.string(), "ä", pa.binary(), b"\xff", "ä".encode(), "BLOB"),
    (pa.int64(), 7, pa.binary(), b"\xff", b"7", "BLOB"),
    (pa.null(), None, pa.list_(pa.int8()), [1], None, "TINYINT[]"),
    (pa.duration("us"), timedelta(hours=1), pa.duration("us"), timedelta(0), timedelta(hours=1), "INTERVAL"),
    (pa.time64("us"), time(8, 30), pa.time64("us"), None, time(8, 30), "TIME"),
    (
        struct(a=pa.int32()),
        {"a": 7},
        struct(b=pa.string(), a=pa.int64()),
        {"b": "x", "a": 2**40},
        {"b": None, "a": 7},
        "STRUCT(b VARCHAR, a BIGINT)",
    ),
    (
        struct(at=pa.date32()),
        {"at": date(2026, 5, 11)},
        struct(at=ZONED),
        {"at": NOON},
        {"at": datetime(2026, 5, 11, tzinfo=UTC)},
        'STRUCT("at" TIMESTAMP WITH TIME ZONE)',
    ),
    (pa.list_(pa.int32()), [1, None], pa.list_(pa.int64()), [2**40], [1, None], "BIGINT[]"),
    (
        pa.list_(pa.date32()),
        [date(2026, 5, 11), None],
        pa.list_(ZONED),
        [NOON],
        [datetime(2026, 5, 11, tzinfo=UTC), None],
        "TIMESTAMP WITH TIME ZONE[]",
    ),
    (
        pa.list_(struct(a=pa.int8())),
        [{"a": 1}, None],
        pa.list_(struct(a=pa.int64(), b=pa.int8())),
        [{"a": 2**40, "b": 1}],
        [{"a": 1, "b": None}, None],
        "STRUCT(a BIGINT, b TINYINT)[]",
    ),
    (
        pa.map_(pa.string(), pa.int32()),
        [("k", 7), ("n", None)],
        pa.map_(pa.string(), pa.int64()),
        [("k", 2**40)],
        {"k": 7, "n": None},
        "MAP(VARCHAR, BIGINT)",
    ),
    (
        pa.map_(pa.int32(), pa.date32()),
        [(1, date(2026, 5, 11))],
        pa.map_(pa.string(), ZONED),
        [("k", NOON)],
        {"1": datetime(2026, 5, 11, tzinfo=UTC)},
        "MAP(VARCHAR, TIMESTAMP WITH TIME ZONE)",
    ),
    (struct(a=pa.int32()), {"a": 7}, pa.string(), "x", '{"a":7}', "VARCHAR"),
]


@pytest.fixture(scope="module")
def widened(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, Any, Any, str]]:
    """What a reader sees of every pair of types: an older value, an older NULL, a newer value, the type."""
    before, after = (
        pa.schema([("id", pa.int64()), *((f"x{n}", kinds[which]) for n, kinds in enumerate(WIDENINGS))])
        for which in (0, 2)
    )
    with open_workshop(tmp_path_factory.mktemp("widened") / "store") as workshop:
        old = {f"x{number}": case[1] for number, case in enumerate(WIDENINGS)}
        workshop.land([{"id": 1, **old}, {"id": 2}], before, "id")
        (file,) = workshop.layout.root.rglob("*.parquet")
        content = file.read_bytes()
        workshop.land(
            [{"id": 3} | {f"x{number}": case[3] for number, case in enumerate(WIDENINGS)}], after, "id"
        )
        workshop.publish()
        assert file.read_bytes() == content
        rows = [row[1:] for row in workshop.query("FROM orders ORDER BY id")]
        return list(zip(*rows, list(types_of(workshop).values())[1:], strict=True))


@pytest.mark.spec("HC-012")
@pytest.mark.parametrize(
    "number", range(len(WIDENINGS)), ids=lambda number: f"{WIDENINGS[number][0]} to {WIDENINGS[number][2]}"
)
@pytest.mark.spec("HP-068")
def test_older_values_are_read_in_the_type_of_today(
    widened: list[tuple[Any, Any, Any, str]], number: int
) -> None:
    _, _, kind, newer, shown, duck_type = WIDENINGS[number]
    newer = dict(newer) if pa.types.is_map(kind) else newer

    assert widened[number] == (shown, None, newer, duck_type)


@pytest.mark.spec("HP-071")
def test_older_rows_are_read_under_the_new_name_of_a_column(workshop: Workshop) -> None:
    renamed = pa.schema([named("key", pa.int64(), "id"), named("title", pa.string(), "name", "label")])
    workshop.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    workshop.land([{"key": 2, "title": "B"}], renamed, "key")
    workshop.publish()

    assert workshop.query("SELECT key, title FROM orders ORDER BY key") == [(1, "a"), (2, "B")]


@pytest.mark.spec("HP-072")
def test_an_undeclared_rename_is_a_column_gone_and_a_new_one(workshop: Workshop) -> None:
    workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    workshop.land([{"id": 2, "title": "B"}], SCHEMA.append(pa.field("title", pa.string())), "id")
    workshop.publish()

    assert workshop.query("FROM orders ORDER BY id") == [(1, "a", None), (2, None, "B")]


def test_a_name_that_comes_back_after_a_rename_is_another_column(workshop: Workshop) -> None:
    second = pa.schema([("id", pa.int64()), named("title", pa.string(), "name")])
    third = second.append(pa.field("name", pa.string()))
    workshop.land([{"id": 1, "name": "first"}], SCHEMA, "id")
    workshop.land([{"id": 2, "title": "second"}], second, "id")
    workshop.land([{"id": 3, "title": "third", "name": "new"}], third, "id")
    workshop.publish()

    assert workshop.query("SELECT title, name FROM orders ORDER BY id") == [
        ("first", None),
        ("second", None),
        ("third", "new"),
    ]


def test_two_columns_may_swap_their_names(workshop: Workshop) -> None:
    first = pa.schema([("a", pa.int8()), ("b", pa.int8())])
    second = pa.schema([named("a", pa.int8(), "b"), named("b", pa.int8(), "a")])
    workshop.land([{"a": 1, "b": 2}], first)
    workshop.land([{"a": 3, "b": 4}], second)
    workshop.publish()

    assert workshop.query("SELECT a, b FROM orders ORDER BY a") == [(2, 1), (3, 4)]


def test_fields_inside_nested_values_may_be_renamed(workshop: Workshop) -> None:
    old, new = pa.struct([("a", pa.int32())]), pa.struct([named("z", pa.int64(), "a"), ("n", pa.int8())])
    kinds = {"s": lambda kind: kind, "l": pa.list_, "m": lambda kind: pa.map_(pa.string(), kind)}
    values = {"s": {"a": 7}, "l": [{"a": 7}, None], "m": [("k", {"a": 7}), ("n", None)]}
    workshop.land(
        [values, {"s": None, "l": None, "m": None}], pa.schema([(name, kinds[name](old)) for name in kinds])
    )
    workshop.land([], pa.schema([(name, kinds[name](new)) for name in kinds]))
    workshop.publish()

    shown = {"z": 7, "n": None}
    assert workshop.query("SELECT s, l, m FROM orders ORDER BY s") == [
        (shown, [shown, None], {"k": shown, "n": None}),
        (None, None, None),
    ]


def test_odd_names_are_quoted(tmp_path: Path) -> None:
    odd = ['"', "'", "a b", "select", "MiXed", "ä→", "a.b", "1", "--", ";", "\\", "all_rows", "source"]
    inner = pa.struct([(name, pa.int32()) for name in odd])
    first = pa.schema([*((name, pa.int32()) for name in odd), ("in", inner)])
    wide = pa.struct([named(f"{name}!", pa.int64(), name) for name in odd])
    second = pa.schema([*((name, pa.int64()) for name in odd), ("in", wide), ("at", ZONED)])
    rows = [dict.fromkeys(odd, 7) | {"in": dict.fromkeys(odd, 7)}]
    with open_workshop(tmp_path / "it's [a] *store*? x=1") as workshop:
        workshop.land(rows, first, "a b", "select")
        workshop.land([], second, "a b", "select")
        workshop.publish()

        ((*values, inside, at),) = workshop.query("FROM orders")
        names = list(types_of(workshop))

    assert names == [*odd, "in", "at"]
    assert (values, inside, at) == ([7] * len(odd), {f"{name}!": 7 for name in odd}, None)


def test_a_folder_that_looks_like_a_partition_adds_no_values(tmp_path: Path) -> None:
    with open_workshop(tmp_path / "name=wrong") as workshop:
        workshop.land([{"id": 1, "name": "right"}], SCHEMA)
        workshop.publish()

        assert workshop.query("FROM orders") == [(1, "right")]


def test_rows_that_did_not_fit_are_in_a_view_of_their_own(workshop: Workshop) -> None:
    rows = [{"id": 1, "name": "a"}, {"id": None, "name": "b"}]
    first = workshop.land(rows, SCHEMA, "id", bad_rows=BadRows.QUARANTINE)
    workshop.publish()

    assert workshop.query("FROM orders") == [(1, "a")]
    assert workshop.query("SELECT _reason, _row ->> 'name', _pipeline_id FROM orders__quarantine") == [
        ("column `id` is NULL and belongs to the primary key", "b", "shop")
    ]

    workshop.catalog.chunks.supersede(workshop.chunks()[0].pipeline, [first], "mended", NOON)
    workshop.work([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    workshop.publish()

    assert workshop.query("FROM orders ORDER BY id") == [(1, "a"), (2, "b")]
    assert [row[0] for row in workshop.query("SHOW TABLES")] == ["orders"]


@pytest.mark.parametrize(
    ("name", "other"),
    [("[x]", "x"), ("a*b", "aZb"), ("a?b", "aQb"), ("w[!x]", "wy"), ("{a,b}", "a"), (r"b\c", "bc")],
)
def test_a_store_whose_path_looks_like_a_pattern_shows_its_own_rows_and_no_other(
    tmp_path: Path, name: str, other: str
) -> None:
    for folder, shown in ((name, "own"), (other, "other")):
        with open_workshop(tmp_path / folder) as workshop:
            workshop.land([{"id": 1, "name": shown}, {"id": None}], SCHEMA, "id", bad_rows=BadRows.QUARANTINE)
            workshop.publish()

    with open_workshop(tmp_path / name) as workshop:
        assert workshop.query("FROM orders") == [(1, "own")]
        assert workshop.query("SELECT count(*) FROM orders__quarantine") == [(1,)]


def texts_in_a_view(column: pa.Array, target: pa.DataType, folder: Path) -> list[Any]:
    """What a view makes of the column, in a file from before it became text."""
    import duckdb
    import pyarrow.parquet as pq

    from hakiri.store.descent import descent
    from hakiri.store.duck_sql import column_of

    versions = descent({1: pa.schema([("x", column.type)]), 2: pa.schema([("x", target)])})
    file = folder / "older.parquet"
    pq.write_table(pa.table({"x": column}), file)
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"SELECT {column_of(versions[1][0], versions[2][0])} FROM read_parquet(?)", [str(file)]
        )
        return [row[0] for row in rows.fetchall()]


def texts_of_the_writer(column: pa.Array, target: pa.DataType) -> list[Any]:
    return fitted(column, target, "x").column.to_pylist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


TEXTS = st.sampled_from([kind for kind in LEAVES if not pa.types.is_binary(kind)]).flatmap(
    lambda kind: st.lists(LEAVES[kind], min_size=1, max_size=4).map(lambda values: pa.array(values, kind))
)


def has_twins(kind: pa.DataType) -> bool:
    """Whether two fields of a struct differ in case alone: the store refuses those."""
    names = [field.name.casefold() for field in inner_fields(kind)] if pa.types.is_struct(kind) else []
    return len(names) > len({*names}) or any(has_twins(field.type) for field in inner_fields(kind))


NESTED = (
    types()
    .filter(lambda kind: pa.types.is_nested(kind) and not has_twins(kind))
    .flatmap(
        lambda kind: st.lists(values(kind), min_size=1, max_size=3).map(lambda given: pa.array(given, kind))
    )
)


@settings(max_examples=60, deadline=None)
@given(column=TEXTS | NESTED, target=st.sampled_from([pa.string(), pa.binary()]))
def test_views_make_the_same_texts_of_older_values_as_the_writer_of_newer(
    scratch: Path, column: pa.Array, target: pa.DataType
) -> None:
    assert texts_in_a_view(column, target, scratch) == texts_of_the_writer(column, target)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("is_nested", [False, True], ids=["alone", "in a list"])
def test_floats_of_every_magnitude_are_the_same_texts_in_a_view_and_for_the_writer(
    tmp_path: Path, kind: pa.DataType, is_nested: bool
) -> None:
    column = floats_of_every_magnitude(kind)
    given = pa.array([[each] for each in column.to_pylist()], pa.list_(kind)) if is_nested else column

    texts = texts_of_the_writer(given, pa.string())

    assert texts_in_a_view(given, pa.string(), tmp_path) == texts
    if not is_nested:
        read = pa.array(map(float, texts)).cast(kind, safe=False)
        assert str(read.to_pylist()) == str(column.to_pylist())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (16777216.0, "16777216.0"),
        (343126.125, "343126.12"),
        (9999999.0, "9999999.0"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (1e20, "1e+20"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (3.4028235e38, "3.4028235e+38"),
        (-0.0, "-0.0"),
        (float("-inf"), "-inf"),
        (-float("nan"), "nan"),
    ],
)
def test_a_small_float_becomes_text_with_the_fewest_digits_that_tell_it_apart(
    tmp_path: Path, value: float, text: str
) -> None:
    column = pa.array([value], pa.float32())

    assert texts_of_the_writer(column, pa.string()) == [text]
    assert texts_in_a_view(column, pa.string(), tmp_path) == [text]


NESTED_TEXTS = [
    (pa.list_(pa.float64()), [1e20, 1e-7, -0.0, None], "[1e+20,1e-07,-0.0,null]"),
    (
        pa.list_(pa.float64()),
        [float("nan"), float("inf"), -float("inf")],
        '["nan","inf","-inf"]',
    ),
    (pa.list_(pa.float32()), [0.1, 1e10], "[0.1,10000000000.0]"),
    (pa.list_(pa.binary()), [b"\xde\xad", None], '["dead",null]'),
    (pa.list_(pa.string()), ['"\\\n\x1f\x7f/ü\u2028', ""], '["\\"\\\\\\n\\u001F\x7f/ü\u2028",""]'),
    (pa.map_(pa.float64(), pa.bool_()), [(1e20, True), (0.5, None)], '{"1e+20":true,"0.5":null}'),
    (pa.map_(pa.binary(), pa.int8()), [(b"\xff", 1)], '{"ff":1}'),
    (pa.map_(pa.list_(pa.string()), pa.int8()), [(["a"], 1)], r'{"[\"a\"]":1}'),
    (
        struct(**{'o"': pa.null(), "it's": struct(n=pa.int8())}),
        {"it's": None},
        """{"o\\"":null,"it's":null}""",
    ),
    (pa.list_(pa.duration("us")), [timedelta(days=1)], "[86400000000]"),
]


@pytest.mark.parametrize(("kind", "value", "text"), NESTED_TEXTS, ids=[text for *_, text in NESTED_TEXTS])
@pytest.mark.spec("HC-012")
def test_nested_values_become_one_json_for_everybody(
    tmp_path: Path, kind: pa.DataType, value: Any, text: str
) -> None:
    column = pa.array([value, None], kind)

    assert texts_of_the_writer(column, pa.string()) == [text, None]
    assert texts_in_a_view(column, pa.string(), tmp_path) == [text, None]


def test_whoever_reads_files_alone_learns_what_they_call_the_columns_of_today() -> None:
    second = pa.schema([("id", pa.int64()), named("title", pa.string(), "name"), ("new", pa.int8())])
    files = VisibleFiles(primary_key=(), schemas={1: SCHEMA, 2: second}, files={}, quarantine=())

    assert files.names_in(1) == {"id": "id", "title": "name"}
    assert files.names_in(2) == {"id": "id", "title": "title", "new": "new"}
