"""Parquet and ORC without Spark: schemas from the footers, widened by rule, and rows in them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pa_parquet
import pytest
from tests.sources.files.lab import TABLE, files_in, rows_of, types_of, write

from hakiri.core.errors import Place
from hakiri.sources.contract import Extent
from hakiri.sources.errors import SchemaIncompatible, UnreadableFile
from hakiri.sources.files.column_types import Conflict, common_type


def put(root: Path, name: str, **columns: pa.Array) -> None:
    """A file in the format that its ending says."""
    table = pa.table(columns)
    if name.endswith("orc"):
        pa_orc.write_table(table, root / name)
    else:
        pa_parquet.write_table(table, root / name)


def ints(kind: pa.DataType, *values: int) -> pa.Array:
    return pa.array(values, kind)


STRUCT = pa.struct([("x", pa.int32())])


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.int32(), pa.int16(), pa.int32()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.decimal128(5, 2), pa.decimal128(6, 4), pa.decimal128(7, 4)),
        (pa.null(), pa.string(), pa.string()),
        (pa.null(), pa.null(), pa.null()),
        (
            STRUCT,
            pa.struct([("y", pa.string()), ("x", pa.int64())]),
            pa.struct([("x", pa.int64()), ("y", pa.string())]),
        ),
        (pa.list_(pa.int8()), pa.list_(pa.int64()), pa.list_(pa.int64())),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int64())),
        (pa.int64(), pa.float64(), None),
        (pa.int64(), pa.string(), None),
        (pa.date32(), pa.timestamp("us"), None),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), None),
        (pa.decimal128(38, 0), pa.decimal128(38, 10), None),
        (pa.binary(), pa.string(), None),
        (STRUCT, pa.struct([("X", pa.int32())]), None),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.int8(), pa.int8()), None),
    ],
)
def test_types_widen_by_rule_whichever_comes_first(
    one: pa.DataType, other: pa.DataType, common: pa.DataType | None
) -> None:
    for pair in ((one, other), (other, one)):
        if common is None:
            with pytest.raises(Conflict):
                common_type(*pair)
        elif not pa.types.is_struct(common):
            assert common_type(*pair) == common
    if common is not None:
        assert common_type(one, other) == common


@pytest.mark.spec("HP-024")
@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_files_may_have_gained_columns_and_wider_types(tmp_path: Path, kind: str) -> None:
    put(tmp_path, f"a.{kind}", id=ints(pa.int32(), 1), price=pa.array([Decimal("1.50")], pa.decimal128(5, 2)))
    put(
        tmp_path,
        f"b.{kind}",
        Price=pa.array([Decimal("2.5000")], pa.decimal128(8, 4)),
        ID=ints(pa.int64(), 2**40),
        day=pa.array([date(2026, 1, 31)]),
    )
    connector = files_in(tmp_path, path=f"*.{kind}")

    assert types_of(connector) == {"id": "bigint", "price": "decimal(8,4)", "day": "date"}
    assert rows_of(connector) == [
        {"id": 1, "price": Decimal("1.5000"), "day": None},
        {"id": 2**40, "price": Decimal("2.5000"), "day": date(2026, 1, 31)},
    ]
    assert connector.extent(TABLE, "id") == Extent(rows=2)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_types_that_clash_are_told_with_both_files(tmp_path: Path, kind: str) -> None:
    put(tmp_path, f"a.{kind}", id=ints(pa.int64(), 1))
    put(tmp_path, f"b.{kind}", Id=pa.array(["x"]))

    with pytest.raises(SchemaIncompatible) as refused:
        files_in(tmp_path, path=f"*.{kind}").discover([TABLE])

    assert str(refused.value) == f"column `id` is bigint in `a.{kind}` and string in `b.{kind}`"
    assert refused.value.hint == "rewrite one of the files, or read them into two tables"


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        (ints(pa.uint8(), 200), "int16", 200),
        (ints(pa.uint32(), 2**32 - 1), "bigint", 2**32 - 1),
        (ints(pa.uint64(), 2**64 - 1), "decimal(20,0)", Decimal(2**64 - 1)),
        (pa.array(["a"]).dictionary_encode(), "string", "a"),
        (pa.array(["a"], pa.large_string()), "string", "a"),
        (pa.array([b"ab"], pa.binary(2)), "binary", b"ab"),
        (pa.array([[1]], pa.large_list(pa.int8())), "array<int8>", [1]),
        (ints(pa.timestamp("ms"), 1), "timestamp[us]", datetime(1970, 1, 1, 0, 0, 0, 1_000)),  # noqa: DTZ001
        (
            ints(pa.timestamp("ns", "Europe/Berlin"), 1_000),
            "timestamp",
            datetime(1970, 1, 1, 0, 0, 0, 1, UTC),
        ),
        (pa.nulls(1), "string", None),
    ],
)
def test_types_of_other_programs_are_those_that_spark_has_for_them(
    tmp_path: Path, column: pa.Array, kind: str, value: Any
) -> None:
    put(tmp_path, "a.parquet", c=column)
    connector = files_in(tmp_path, path="a.parquet")

    assert types_of(connector) == {"c": kind}
    assert rows_of(connector) == [{"c": value}]


def test_old_times_of_parquet_and_those_of_orc_are_utc(tmp_path: Path) -> None:
    noon = datetime(2026, 1, 31, 12)  # noqa: DTZ001 - the file does not say a zone
    table = pa.table({"at": pa.array([noon], pa.timestamp("ns"))})
    pa_parquet.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    pa_orc.write_table(table, tmp_path / "a.orc")

    for kind in ("parquet", "orc"):
        connector = files_in(tmp_path, path=f"a.{kind}")
        assert types_of(connector) == {"at": "timestamp"}
        assert rows_of(connector) == [{"at": noon.replace(tzinfo=UTC)}]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (ints(pa.time64("us"), 1), "time64\\[us\\]"),
        (pa.array([1.5], pa.float16()), "halffloat"),
        (ints(pa.duration("us"), 1), "duration\\[us\\]"),
        (pa.array([[None]], pa.list_(pa.null())), "list<"),
        (pa.array([[1]], pa.list_(pa.timestamp("ns"))), "list<"),
    ],
)
def test_types_that_spark_does_not_read_are_refused(tmp_path: Path, column: pa.Array, kind: str) -> None:
    put(tmp_path, "a.parquet", c=column)

    with pytest.raises(SchemaIncompatible, match=f"^`a.parquet` has a column `c` of the type {kind}"):
        files_in(tmp_path, path="a.parquet").discover([TABLE])


def test_a_name_that_spark_misreads_in_orc_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.orc", **{"a`b": ints(pa.int64(), 1)})

    with pytest.raises(SchemaIncompatible) as refused:
        files_in(tmp_path, path="a.orc").discover([TABLE])

    assert str(refused.value) == (
        "`a.orc` has a column `a`b` with a backtick in its name, which Spark does not read"
    )


def test_a_time_finer_than_a_microsecond_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.parquet", at=ints(pa.timestamp("ns", "UTC"), 1_001))

    with pytest.raises(UnreadableFile) as refused:
        rows_of(files_in(tmp_path, path="a.parquet"))

    assert str(refused.value) == "`a.parquet` cannot be read: column `at` holds a value that is no timestamp"


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([ints(pa.int64(), 1), ints(pa.int64(), 2)], names=["a", "A"])
    pa_parquet.write_table(table, tmp_path / "a.parquet")

    with pytest.raises(UnreadableFile) as refused:
        files_in(tmp_path, path="a.parquet").discover([TABLE])

    assert str(refused.value) == "`a.parquet` cannot be read: it has the column `a` more than once"


@pytest.mark.parametrize(("kind", "name"), [("parquet", "Parquet"), ("orc", "ORC")])
@pytest.mark.parametrize("content", ["", "no", "cut"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, kind: str, name: str, content: str) -> None:
    put(tmp_path, f"a.{kind}", id=ints(pa.int64(), 1))
    whole = (tmp_path / f"a.{kind}").read_bytes()
    write(tmp_path, {f"b.{kind}": whole[:-9] if content == "cut" else content})

    with pytest.raises(UnreadableFile) as refused:
        files_in(tmp_path, path=f"*.{kind}").discover([TABLE])

    assert str(refused.value) == f"`b.{kind}` cannot be read: it is no whole {name} file"
    assert refused.value.places == (Place(f"b.{kind}"),)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([("id", pa.int32())], "column `id` is bigint in `a.parquet`, and int in the table"),
        ([("id", pa.string())], "column `id` is bigint in `a.parquet`, and string in the table"),
        ([("other", pa.int64())], "`a.parquet` has the column `id`, which the table does not have"),
    ],
)
def test_a_file_that_the_expected_schema_does_not_hold_is_refused(
    tmp_path: Path, schema: list[tuple[str, pa.DataType]], problem: str
) -> None:
    put(tmp_path, "a.parquet", id=ints(pa.int64(), 1))

    with pytest.raises(SchemaIncompatible) as refused:
        rows_of(files_in(tmp_path, path="a.parquet"), schema=pa.schema(schema))

    assert str(refused.value) == problem


def test_an_empty_table_has_columns_and_no_rows(tmp_path: Path) -> None:
    put(tmp_path, "a.parquet", id=ints(pa.int64()))
    connector = files_in(tmp_path, path="a.parquet")

    assert (types_of(connector), rows_of(connector)) == ({"id": "bigint"}, [])
