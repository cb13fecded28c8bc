"""Messages of a tap as batches: rows, states, and what does not belong there."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.sources.singer.lab import (
    TAPS,
    TEXT,
    WHOLE,
    connected,
    connector,
    entry,
    properties,
    read,
    record,
    rows,
    say,
    schema,
    state,
)

from hakiri.sources.contract import Read
from hakiri.sources.errors import AuthExpired, PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.json_rows import RowsDoNotFit
from hakiri.sources.singer import SingerConnector


class Small(SingerConnector):
    batch_records = 3
    most_line_bytes = 1 << 20


def ids(batches: list[Any]) -> list[list[int]]:
    return [batch.rows.column("id").to_pylist() for batch in batches]


def failure(tap: SingerConnector, got: list[Any] | None = None) -> ReadFailed:
    """What a read ends with; what it gave before is added to `got`."""
    with pytest.raises(ReadFailed) as caught:
        (got if got is not None else []).extend(tap.open(Read(table="things")))
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.spec("HP-150")
@pytest.mark.spec("HP-026")
def test_batches_are_cut_where_a_state_stands(tmp_path: Path) -> None:
    steps = (schema(), state(0), record(1), record(2), state(2), record(3), record(4), record(5), state(5))

    batches = read(connector(tmp_path, *steps, kind=Small))

    assert ids(batches) == [[1, 2], [3, 4, 5]]
    assert [batch.cursor for batch in batches] == [{"state": 2}, {"state": 5}]


@pytest.mark.spec("HP-027")
def test_rows_without_a_state_after_them_have_no_cursor(tmp_path: Path) -> None:
    steps = (schema(), record(1), state("a"), *(record(number) for number in range(2, 9)))

    batches = read(connector(tmp_path, *steps, kind=Small))

    assert [(batch.cursor, *batch.rows.column("id").to_pylist()) for batch in batches] == [
        ({"state": "a"}, 1),
        (None, 2, 3, 4),
        (None, 5, 6, 7),
        (None, 8),
    ]


def test_a_state_that_is_not_new_is_not_told_again(tmp_path: Path) -> None:
    steps = (schema(), record(1), state({"at": 1}), record(2), state({"at": 1}))

    batches = read(connector(tmp_path, *steps), cursor={"state": {"at": 1}})

    assert [batch.cursor for batch in batches] == [None]


def test_a_state_alone_is_told_in_an_empty_batch(tmp_path: Path) -> None:
    batches = read(connector(tmp_path, schema(), state({"at": 1}), state({"at": 2})))

    assert ids(batches) == [[]]
    assert batches[0].cursor == {"state": {"at": 2}}


@pytest.mark.spec("HP-025")
def test_the_state_goes_back_to_the_tap_as_it_was(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    kept = {"bookmarks": {"things": {"at": "é", "big": 2**70, "lsn": 2**63, "share": 0.1, "none": None}}}
    tap = connector(tmp_path, schema(), record(1), state(kept), config={"report": str(report)})

    (batch,) = read(tap)
    read(tap, cursor=json.loads(json.dumps(batch.cursor)))

    assert batch.cursor == {"state": kept}
    assert json.loads(report.read_text())["files"]["--state"] == kept


@pytest.mark.spec("HP-027")
def test_a_read_from_the_state_after_any_row_gives_the_others(tmp_path: Path) -> None:
    shop = tmp_path / "shop.json"
    shop.write_text(json.dumps({"orders": [{"id": number} for number in range(7)]}))
    tap = connected(
        tmp_path,
        {"tap": [sys.executable, str(TAPS / "shop.py")], "config": {"shop": str(shop), "token": "${T}"}},
        secrets={"T": "token-of-the-shop"},
        kind=Small,
    )
    whole = read(tap, "orders")

    for taken, last in enumerate(whole, start=1):
        rest = read(tap, "orders", cursor=last.cursor)
        assert [row["id"] for row in rows([*whole[:taken], *rest])] == [*range(7)]
    assert all(a.cursor != b.cursor for a, b in pairwise(whole))


def test_rows_come_in_the_form_that_is_asked_for_whatever_the_schema_says_meanwhile(tmp_path: Path) -> None:
    steps = (
        schema(),
        record(1, text="a"),
        schema(added=WHOLE, text={"type": "integer"}),
        record(2, text=5, added=7),
        record(3, odd={"a": [1]}),
    )
    wanted = pa.schema([("id", pa.int64()), ("added", pa.int64()), ("_extra", pa.string())])
    tap = connector(tmp_path, *steps)

    assert rows(read(tap)) == [
        {"id": 1, "text": "a", "_extra": None},
        {"id": 2, "text": "5", "_extra": '{"added":7}'},
        {"id": 3, "text": None, "_extra": '{"odd":{"a":[1]}}'},
    ]
    assert rows(read(tap, schema=wanted)) == [
        {"id": 1, "added": None, "_extra": '{"text":"a"}'},
        {"id": 2, "added": 7, "_extra": '{"text":5}'},
        {"id": 3, "added": None, "_extra": '{"odd":{"a":[1]}}'},
    ]
    with pytest.raises(RowsDoNotFit, match="there is no such column"):
        read(tap, schema=pa.schema([("id", pa.int64())]))


def test_no_digit_and_no_letter_is_lost(tmp_path: Path) -> None:
    money = {"type": "string", "format": "singer.decimal", "precision": 38, "scale": 10}
    wide = {"type": "number", "multipleOf": 1e-10, "minimum": -1e20, "maximum": 1e20}
    whole = {"type": "integer", "minimum": 0, "maximum": 10**30}
    line = (
        '{"type":"RECORD","stream":"things","record":{"id":9007199254740993,"text":"😀 \\u0000 é\\n",'
        '"money":"1234567890123456789012345678.0123456789","wide":12345678901234567890.0123456789,'
        '"whole":123456789012345678901234567890}}\n'
    )
    shape = properties(money=money, wide=wide, whole=whole)
    tap = connector(tmp_path, schema(), {"write": line}, record(10**19), streams=[entry(schema=shape)])

    first, second = rows(read(tap))

    assert first == {
        "id": 9007199254740993,
        "text": "😀 \0 é\n",
        "money": Decimal("1234567890123456789012345678.0123456789"),
        "wide": Decimal("12345678901234567890.0123456789"),
        "whole": Decimal(123456789012345678901234567890),
        "_extra": None,
    }
    assert (second["id"], second["_extra"]) == (None, '{"id":10000000000000000000}')


def test_other_messages_are_left_out_and_noted_once(tmp_path: Path) -> None:
    steps = (
        schema(),
        record(1, stream="things"),
        say(type="ACTIVATE_VERSION", stream="things", version=7),
        say(type="METRIC", value=1),
        say(type="METRIC", value=2),
        {"write": "\n  \n"},
        say(
            type="RECORD", stream="things", record={"id": 2}, version=7, time_extracted="2026-01-01T00:00:00Z"
        ),
    )
    tap = connector(tmp_path, *steps)

    assert ids(read(tap)) == [[1, 2]]
    version, metric = tap.notes
    assert version == (
        "the tap says with ACTIVATE_VERSION that it has given the whole table; "
        "rows that are gone at the source stay in the store"
    )
    assert metric == "messages of the type METRIC are left out"


def test_rows_of_other_streams_are_left_out(tmp_path: Path) -> None:
    steps = (schema("others"), record(9, "others"), schema(), record(1), record(8, "others"))

    assert ids(read(connector(tmp_path, *steps, streams=[entry(), entry("others")]))) == [[1]]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ({"write": "Starting up...\n"}, "is no JSON: `Starting up...`"),
        ({"write": "x" * 100 + "\n"}, f"is no JSON: `{'x' * 39}…`"),
        (
            {"write": '{"type": "RECORD", "record": {"password": hunter2}}\n'},
            "is no JSON: unexpected character, expected a JSON value (character 43 of 51)",
        ),
        (
            {"write": '{"type": "RECORD", "a": NaN}\n'},
            "is no JSON: `NaN` is no number in JSON (character 25 of 28)",
        ),
        ({"bytes": b'{"a": "\xff"}\n'.hex()}, "is no JSON: a byte is not UTF-8 (character 8 of 10)"),
        ({"write": "[1]\n"}, "is JSON, but no object"),
        (say(stream="things"), "is a JSON object without a `type`"),
        (say(type="RECORD", record={}), "is a RECORD without a `stream`"),
        (say(type="RECORD", stream="things", record=[1]), "is a RECORD whose `record` is no object"),
        (say(type="SCHEMA", stream="things"), "is a SCHEMA whose `schema` is no object"),
        (
            say(type="SCHEMA", stream="things", schema={}, key_properties=[7]),
            "is a SCHEMA whose `key_properties` is no list of names",
        ),
        (say(type="STATE"), "is a STATE without a `value`"),
    ],
)
def test_a_line_that_is_no_message_is_told_by_its_number(
    tmp_path: Path, step: dict[str, Any], problem: str
) -> None:
    got: list[Any] = []

    error = failure(connector(tmp_path, schema(), record(1), state(1), step, {"hang": True}), got)

    assert isinstance(error, PermanentFailure)
    assert str(error) == f"line 4 of the tap {problem}"
    assert error.hint == "a tap writes nothing but Singer messages to stdout; its log belongs to stderr"
    assert [(batch.rows.num_rows, batch.cursor) for batch in got] == [(1, {"state": 1})]


def test_rows_in_files_are_refused_clearly(tmp_path: Path) -> None:
    batch = say(type="BATCH", stream="things", encoding={"format": "jsonl"}, manifest=["file:///a.jsonl"])

    error = failure(connector(tmp_path, schema(), batch))

    assert str(error) == "line 2 of the tap is a BATCH: it gives its rows as files, which are not read"
    assert error.hint == "take `batch_config` out of the tap's config, so that it gives every row as a RECORD"


def test_a_state_that_no_number_can_hold_is_refused(tmp_path: Path) -> None:
    error = failure(connector(tmp_path, schema(), {"write": '{"type":"STATE","value":{"at":1e400}}\n'}))

    assert str(error) == "the state of the tap holds `1E+400`, which is no number of a computer"


@pytest.mark.parametrize(
    ("steps", "kind", "problem"),
    [
        (
            [{"log": "Traceback"}, {"log": "KeyError: 'id'"}, {"exit": 1}],
            PermanentFailure,
            "failed with code 1: Traceback | KeyError: 'id'",
        ),
        ([{"exit": 4}], PermanentFailure, "failed with code 4, and its log is empty"),
        (
            [record(1), {"log": "KeyError: 'id'"}, {"exit": 1}],
            TransientFailure,
            "failed with code 1: KeyError: 'id'",
        ),
        ([{"kill": 9}], TransientFailure, "was ended by signal 9, and its log is empty"),
        (
            [{"write": '{"type": "RECO'}, {"kill": 9}],
            TransientFailure,
            "was ended by signal 9, and its log is empty",
        ),
        (
            [{"log": "HTTP-error-code: 401, Error: Bad credentials"}, {"exit": 1}],
            AuthExpired,
            "failed with code 1: HTTP-error-code: 401, Error: Bad credentials",
        ),
        (
            [{"log": "503 Server Error: Service Unavailable for url: https://a.example"}, {"exit": 1}],
            TransientFailure,
            "failed with code 1: 503 Server Error: Service Unavailable for url: https://a.example",
        ),
        (
            [{"log": "no such file: /tmp/run-401/500"}, {"exit": 1}],
            PermanentFailure,
            "failed with code 1: no such file: /tmp/run-401/500",
        ),
    ],
)
def test_a_tap_that_fails_tells_how_and_what_its_log_said_last(
    tmp_path: Path, steps: list[Any], kind: type[ReadFailed], problem: str
) -> None:
    error = failure(connector(tmp_path, schema(), *steps))

    assert type(error) is kind
    assert str(error) == f"the tap `steps.py` {problem}"
    assert error.hint


def test_what_was_read_before_a_failure_is_given_before_it(tmp_path: Path) -> None:
    got: list[Any] = []

    failure(connector(tmp_path, schema(), record(1), state(1), record(2), {"exit": 1}), got)

    assert [(batch.cursor, batch.rows.num_rows) for batch in got] == [({"state": 1}, 1), (None, 1)]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    line = json.dumps({"type": "RECORD", "stream": "things", "record": {"id": 5}})

    assert ids(read(connector(tmp_path, schema(), {"write": line}))) == [[5]]


def test_a_long_line_is_read_and_one_that_is_too_long_is_refused(tmp_path: Path) -> None:
    long = connector(tmp_path, schema(), record(1, text="é" * 200_000), kind=Small)
    too_long = connector(tmp_path, schema(), record(1, text="x" * 2_000_000), kind=Small)

    assert len(rows(read(long))[0]["text"]) == 200_000
    error = failure(too_long)
    assert str(error) == "the tap `steps.py` writes a line of more than 1 MiB"
    assert error.hint == "leave out the property that is so large, with `select`"


def test_a_limit_ends_the_tap_early(tmp_path: Path) -> None:
    tap = connector(tmp_path, schema(), {"count": {"until": 100}}, state(100), {"hang": True})

    assert ids(read(tap, limit=4)) == [[0, 1, 2, 3]]


def test_batches_are_bounded_by_bytes_too(tmp_path: Path) -> None:
    tap = connector(tmp_path, schema(), {"count": {"until": 30, "letters": 1 << 20}})

    sizes = [batch.rows.num_rows for batch in read(tap)]

    assert sum(sizes) == 30
    assert max(sizes) <= 9


def test_a_log_as_long_as_it_likes_holds_nothing_up(tmp_path: Path) -> None:
    logs = [{"log": "x" * 100_000}, *({"log": f"line {number} {'y' * 500}"} for number in range(2_000))]

    assert ids(read(connector(tmp_path, schema(), *logs, record(1), *logs))) == [[1]]


def test_types_of_the_discovered_schema_are_those_of_the_rows(tmp_path: Path) -> None:
    shape = properties(
        at={"type": "string", "format": "date-time"},
        tags={"type": "array", "items": TEXT},
        about={"type": "object", "properties": {"size": WHOLE}},
        counts={"type": "object", "additionalProperties": WHOLE},
        free={"type": "object"},
    )
    values = {
        "at": "2026-05-11T08:00:00+02:00",
        "tags": ["a", None],
        "about": {"size": 1},
        "counts": {"a": 1},
        "free": {"b": [2]},
    }
    tap = connector(tmp_path, schema(), record(1, **values), streams=[entry(schema=shape)])

    (batch,) = read(tap)

    assert batch.rows.schema == tap.discover()[0].schema
    assert rows([batch])[0] | {"at": None, "counts": None} == {
        "id": 1,
        "text": None,
        "at": None,
        "tags": ["a", None],
        "about": {"size": 1},
        "counts": None,
        "free": '{"b":[2]}',
        "_extra": None,
    }


def test_records_that_do_not_fit_are_rejects_of_a_read_that_sets_them_aside(tmp_path: Path) -> None:
    tap = connector(
        tmp_path,
        schema(),
        record(1),
        say(type="RECORD", stream="things", record={"id": "two"}),
        record(3),
        state(3),
    )

    (batch,) = read(tap, sets_aside=True)

    assert (ids([batch]), batch.cursor) == ([[1, 3]], {"state": 3})
    assert [(reject.reason, reject.row) for reject in batch.rejects] == [
        ("`id` has `two`, which is no int64", '{"id":"two"}')
    ]
