"""Files as Spark reads them: the same rows as without Spark, or a failure that names file and line."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pa_parquet
import pytest
from tests.sources.files.lab import TABLE, files_in, rows_of, sorted_rows, write

from hakiri.core.errors import HakiriError, Place
from hakiri.sources.contract import Read
from hakiri.sources.errors import BadRecord, UnreadableFile
from hakiri.sources.files import FilesConnector

pytestmark = pytest.mark.spark

ZSTD = pa.compress(b'id,name\n1,"Ada"\n', codec="zstd", asbytes=True)
CSV_CORPUS: dict[str, tuple[dict[str, str | bytes], dict[str, Any]]] = {
    "every type": (
        {
            "a.csv": "id,name,price,day,at,is_paid,nothing\n"
            "1,Ada,4.50,2026-01-31,2026-01-31T08:00:00Z,true,\n"
            "-2,,1e-3,0001-01-01,2026-01-31 08:00+01:00,FALSE,\n"
            "9223372036854775807,Bo,0,9999-12-31,2026-01-31T23:59:59.123456-0530,True,\n"
            "0,x,12,,2026-01-31 08:00,,\n",
        },
        {},
    ),
    "declared types": (
        {
            "a.csv": "z,n,p,b,d,t,f\n"
            "007, +12 ,0012.500,yes,2026-01-31 ,2026-01-31T08:00:00,.5\n"
            "07,-0,-.5,0,,2026-01-31 08:00:00.1+02,1e3\n"
            ',"",99999999.99,N,, ,"7."\n'
        },
        {
            "columns": {
                "z": "string",
                "n": "int",
                "p": "decimal(10,2)",
                "b": "boolean",
                "d": "date",
                "t": "timestamp",
                "f": "double",
            }
        },
    ),
    "columns in another order, missing and more": (
        {"a.csv": "id,name\n1,Ada\n", "b.csv": "NAME,extra,ID\nBob,x,2\n", "c.csv": "id\n3\n"},
        {},
    ),
    "quotes": ({"a.csv": 'id,said\n1,"say ""hi"", you"\n2,"a \\"\n3,5" pipe\n4,""\n5,\n6,"""\x27"""\n'}, {}),
    "line ends in fields": (
        {
            "a.csv": 'id,said\n1,"one\ntwo"\n2,"one\r\ntwo"\n',
            "b.csv": 'id,said\r\n3,"one\r\ntwo"\r\n4,"one\ntwo"\r\n',
        },
        {},
    ),
    "lines that end in a carriage return": ({"a.csv": 'id,said\r1,"one\rtwo"\r2,b\r'}, {}),
    "byte order mark": ({"a.csv": "\ufeffid,naïve\n1,é\n", "b.csv": "id,naïve\n2,ü\n"}, {}),
    "empty files": (
        {"a.csv": "", "b.csv": "id,name\n", "c.csv": "id,name", "d.csv": "\n\nid,name\n1,x\n\n2,y"},
        {},
    ),
    "names of columns": ({"a.csv": ' a.b ,`c`,,"d, e","x""y"\n1,2,3,4,5\n'}, {}),
    "null values": ({"a.csv": 'a,b\nNULL,"N/A"\n1,x\n,\n'}, {"null_values": ["NULL", "N/A"]}),
    "other signs": ({"a.csv": "a;b\n1;'x;''y'''\n2;\"z\"\n"}, {"delimiter": ";", "quote": "'"}),
    "tabs and no quotes": ({"a.csv": 'a\tb\n1\t"x\n2\ty"\n'}, {"delimiter": "\t", "quote": ""}),
    "no header": ({"a.csv": "1,x\n2,y\n"}, {"header": False}),
    "a header that is given": ({"a.csv": "1,x\n2,y\n"}, {"header": ["id", "näme"]}),
    "windows-1252": (
        {"a.csv": "id;preis €\n1;“5 €”\n".encode("cp1252")},
        {"encoding": "windows-1252", "delimiter": ";"},
    ),
    "iso-8859-1": ({"a.csv": "id,naïve\n1,é\n".encode("latin-1")}, {"encoding": "ISO-8859-1"}),
    "utf-16": (
        {"a.csv": 'id\tnaïve\r\n1\t"é\r\n€"\r\n'.encode("utf-16")},
        {"encoding": "utf-16", "delimiter": "\t"},
    ),
    "replaced bytes": ({"a.csv": b"id,s\n1,\xff\n2,\xef\xbf\xbd\n"}, {"invalid_bytes": "replace"}),
    "packed": (
        {
            "a.csv.gz": gzip.compress(b"id,name\n1,x\n") + gzip.compress(b"2,y\n"),
            "b.csv.bz2": bz2.compress(b"id,name\n3,z\n"),
            "d.csv.zst": ZSTD,
            "e.csv": "id,name\n5,w\n",
        },
        {"path": "*.csv*", "format": "csv"},
    ),
    "names of files": (
        {
            f"{name}.csv": f"id,name\n{number},x\n"
            for number, name in enumerate(
                [
                    "a b",
                    "p%20q",
                    "ü",
                    "x[1]*?",
                    "{a}",
                    "back\\s",
                    "#h",
                    "co,ma",
                    "^c",
                    "d=1/z",
                    "e:f/g",
                    "'q'",
                ]
            )
        },
        {"path": "**/*.csv"},
    ),
    "lines that are split": (
        {"a.csv": 'id,name\r\n1,x\r\n2,"y"\r\n', "b.csv": "id,name\n3,z"},
        {"multiline": False},
    ),
}
JSONL_CORPUS: dict[str, tuple[dict[str, str | bytes], dict[str, Any]]] = {
    "nested": ({"a.jsonl": '{"id": 1, "tags": ["x"], "by": {"name": "Ada"}}\n{"id": 2}\n'}, {}),
    "mixed types": (
        {"a.jsonl": '{"a": 1, "b": 1}\n{"a": "x", "b": 1.5}\n{"a": {"k": [1]}, "b": null}\n'},
        {},
    ),
    "odd lines": ({"a.jsonl": b'\xef\xbb\xbf{"a": 1}\r\n\n  \n {"a": 2} \n{"a": 3}', "b.jsonl": ""}, {}),
    "declared": (
        {
            "a.jsonl": '{"at": "2026-01-31T08:00:00Z", "p": 1.10, "n": 5}\n',
            "b.jsonl": '{"at": "soon", "p": "x", "n": 1e3}\n',
        },
        {"columns": {"at": "timestamp", "p": "decimal(5,2)", "n": "int"}},
    ),
    "numbers": (
        {
            "a.jsonl": '{"a": 9007199254740993, "b": 0.1}\n{"a": 1, "b": 2}\n',
            "b.jsonl": '{"a": 18446744073709551616, "b": 1e400}\n',
        },
        {},
    ),
    "packed": (
        {"a.jsonl.gz": gzip.compress(b'{"a": "\xc3\xa9"}\n'), "b.jsonl": '{"b": "\\u0000"}'},
        {"path": "*.jsonl*", "format": "jsonl"},
    ),
}


def same_rows(spark: Any, connector: FilesConnector) -> None:
    """Spark and Arrow read the same columns, types and values."""
    from hakiri.sources.bridge.schemas import arrow_schema

    frame = connector.frame(spark, Read(table=TABLE))
    (table,) = connector.discover([TABLE])
    arrow = frame.toArrow()
    assert arrow.schema.names == table.schema.names
    assert arrow_schema(frame.schema).types == table.schema.types
    assert sorted_rows(arrow.to_pylist()) == sorted_rows(rows_of(connector))


@pytest.mark.parametrize("name", CSV_CORPUS)
def test_csv_is_the_same_with_spark_and_without(spark: Any, tmp_path: Path, name: str) -> None:
    files, config = CSV_CORPUS[name]
    write(tmp_path, files)

    same_rows(spark, files_in(tmp_path, **{"path": "*.csv"} | config))


@pytest.mark.parametrize("name", JSONL_CORPUS)
def test_json_lines_are_the_same_with_spark_and_without(spark: Any, tmp_path: Path, name: str) -> None:
    files, config = JSONL_CORPUS[name]
    write(tmp_path, files)

    same_rows(spark, files_in(tmp_path, **{"path": "*.jsonl"} | config))


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columnar_files_are_the_same_with_spark_and_without(spark: Any, tmp_path: Path, kind: str) -> None:
    old = {
        "id": pa.array([1, None], pa.int32()),
        "small": pa.array([1, 2], pa.int8()),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "ratio": pa.array([0.5, None], pa.float32()),
        "at": pa.array([datetime(2026, 1, 31, 8, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "by": pa.array([{"x": 1}, None], pa.struct([("x", pa.int32())])),
        "tags": pa.array([[1], []], pa.list_(pa.int32())),
        "odd.name (x)": pa.array(["a", "b"]),
    }
    new = {
        "TAGS": pa.array([[2**40], None], pa.list_(pa.int64())),
        "ID": pa.array([2**40, 3], pa.int64()),
        "small": pa.array([1.5, None], pa.float64()),
        "price": pa.array([Decimal("2.1234"), None], pa.decimal128(8, 4)),
        "ratio": pa.array([0.1, None], pa.float64()),
        "by": pa.array([{"x": 2**40, "y": "z"}, None], pa.struct([("x", pa.int64()), ("y", pa.string())])),
        "day": pa.array([date(2026, 1, 31), None]),
        "kept": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    }
    writer = pa_orc.write_table if kind == "orc" else pa_parquet.write_table
    for name, columns in (("a", old), ("b", new)):
        writer(pa.table(columns), tmp_path / f"{name}.{kind}")

    same_rows(spark, files_in(tmp_path, path=f"*.{kind}"))


def test_parquet_of_other_programs_is_the_same_with_spark_and_without(spark: Any, tmp_path: Path) -> None:
    noon = datetime(2026, 1, 31, 12)  # noqa: DTZ001 - without a zone on purpose
    columns = {
        "nothing": pa.nulls(1),
        "local": pa.array([noon], pa.timestamp("ns")),
        "at": pa.array([noon.replace(tzinfo=UTC)], pa.timestamp("ns", "Europe/Berlin")),
        "old": pa.array([datetime(1900, 1, 1, tzinfo=UTC)], pa.timestamp("ns", "UTC")),
        "u8": pa.array([200], pa.uint8()),
        "u64": pa.array([2**64 - 1], pa.uint64()),
        "category": pa.array(["x"]).dictionary_encode(),
        "ms": pa.array([noon], pa.timestamp("ms")),
    }
    pa_parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    pa_parquet.write_table(
        pa.table({"nothing": pa.array(["x"]), "local": pa.array([noon], pa.timestamp("us"))}),
        tmp_path / "b.parquet",
    )
    pa_parquet.write_table(
        pa.table({"int96": pa.array([noon], pa.timestamp("ns"))}),
        tmp_path / "c.parquet",
        use_deprecated_int96_timestamps=True,
    )

    same_rows(spark, files_in(tmp_path, path="*.parquet"))


def refusal(spark: Any, connector: FilesConnector, read: Read, spoil: Callable[[], object]) -> HakiriError:
    """What the connector makes of Spark's failure, once the files were spoilt behind its back."""
    from pyspark.errors import PySparkException

    frame = connector.frame(spark, read)
    spoil()
    with pytest.raises(PySparkException) as failed:
        frame.collect()
    told = connector.explain(failed.value)
    assert told is not None
    return told


@pytest.mark.parametrize(
    ("content", "problem", "line"),
    [
        ("id,n\n1,2\n3,4,5\n", "it has 3 fields instead of 2", 3),
        ("id,n\n1\n", "it has 1 field instead of 2", 2),
        ('id,n\n1,"a\nb"\nmuch,x\n', "`id` has `much`, which is no int64", 4),
        ("id,n\n1,x\n007.5,x\n", "`id` has `007.5`, which is no int64", 3),
        (b"id,n\n1,\xffx\n", "`n` has `\ufffdx`, which is not utf-8", 2),
    ],
)
def test_a_row_of_a_csv_that_does_not_fit_fails_with_file_and_line_and_never_becomes_null(
    spark: Any, tmp_path: Path, content: str | bytes, problem: str, line: int
) -> None:
    write(tmp_path, {"data/a b%20.csv": "id,n\n1,x\n", "data/c.csv": "id,n\n2,y\n"})
    connector = files_in(tmp_path, path="data/*.csv")

    told = refusal(spark, connector, Read(table=TABLE), lambda: write(tmp_path, {"data/a b%20.csv": content}))

    assert isinstance(told, BadRecord)
    assert str(told) == f"a row of `data/a b%20.csv` does not fit: {problem}"
    assert told.places == (Place("data/a b%20.csv", line),)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("n,id\nx,1\n", "it was changed while it was read"),
        ('id,n\n1,"secret"x\n', "a quoted field goes on after its closing quote"),
        ("id,n\n1,\ufffd\n", 'column `n` holds U+FFFD, which invalid_bytes = "replace" allows'),
        ("id,n\n1,x\r\n2,y\n", "some of its lines end otherwise than the first"),
    ],
)
def test_a_csv_that_spark_does_not_read_fails_with_its_file(
    spark: Any, tmp_path: Path, content: str, problem: str
) -> None:
    write(tmp_path, {"data/a b%20.csv": "id,n\n1,x\n", "data/c.csv": "id,n\n2,y\n"})
    connector = files_in(tmp_path, path="data/*.csv")

    told = refusal(spark, connector, Read(table=TABLE), lambda: write(tmp_path, {"data/a b%20.csv": content}))

    assert isinstance(told, UnreadableFile)
    assert "secret" not in str(told)
    assert str(told) == f"`data/a b%20.csv` cannot be read: {problem}"
    assert told.places == (Place("data/a b%20.csv"),)


def test_a_line_that_is_no_json_fails_with_file_and_line(spark: Any, tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": '{"id": 1}\n', "b.jsonl": '{"id": 2}\n{"name":\n'})
    schema = pa.schema([("id", pa.int64()), ("_extra", pa.string())])

    told = refusal(spark, files_in(tmp_path, path="*.jsonl"), Read(table=TABLE, schema=schema), lambda: None)

    assert str(told) == "a row of `b.jsonl` does not fit: it is no JSON object"
    assert told.places == (Place("b.jsonl", 2),)


def test_unknown_fields_are_kept_by_spark_too(spark: Any, tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": '{"id": 1}\n{"id": "x", "by": {"name": "Ada"}}\n'})
    schema = pa.schema([("id", pa.int64()), ("_extra", pa.string())])

    frame = files_in(tmp_path, path="*.jsonl").frame(spark, Read(table=TABLE, schema=schema))

    assert [tuple(row) for row in frame.orderBy("id").collect()] == [
        (None, '{"by":{"name":"Ada"},"id":"x"}'),
        (1, None),
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", None, "it is not there any more"),
        ("a.csv.gz", gzip.compress(os.urandom(9_000).hex().encode())[:-99], "it is no whole gzip file"),
        ("a.parquet", b"no", "it is no whole Parquet file"),
        ("a.orc", b"no", "it is no whole ORC file"),
    ],
)
def test_a_file_that_is_spoilt_after_it_was_planned_is_told(
    spark: Any, tmp_path: Path, name: str, content: bytes | None, problem: str
) -> None:
    path = tmp_path / name
    if name.startswith("a.csv"):
        path.write_bytes(gzip.compress(b"id\n1\n") if name.endswith("gz") else b"id\n1\n")
    else:
        writer = pa_orc.write_table if name.endswith("orc") else pa_parquet.write_table
        writer(pa.table({"id": [1]}), path)

    def spoil() -> None:
        path.unlink()
        if content is not None:
            path.write_bytes(content)

    told = refusal(spark, files_in(tmp_path, path=name), Read(table=TABLE), spoil)

    assert str(told) == f"`{name}` cannot be read: {problem}"


def test_times_finer_than_a_microsecond_fail_in_spark_too(spark: Any, tmp_path: Path) -> None:
    pa_parquet.write_table(
        pa.table({"at": pa.array([1_001], pa.timestamp("ns", "UTC"))}), tmp_path / "a.parquet"
    )

    told = refusal(spark, files_in(tmp_path, path="*.parquet"), Read(table=TABLE), lambda: None)

    assert str(told) == "`a.parquet` cannot be read: column `at` holds a value that is no timestamp"


def test_a_frame_reads_what_was_planned_and_the_next_one_what_came_later(spark: Any, tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "id\n1\n"})
    connector, read = files_in(tmp_path, path="*.csv"), Read(table=TABLE)
    cursor = connector.cursor_after(read)
    write(tmp_path, {"b.csv": "id\n2\n"})

    first = connector.frame(spark, read).collect()
    later = connector.frame(spark, Read(table=TABLE, cursor=cursor))

    assert ([row["id"] for row in first], [row["id"] for row in later.collect()]) == ([1], [2])
    nothing = Read(table=TABLE, cursor=connector.cursor_after(Read(table=TABLE, cursor=cursor)))
    assert connector.frame(spark, nothing).count() == 0


def test_lines_with_too_few_fields_fail_whatever_is_asked_of_the_frame(spark: Any, tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "id,n\n1,x\n2\n"})
    schema = pa.schema([("id", pa.int64()), ("n", pa.string())])
    frame = files_in(tmp_path, path="*.csv").frame(spark, Read(table=TABLE, schema=schema))

    with pytest.raises(Exception, match="MALFORMED_CSV_RECORD"):
        frame.count()
    with pytest.raises(Exception, match="MALFORMED_CSV_RECORD"):
        frame.select("id").collect()


def test_an_error_that_is_not_about_a_file_is_left_alone(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as failed:
        spark.sql("SELECT nosuch FROM range(1)").collect()

    assert files_in(tmp_path, path="*.csv").explain(failed.value) is None
