"""CSV without Spark: what types its texts have, and which files are refused, with the line."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.files.lab import TABLE, files_in, rows_of, types_of, values_of, write

from hakiri.core.errors import Place
from hakiri.sources.contract import Extent, Read
from hakiri.sources.errors import BadRecord, PermanentFailure, SchemaIncompatible, UnreadableFile
from hakiri.sources.files import csv_files
from hakiri.sources.files.csv_values import ColumnSketch
from hakiri.sources.files.streams import NO_CHARACTER, TextBytes
from hakiri.sources.json_rows import type_text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-2", "0", "9223372036854775807", "-9223372036854775808"], "bigint"),
        (["1", "", None], "bigint"),
        (["9223372036854775808"], "string"),
        (["007"], "string"),
        (["+49301234567"], "string"),
        (["1", " 2"], "string"),
        (["1_000"], "string"),
        (["1,000"], "string"),
        (["0x10"], "string"),
        (["１"], "string"),
        (["1.5", "-0.25", "2", "1e3", "1.5E-10"], "double"),
        (["1.5", "123456789012345"], "double"),
        (["1.5", "1234567890123456"], "string"),
        (["1e400"], "string"),
        (["NaN"], "string"),
        (["1d"], "string"),
        (["1."], "string"),
        (["00.5"], "string"),
        (["true", "FALSE", "True"], "boolean"),
        (["yes"], "string"),
        (["1", "true"], "string"),
        (["2026-01-31", "0001-01-01"], "date"),
        (["2026-02-30"], "string"),
        (["2026-1-31"], "string"),
        (["31.01.2026"], "string"),
        (["2026"], "bigint"),
        (["2026-01-31T08:00:00Z", "2026-01-31 08:00", "2026-01-31T08:00:00.123456+01:00"], "timestamp"),
        (["2026-01-31T08:00:00.1234567Z"], "string"),
        (["2026-01-31T25:00:00Z"], "string"),
        (["2026-01-31", "2026-01-31T08:00:00Z"], "string"),
        (["", None], "string"),
        ([], "string"),
        (["x"], "string"),
        (["1\n"], "string"),
    ],
)
def test_a_column_has_a_type_only_if_every_text_is_written_like_it(
    texts: list[str | None], expected: str
) -> None:
    sketch = ColumnSketch()
    for text in texts:
        sketch.add(pa.array([text], pa.string()), ())

    at_once = ColumnSketch()
    at_once.add(pa.array(texts, pa.string()), ())

    assert (type_text(sketch.type), type_text(at_once.type)) == (expected, expected)


@given(st.lists(st.text(alphabet="0123456789-+.eE:TZ truefals", max_size=25), min_size=1, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
def test_what_was_inferred_can_be_read(tmp_path: Path, texts: list[str]) -> None:
    lines = "".join(f'"{text}",x\n' for text in texts)
    write(tmp_path, {"a.csv": f"a,b\n{lines}"})

    assert len(rows_of(files_in(tmp_path, path="a.csv"))) == len(texts)


@pytest.mark.spec("HP-024")
def test_columns_are_matched_by_name_whatever_their_order_and_case(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a.csv": "id,Name\n1,Ada\n", "b.csv": " NAME ,note,ID\nBob,new,2\n", "c.csv": "id\n3\n"},
    )
    connector = files_in(tmp_path, path="*.csv")

    assert types_of(connector) == {"id": "bigint", "Name": "string", "note": "string"}
    assert rows_of(connector) == [
        {"id": 1, "Name": "Ada", "note": None},
        {"id": 2, "Name": "Bob", "note": "new"},
        {"id": 3, "Name": None, "note": None},
    ]


def test_types_are_those_of_all_files_together(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "a,b\n1,1\n", "b.csv": "a,b\n1.5,x\n"})

    assert types_of(files_in(tmp_path, path="*.csv")) == {"a": "double", "b": "string"}


def test_declared_types_take_what_inference_would_not(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "zip,n,price,paid\n007, +12 ,0012.5000,Yes\n"})
    columns = {"zip": "string", "N": "int", "price": "decimal(6,2)", "paid": "boolean"}
    connector = files_in(tmp_path, path="a.csv", columns=columns)

    assert types_of(connector) == {"zip": "string", "n": "int", "price": "decimal(6,2)", "paid": "boolean"}
    assert [str(value) for value in rows_of(connector)[0].values()] == ["007", "12", "12.50", "True"]


def test_a_declared_column_that_no_file_has_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "price\n1\n"})

    with pytest.raises(SchemaIncompatible) as refused:
        files_in(tmp_path, path="a.csv", columns={"prise": "double"}).discover([TABLE])

    assert str(refused.value) == "column `prise` is declared, and no file has it"
    assert refused.value.hint == "did you mean `price`?"


def test_empty_is_null_and_quoted_empty_is_a_text_in_columns_of_texts(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": 'n,s\n1,""\n"",\n" ",NULL\n,x\n'})
    connector = files_in(tmp_path, path="a.csv", null_values=["NULL"], columns={"n": "bigint"})

    assert values_of(connector, "n") == [1, None, None, None]
    assert values_of(connector, "s") == ["", None, None, "x"]


def test_no_header_and_a_given_one(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "1,x\n2,y\n"})

    assert types_of(files_in(tmp_path, path="a.csv", header=False)) == {"c1": "bigint", "c2": "string"}
    given_names = files_in(tmp_path, path="a.csv", header=["id", "name"])
    assert rows_of(given_names) == [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]


def test_empty_files_and_those_with_only_a_header_have_no_rows(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "", "b.csv": "\n\n", "c.csv": "id,name\n", "d.csv": "id,more"})
    connector = files_in(tmp_path, path="*.csv")

    assert types_of(connector) == {"id": "string", "name": "string", "more": "string"}
    assert rows_of(connector) == []


def test_files_that_are_all_empty_are_no_table(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "", "b.csv": "\n"})

    with pytest.raises(PermanentFailure) as refused:
        files_in(tmp_path, path="*.csv").discover([TABLE])

    assert str(refused.value) == "the files of table `orders` have no columns: they are all empty"


LONG = "x" * (17 * 1024**2)
TRUNCATED = gzip.compress(bytes(range(256)).hex().encode() * 999 + b",1\n")[:-9]


@pytest.mark.parametrize(
    ("content", "config", "problem", "line"),
    [
        ("a,b,A\n1,2,3\n", {}, "its header has `a` more than once", 1),
        ("c2,\n1,2\n", {}, "its header has `c2` more than once", 1),
        ('id,n\n1,x\n2,"y\n3,z\n', {}, "a quote is never closed", 3),
        ('id,n\n1,x\n"2,y\n3,z\n', {}, "a quote is never closed", 3),
        (f'id,n\n1,"{LONG}\n', {}, "a row is longer than 8 MiB, or a quote is never closed", None),
        (f'id,"{LONG}\n', {}, "its first row is longer than 8 MiB", 1),
        (
            b"id,\xff\n1,2\n",
            {},
            "its header has bytes that are not utf-8; say in `encoding` how it is written",
            1,
        ),
    ],
)
def test_a_file_that_is_no_csv_is_refused_with_its_line(
    tmp_path: Path, content: str | bytes, config: dict[str, Any], problem: str, line: int | None
) -> None:
    write(tmp_path, {"data/a.csv": "id,n\n1,2\n", "data/b.csv": content})
    connector = files_in(tmp_path, path="data/*.csv", **config)

    with pytest.raises(UnreadableFile) as refused:
        connector.discover([TABLE])

    assert str(refused.value) == f"`data/b.csv` cannot be read: {problem}"
    assert refused.value.places == (Place("data/b.csv", line),)
    with pytest.raises(UnreadableFile, match=problem):
        rows_of(connector, schema=pa.schema([("id", pa.string()), ("n", pa.string())]))


@pytest.mark.parametrize(
    ("content", "config", "problem", "line"),
    [
        ("id,n\n1,2\n3,4,5\n", {}, "it has 3 fields instead of 2", 3),
        ('id,n\n1,"a\nb"\n3\n', {}, "it has 1 field instead of 2", 4),
        ("id,n\n\n\n3\n", {}, "it has 1 field instead of 2", 4),
        ("1,2\n3\n", {"header": ["id", "n"]}, "it has 1 field instead of 2", 2),
        ("id,n\n1\n2,x\n3\n", {"columns": {"n": "int"}}, "it has 1 field instead of 2", 2),
        ("id,n\n1,x\n3\n", {"columns": {"n": "int"}}, "`n` has `x`, which is no int32", 2),
        (b"id,n\n\n1,a\n2,x\xff\n", {}, "`n` has `x\ufffd`, which is not utf-8", 4),
        (
            b"id,n\n1,x\x81y\n",
            {"encoding": "windows-1252"},
            "`n` has `x\ufffdy`, which is not windows-1252",
            2,
        ),
    ],
)
def test_a_record_that_cannot_be_read_is_told_with_its_line_by_whoever_reads_it(
    tmp_path: Path, content: str | bytes, config: dict[str, Any], problem: str, line: int
) -> None:
    write(tmp_path, {"b.csv": content})
    connector = files_in(tmp_path, path="*.csv", **config)

    with pytest.raises(BadRecord) as refused:
        rows_of(connector)

    assert list(types_of(connector)) == ["id", "n"]
    assert str(refused.value) == f"a row of `b.csv` does not fit: {problem}"
    remedy = ", say in `encoding` how the file is written" if "which is not" in problem else ""
    assert refused.value.hint == f'mend the row{remedy}, or set `on_bad_row = "quarantine"` for the table'
    assert refused.value.places == (Place("b.csv", line),)


@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode), st.integers(1, 7))
@settings(deadline=None, max_examples=300)
def test_bytes_are_given_as_they_are_unless_they_are_no_text_wherever_they_are_cut(
    content: bytes, size: int
) -> None:
    text = TextBytes(io.BytesIO(content), encoding="utf-8", is_replaced=False)
    given_bytes, piece = b"", bytearray(size)
    while count := text.readinto(piece):
        given_bytes += piece[:count]

    try:
        content.decode()
    except UnicodeDecodeError:
        assert text.has_marks
        assert given_bytes.decode().replace(NO_CHARACTER, "") == content.decode(errors="ignore")
    else:
        assert given_bytes == content
        assert text.has_marks == (NO_CHARACTER.encode() in content)


def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv.gz": TRUNCATED})

    with pytest.raises(UnreadableFile) as refused:
        files_in(tmp_path, path="*.csv.gz").discover([TABLE])

    assert str(refused.value) == "`a.csv.gz` cannot be read: it is no whole gzip file"


@pytest.mark.parametrize(
    ("text", "kind", "arrow"),
    [
        ("x", "bigint", "int64"),
        ("1.5", "bigint", "int64"),
        ("9223372036854775808", "bigint", "int64"),
        ("2147483648", "int", "int32"),
        ("0x10", "bigint", "int64"),
        ("1d", "double", "double"),
        ("1e999", "double", "double"),
        ("NaN", "double", "double"),
        ("1.255", "decimal(5,2)", "decimal128(5, 2)"),
        ("1000", "decimal(5,2)", "decimal128(5, 2)"),
        ("maybe", "boolean", "bool"),
        ("2026-02-30", "date", "date32[day]"),
        ("2026", "date", "date32[day]"),
        ("2026-01-31", "timestamp", "timestamp[us, tz=UTC]"),
        ("2026-01-31T08:00:00.1234567Z", "timestamp", "timestamp[us, tz=UTC]"),
    ],
)
def test_a_field_that_does_not_fit_is_told_by_line_column_and_value_or_set_aside(
    tmp_path: Path, text: str, kind: str, arrow: str
) -> None:
    write(tmp_path, {"a.csv": f'x,v\n"a\nb",\nb,{text}\nc,\n'})
    connector = files_in(tmp_path, path="a.csv", columns={"v": kind})

    with pytest.raises(BadRecord) as refused:
        rows_of(connector)
    (batch,) = connector.open(Read(table=TABLE, sets_aside=True))

    reason = f"`v` has `{text}`, which is no {arrow}"
    assert str(refused.value) == f"a row of `a.csv` does not fit: {reason}"
    assert refused.value.places == (Place("a.csv", 4),)
    assert batch.rows.column("x").to_pylist() == ["a\nb", "c"]
    assert [reject.reason for reject in batch.rejects] == [reason]
    assert json.loads(batch.rejects[0].row) == {"_file": "a.csv", "x": "b", "v": text}


def test_every_record_of_a_file_is_a_row_or_set_aside_with_its_reason(tmp_path: Path) -> None:
    good = b"".join(b"%d,name %d\n" % (n, n) for n in range(30_000))
    bad = b"x,\xff\n1\n\xff,y\n1,2,3\n"
    write(tmp_path, {"a.csv": b"id,name\n" + (good + bad) * 5 + b"7\n"})
    connector = files_in(tmp_path, path="a.csv", columns={"id": "bigint"})

    batches = list(connector.open(Read(table=TABLE, sets_aside=True)))

    assert [n for batch in batches for n in batch.rows.column("id").to_pylist()] == [*range(30_000)] * 5
    reasons = Counter(reject.reason for batch in batches for reject in batch.rejects)
    assert reasons == {
        "`id` has `\ufffd`, which is not utf-8": 5,
        "`name` has `\ufffd`, which is not utf-8": 5,
        "it has 1 field instead of 2": 6,
        "it has 3 fields instead of 2": 5,
    }
    lines = [json.loads(reject.row).get("_line") for batch in batches for reject in batch.rejects]
    assert Counter(lines) == {None: 10, "1": 5, "1,2,3": 5, "7": 1}


def test_a_file_without_one_good_record_is_all_rejects(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "id,n\n1\n2\n"})

    batches = list(files_in(tmp_path, path="a.csv").open(Read(table=TABLE, sets_aside=True)))

    assert sum(batch.rows.num_rows for batch in batches) == 0
    assert sum(len(batch.rejects) for batch in batches) == 2
    assert [batch.cursor is not None for batch in batches][-1:] == [True]


def test_a_column_that_the_expected_schema_lacks_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "id,more\n1,x\n"})

    with pytest.raises(SchemaIncompatible) as refused:
        rows_of(files_in(tmp_path, path="a.csv"), schema=pa.schema([("id", pa.int64())]))

    assert str(refused.value) == "`a.csv` has the column `more`, which the table does not have"


def test_of_large_files_a_part_is_looked_at_and_the_rest_must_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Blocks are smaller, so that files of some megabytes count as large.
    monkeypatch.setattr(csv_files, "MOST_BYTES_LOOKED_AT", 100_000)
    monkeypatch.setattr(csv_files, "MOST_BYTES_OF_ROW", 64 * 1024)
    write(tmp_path, {"a.csv": "id\n" + "12345\n" * 400_000 + "x\n"})
    connector = files_in(tmp_path, path="a.csv")

    (table,) = connector.discover([TABLE])

    assert type_text(table.schema.field("id").type) == "bigint"
    assert table.estimated_rows == pytest.approx(400_000, rel=0.01)
    with pytest.raises(BadRecord) as refused:
        rows_of(connector, schema=table.schema)
    assert refused.value.places == (Place("a.csv", 400_002),)


def test_the_extent_is_how_many_rows_there_are(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "id\n1\n2\n", "b.csv": "id\n3\n"})

    assert files_in(tmp_path, path="*.csv").extent(TABLE, "id") == Extent(rows=3)


def test_batches_are_never_too_large(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "id\n" + "1\n" * 200_000})

    sizes = [batch.rows.num_rows for batch in files_in(tmp_path, path="a.csv").open(Read(table=TABLE))]

    assert sum(sizes) == 200_000
    assert max(sizes) <= 65_536
