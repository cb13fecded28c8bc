"""JSON Lines without Spark: fields become columns by the rules of `json_rows`, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.files.lab import TABLE, files_in, rows_of, types_of, write

from hakiri.core.errors import Place
from hakiri.sources.contract import Read
from hakiri.sources.errors import BadRecord, SchemaIncompatible, UnreadableFile
from hakiri.sources.files import json_lines
from hakiri.sources.files.json_lines import fitting, sifted_lines
from hakiri.sources.json_rows import infer_schema, parse_json, settle

SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("o", pa.struct([("x", pa.int64())])),
        ("l", pa.list_(pa.int64())),
        ("_extra", pa.string()),
    ]
)


def rows_of_lines(lines: pa.Array, schema: pa.Schema) -> pa.RecordBatch:
    rows, rejects = sifted_lines(lines, schema, "a.jsonl", sets_aside=False)
    assert rejects == {}
    return rows


def lines_of(*lines: str | bytes) -> pa.Array:
    return pa.array([line.encode() if isinstance(line, str) else line for line in lines], pa.binary())


@pytest.mark.parametrize(
    ("line", "is_fitting"),
    [
        ('{"i":1,"f":1.5,"s":"x","b":true,"o":{"x":1},"l":[1,null]}', True),
        ("{}", True),
        ('{"f":1}', True),
        ('{"f":-0.0}', True),
        ('{"o":{},"l":[]}', True),
        ('{"i":null,"o":null}', True),
        ('{"s":"\\u0000\\ud83d\\ude00é"}', True),
        (' {"i":1}\r', True),
        ('{"\\u0069":5}', True),
        ('{"f":9007199254740993}', False),
        ('{"f":1e400}', False),
        ('{"i":1.0}', False),
        ('{"i":1e3}', False),
        ('{"i":"1"}', False),
        ('{"i":9223372036854775808}', False),
        ('{"s":1.50}', False),
        ('{"s":{"k":[1, 2]}}', False),
        ('{"b":1}', False),
        ('{"o":{"x":1,"y":2}}', False),
        ('{"l":[1,"x"]}', False),
        ('{"new":1}', False),
        ('{"i":1,"i":2}', False),
        ('{"_extra":1}', False),
    ],
)
def test_the_quick_way_gives_the_rows_of_the_rules_or_none(line: str, is_fitting: bool) -> None:
    quick = fitting(lines_of(line), SCHEMA)
    by_rule = settle([parse_json(line.encode())], SCHEMA, with_extra=True)

    assert (quick is not None) == is_fitting
    assert rows_of_lines(lines_of(line), SCHEMA).to_pylist() == by_rule.to_pylist()
    assert rows_of_lines(lines_of(line), SCHEMA).schema == SCHEMA


@pytest.mark.parametrize(
    "line",
    [
        "null",
        "[1]",
        "5",
        '"x"',
        '{"i":1',
        '{"i":1}{"i":2}',
        '{"i":1},{"i":2}',
        '{"i":1} x',
        '{"f":NaN}',
        '{"f":-Infinity}',
        '{"i":01}',
        '{"i":1,}',
        "{'i':1}",
        '{"s":"a\tb"}',
        b'{"s":"\xff"}',
        '{"s":"\\ud83d"}',
        "{",
        "}",
        '{"l":' + "[" * 5_000,
    ],
)
def test_a_line_that_is_no_object_is_a_reject_by_its_number_and_as_it_stands(line: str | bytes) -> None:
    rows, rejects = sifted_lines(
        lines_of('{"i":1}', "", line, '{"i":2}'), SCHEMA, "a.jsonl", sets_aside=False
    )

    assert rows.column("i").to_pylist() == [1, 2]
    assert [(number, reject.reason) for number, reject in rejects.items()] == [(2, "it is no JSON object")]
    shown = line if isinstance(line, str) else line.decode(errors="replace")
    assert json.loads(rejects[2].row) == {"_file": "a.jsonl", "_line": shown}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c d", "é"]), VALUES, max_size=4), max_size=8)


@given(RECORDS, RECORDS)
def test_whatever_the_records_both_ways_agree(
    sample: list[dict[str, Any]], records: list[dict[str, Any]]
) -> None:
    schema = infer_schema(sample).append(pa.field("_extra", pa.string()))
    lines = lines_of(*(json.dumps(record) for record in records))

    rows = rows_of_lines(lines, schema)

    expected = settle(
        [parse_json(json.dumps(record).encode()) for record in records], schema, with_extra=True
    )
    assert rows.to_pylist() == expected.to_pylist()


@given(st.lists(RECORDS, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_schema_is_that_of_all_records_of_all_files(
    tmp_path: Path, files: list[list[dict[str, Any]]]
) -> None:
    for number in range(4):
        records = files[number] if number < len(files) else []
        write(tmp_path, {f"{number}.jsonl": "".join(f"{json.dumps(record)}\n" for record in records)})
    parsed = [parse_json(json.dumps(record).encode()) for records in files for record in records]

    if not infer_schema(parsed).names:
        return
    (table,) = files_in(tmp_path, path="*.jsonl").discover([TABLE])

    assert table.schema == infer_schema(parsed).append(pa.field("_extra", pa.string()))
    assert table.estimated_rows == len(parsed)


@pytest.mark.spec("HP-024")
def test_an_open_table_keeps_nested_values_and_ends_with_the_rest(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": '{"id": 1, "tags": ["x"], "by": {"name": "Ada"}}\n{"id": 2}\n'})
    connector = files_in(tmp_path, path="*.jsonl")

    assert connector.discover([TABLE])[0].is_open
    assert types_of(connector) == {
        "id": "bigint",
        "tags": "array<string>",
        "by": "struct<name:string>",
        "_extra": "string",
    }
    assert rows_of(connector) == [
        {"id": 1, "tags": ["x"], "by": {"name": "Ada"}, "_extra": None},
        {"id": 2, "tags": None, "by": None, "_extra": None},
    ]


def test_what_the_schema_has_no_place_for_is_kept(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": '{"id": 1}\n'})
    (table,) = files_in(tmp_path, path="*.jsonl").discover([TABLE])
    write(tmp_path, {"b.jsonl": '{"id": "x", "by": {"name": "Ada"}}\n'})

    rows = rows_of(files_in(tmp_path, path="*.jsonl"), schema=table.schema)

    assert rows == [{"id": 1, "_extra": None}, {"id": None, "_extra": '{"by":{"name":"Ada"},"id":"x"}'}]


def test_declared_types_are_those_of_the_rows(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": '{"at": "2026-01-31T08:00:00Z", "p": 1.10}\n{"at": "soon"}\n'})
    connector = files_in(tmp_path, path="*.jsonl", columns={"at": "timestamp", "p": "decimal(5,2)"})

    assert types_of(connector) == {"at": "timestamp", "p": "decimal(5,2)", "_extra": "string"}
    assert [row["_extra"] for row in rows_of(connector)] == [None, '{"at":"soon"}']


@pytest.mark.parametrize("line", ["{", "[]", b"\xff"])
def test_a_bad_line_is_told_with_its_file_and_number(tmp_path: Path, line: str | bytes) -> None:
    bad = line if isinstance(line, bytes) else line.encode()
    write(tmp_path, {"a.jsonl": '{"a": 1}\n', "b.jsonl": b'{"a": 1}\n\n' * 60_000 + bad + b"\n"})
    connector = files_in(tmp_path, path="*.jsonl")

    with pytest.raises(BadRecord) as refused:
        rows_of(connector)

    assert types_of(connector) == {"a": "bigint", "_extra": "string"}
    assert str(refused.value) == "a row of `b.jsonl` does not fit: it is no JSON object"
    assert refused.value.hint == 'mend the row, or set `on_bad_row = "quarantine"` for the table'
    assert refused.value.places == (Place("b.jsonl", 120_001),)


def test_lines_that_do_not_fit_are_set_aside_and_the_others_are_rows(tmp_path: Path) -> None:
    lines = ['{"a": 1}', '{"a": "n/a", "b": 1}', "{", '{"a": 2, "new": true}', '{"a": 3}']
    write(tmp_path, {"a.jsonl": "".join(f"{line}\n" for line in lines)})
    schema = pa.schema([("a", pa.int64()), ("_extra", pa.string())])

    (batch,) = files_in(tmp_path, path="*.jsonl").open(Read(table=TABLE, schema=schema, sets_aside=True))

    assert batch.rows.column("a").to_pylist() == [1, 2, 3]
    assert batch.rows.column("_extra").to_pylist() == [None, '{"new":true}', None]
    assert [(reject.reason, json.loads(reject.row)) for reject in batch.rejects] == [
        ("it is no JSON object", {"_file": "a.jsonl", "_line": "{"}),
        ("`a` has `n/a`, which is no int64", {"_file": "a.jsonl", "a": "n/a", "b": 1}),
    ]


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So that the file need not be larger than memory.
    monkeypatch.setattr(json_lines, "MOST_BYTES_OF_LINE", 2 * 1024**2)
    write(tmp_path, {"a.jsonl": '{"a": "' + "x" * 5 * 1024**2 + '"}\n'})

    with pytest.raises(UnreadableFile) as refused:
        files_in(tmp_path, path="a.jsonl").discover([TABLE])

    assert str(refused.value) == "`a.jsonl` cannot be read: a line is longer than 2 MiB"


def test_fields_that_sql_takes_for_one_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": '{"Id": 1}\n{"id": 2}\n'})

    with pytest.raises(SchemaIncompatible) as refused:
        files_in(tmp_path, path="a.jsonl").discover([TABLE])

    assert str(refused.value) == "records have the fields `Id` and `id`, which SQL takes for one"


def test_of_large_files_a_part_is_looked_at_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "MOST_BYTES_LOOKED_AT", 100_000)  # so that some megabytes count as large
    write(tmp_path, {"a.jsonl": '{"id": 12345}\n' * 200_000 + '{"new": true}\n'})
    connector = files_in(tmp_path, path="a.jsonl")

    (table,) = connector.discover([TABLE])

    assert table.schema.names == ["id", "_extra"]
    assert table.estimated_rows == pytest.approx(200_000, rel=0.1)
    assert rows_of(connector, schema=table.schema)[-1] == {"id": None, "_extra": '{"new":true}'}
