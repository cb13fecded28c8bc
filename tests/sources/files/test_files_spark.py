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

from hakiri.core.errors import HakiriError, Place
from hakiri.sources.contract import Read
from hakiri.sources.errors import UnreadableFile
from hakiri.sources.files import FilesConnector
from tests.sources.files.lab import TABLE, files_in, rows_of, sorted_rows, write

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
            "a.jsonl": '{"at": "2026-01-31T08:00:00Z", "p": 1.10, "n": 5}\n{"at": "soon", "p": "x", "n": 1e3}\n'
        },
        {"columns": {"at": "timestamp", "p": "decimal(5,2)", "n": "int"}},
    ),
    "numbers": (
        {
            "a.jsonl": '{"a": 9007199254740993, "b": 0.1}\n{"a": 1, "b": 2}\n{"a": 18446744073709551616, "b": 1e400}\n'
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
    assert arrow_schema(frame.schema).types == [_seen_by_spark(kind) for kind in table.schema.types]
    assert sorted_rows(arrow.to_pylist()) == sorted_rows(rows_of(connector))


def _seen_by_spark(kind: pa.DataType) -> pa.DataType:
    return kind


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
