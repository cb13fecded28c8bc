"""Which streams a tap has, and which of them a run is asked for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.sources.singer.lab import (
    TAPS,
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

from hakiri.core.cursors import CursorKind
from hakiri.sources.contract import Hint, Read, Window
from hakiri.sources.errors import PermanentFailure, TransientFailure

DAY = {"type": "string", "format": "date"}
EXTRA = pa.field("_extra", pa.string())


def catalog_given(tmp_path: Path, *streams: Any, read_with: dict[str, Any] | None = None, **more: Any) -> Any:
    """What a tap finds in its catalog when `things` is read."""
    tap = connector(
        tmp_path, schema(), streams=streams, config={"report": str(tmp_path / "report.json")}, **more
    )
    read(tap, **(read_with or {}))
    files = json.loads((tmp_path / "report.json").read_text())["files"]
    return {stream["tap_stream_id"]: stream for stream in files["--catalog"]["streams"]}


def facts(stream: dict[str, Any], *breadcrumb: str) -> Any:
    return next(item["metadata"] for item in stream["metadata"] if item["breadcrumb"] == [*breadcrumb])


@pytest.mark.spec("HP-150")
@pytest.mark.spec("HP-024")
def test_a_stream_is_a_table_with_key_cursor_and_estimate(tmp_path: Path) -> None:
    things = entry(
        schema=properties(day=DAY),
        replication_key="day",
        valid_replication_keys=["id", "day", "nowhere"],
        row_count=1234,
    )
    tap = connector(tmp_path, streams=[things, entry("others")])

    (found,) = tap.discover(["things"])

    assert found.name == "things"
    assert found.schema == pa.schema([("id", pa.int64()), ("text", pa.string()), ("day", pa.date32()), EXTRA])
    assert (found.primary_key, found.cursor_fields) == (("id",), ("day", "id"))
    assert (found.estimated_rows, found.is_open) == (1234, True)
    assert [table.name for table in tap.discover()] == ["things", "others"]
    assert tap.backfill_hint("things") == Hint(cursor_kind=CursorKind.OPAQUE_TOKEN)
    assert tap.check() == "steps.py tells of 2 streams"


@pytest.mark.parametrize(
    ("stream", "key", "cursor"),
    [
        ({"stream": "things", "schema": properties(), "key_properties": ["id"]}, ("id",), ()),
        (
            {"stream": "a", "tap_stream_id": "things", "schema": properties(), "replication_key": "text"},
            (),
            ("text",),
        ),
        (entry(table_key_properties=[], view_key_properties=["text"]), ("text",), ()),
        (entry(table_key_properties=["id", "gone"]), ("id", "gone"), ()),
        (entry(valid_replication_keys="id"), ("id",), ("id",)),
        ({"tap_stream_id": "things", "schema": None, "metadata": None}, (), ()),
    ],
)
def test_older_and_odder_catalogs_are_understood(
    tmp_path: Path, stream: dict[str, Any], key: tuple[str, ...], cursor: tuple[str, ...]
) -> None:
    (found,) = connector(tmp_path, streams=[stream]).discover(["things"])

    assert (found.primary_key, found.cursor_fields) == (key, cursor)
    assert set(key) <= set(found.schema.names)


def test_a_property_that_the_tap_cannot_give_is_no_column(tmp_path: Path) -> None:
    things = entry(schema=properties(blob={"inclusion": "unsupported"}, shape={}))
    things["metadata"].append(
        {"breadcrumb": ["properties", "shape"], "metadata": {"inclusion": "unsupported"}}
    )

    (found,) = connector(tmp_path, streams=[things]).discover()

    assert found.schema.names == ["id", "text", "_extra"]


def test_a_run_is_asked_for_one_stream_alone(tmp_path: Path) -> None:
    things = entry(schema=properties(inner={"type": "object", "properties": {"a": {}}}), selected=False)
    things["metadata"].append({"breadcrumb": ["properties", "inner", "properties", "a"], "metadata": {}})

    given = catalog_given(tmp_path, things, entry("others", selected=True))

    assert facts(given["things"])["selected"] is True
    assert facts(given["things"], "properties", "text")["selected"] is True
    assert facts(given["things"], "properties", "inner", "properties", "a")["selected"] is True
    assert facts(given["others"])["selected"] is False
    assert "selected" not in given["things"]["schema"]


def test_selected_properties_are_the_only_columns_beside_what_the_tap_needs(tmp_path: Path) -> None:
    things = entry(schema=properties(a={}, b={}, day=DAY), replication_key="day")
    things["metadata"].append({"breadcrumb": ["properties", "b"], "metadata": {"inclusion": "automatic"}})
    tap = connector(tmp_path, streams=[things], select={"things": ["text"]})

    given = catalog_given(tmp_path, things, select={"things": ["text"]})["things"]

    assert tap.discover()[0].schema.names == ["id", "text", "b", "day", "_extra"]
    chosen = {name for name in things["schema"]["properties"] if facts(given, "properties", name)["selected"]}
    assert chosen == {"id", "text", "b", "day"}


@pytest.mark.parametrize(
    ("known", "incremental", "expected"),
    [
        ({}, None, ("FULL_TABLE", None)),
        ({}, "id", ("INCREMENTAL", "id")),
        ({"valid_replication_keys": ["id"]}, None, ("INCREMENTAL", "id")),
        ({"replication_method": "LOG_BASED"}, None, ("LOG_BASED", None)),
        ({"replication_method": "LOG_BASED"}, "id", ("INCREMENTAL", "id")),
        ({"forced_replication_method": "FULL_TABLE"}, None, (None, None)),
        ({"forced_replication_method": "INCREMENTAL", "valid_replication_keys": ["id"]}, "id", (None, "id")),
    ],
)
def test_the_catalog_says_how_the_stream_is_read(
    tmp_path: Path, known: dict[str, Any], incremental: str | None, expected: tuple[str | None, str | None]
) -> None:
    given = catalog_given(tmp_path, entry(**known), read_with={"incremental": incremental})["things"]

    said = facts(given)
    assert (said.get("replication-method"), said.get("replication-key")) == expected
    if "replication-method" in said and not known:
        assert (given.get("replication_method"), given.get("replication_key")) == expected


def test_metadata_of_the_config_has_the_last_word(tmp_path: Path) -> None:
    said = {"things": {"replication-method": "LOG_BASED"}, "parents": {"selected": True}}

    given = catalog_given(tmp_path, entry(), entry("parents"), metadata=said)

    assert (
        facts(given["things"])["replication-method"] == given["things"]["replication_method"] == "LOG_BASED"
    )
    assert facts(given["parents"])["selected"] is True


@pytest.mark.parametrize(
    ("work", "problem", "hint"),
    [
        (
            lambda tap: tap.discover(["thigns"]),
            "the tap `steps.py` has no stream `thigns`",
            "did you mean `things`?",
        ),
        (
            lambda tap: read(tap, incremental="text"),
            "the stream `things` cannot be read by `text`",
            "it is read by `id`",
        ),
        (
            lambda tap: read(tap, window=Window(field="id")),
            "a tap cannot be asked for a window of `id`",
            "leave `backfill.window` away: a tap goes on from its own state",
        ),
        (
            lambda tap: read(tap, cursor={"page": 7}),
            "the cursor has no `state`, so it is not of a tap",
            "start the pipeline from the beginning, or give it an id of its own",
        ),
    ],
)
def test_what_a_tap_cannot_do_is_told(tmp_path: Path, work: Any, problem: str, hint: str) -> None:
    tap = connector(tmp_path, schema(), streams=[entry(valid_replication_keys=["id"])])

    with pytest.raises(PermanentFailure) as caught:
        work(tap)

    assert (str(caught.value), caught.value.hint) == (problem, hint)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"select": {"things": ["txt"]}}, "the stream `things` has no property `txt`"),
        ({"select": {"thing": ["text"]}}, "the tap `steps.py` has no stream `thing`"),
        ({"metadata": {"other": {}}}, "the tap `steps.py` has no stream `other`"),
    ],
)
def test_a_name_that_is_not_in_the_catalog_is_refused(
    tmp_path: Path, more: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PermanentFailure, match=problem):
        connector(tmp_path, **more).discover()


def test_a_catalog_in_a_file_spares_the_discovery(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_text(json.dumps({"streams": [entry()]}))
    tap = connector(tmp_path, schema(), record(1), discover=[{"exit": 9}], catalog="catalog.json")

    assert rows(read(tap)) == [{"id": 1, "text": None, "_extra": None}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "the catalog `catalog.json` cannot be read: no such file or directory"),
        ("{", "`catalog.json` is no JSON: it ends too early (character 2 of 1)"),
        ("[]", "`catalog.json` is no catalog: it has no list `streams`"),
        ('{"streams": [7]}', "stream 1 of `catalog.json` has no `tap_stream_id`"),
    ],
)
def test_a_catalog_that_is_none_is_refused(tmp_path: Path, text: str | None, problem: str) -> None:
    if text is not None:
        (tmp_path / "catalog.json").write_text(text)

    with pytest.raises(PermanentFailure) as caught:
        connector(tmp_path, catalog="catalog.json").discover()

    assert str(caught.value) == problem


def test_discovery_that_prints_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PermanentFailure) as caught:
        connector(tmp_path, discover=[{"write": "Hello!\n"}]).discover()

    assert str(caught.value).startswith("what `steps.py` prints with --discover is no JSON: ")


NO_DISCOVERY = [{"log": "usage: tap\ntap: error: unrecognized arguments: --discover"}, {"exit": 2}]
MESSAGES = (schema(), record(1), schema("others"), record(7, "others"), record(2), state({"at": 2}))


@pytest.mark.parametrize(
    "more",
    [{"discover": NO_DISCOVERY}, {"discovery": False}, {"discover": list(MESSAGES)}],
    ids=["refuses the flag", "config says so", "ignores the flag"],
)
def test_a_tap_without_discovery_is_run_to_see_its_streams(tmp_path: Path, more: dict[str, Any]) -> None:
    report = tmp_path / "report.json"
    tap = connector(tmp_path, *MESSAGES, config={"report": str(report)}, **more)

    tables = tap.discover()
    batches = read(tap)

    assert [(table.name, table.primary_key) for table in tables] == [("things", ("id",)), ("others", ("id",))]
    assert tables[0].schema.names == ["id", "text", "_extra"]
    assert [row["id"] for row in rows(batches)] == [1, 2]
    assert batches[-1].cursor == {"state": {"at": 2}}
    assert [row["id"] for row in rows(read(tap, "others"))] == [7]
    assert json.loads(report.read_text())["files"].keys() == {"--config"}


def test_a_tap_without_discovery_is_stopped_once_the_wanted_stream_is_known(tmp_path: Path) -> None:
    tap = connector(tmp_path, schema(), {"hang": True}, discovery=False)

    (found,) = tap.discover(["things"])

    assert found.name == "things"


def test_a_stream_that_a_tap_without_discovery_never_tells_of_is_refused(tmp_path: Path) -> None:
    tap = connector(tmp_path, *MESSAGES, discovery=False)

    with pytest.raises(PermanentFailure, match="has no stream `nothing`"):
        tap.discover(["nothing"])
    with pytest.raises(PermanentFailure, match="cannot be read by `id`"):
        read(tap, incremental="id")


def test_a_tap_without_discovery_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(PermanentFailure, match="failed with code 3: it is broken"):
        connector(tmp_path, {"log": "it is broken"}, {"exit": 3}, discovery=False).discover()


def test_a_tap_of_the_first_days_takes_its_catalog_as_properties(tmp_path: Path) -> None:
    tap = connected(
        tmp_path,
        {
            "tap": [sys.executable, str(TAPS / "old.py")],
            "properties": True,
            "select": {"people": ["name"], "places": []},
        },
    )

    assert tap.discover(["people"])[0].schema.names == ["id", "name", "_extra"]
    assert rows(read(tap, "people"))[0] == {"id": 0, "name": "people 0", "_extra": None}
    assert rows(read(tap, "places"))[0] == {"id": 0, "_extra": None}


def test_a_tap_that_overlooks_its_catalog_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    tap = connector(tmp_path, state({}))

    with pytest.raises(PermanentFailure) as caught:
        read(tap)

    assert str(caught.value) == "the tap `steps.py` was asked for `things` and did not tell of it"
    assert caught.value.hint.startswith("write `properties = true` if it is an old tap")
    assert read(tap, cursor={"state": {}}) == []


def test_a_tap_that_gives_another_stream_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    tap = connector(tmp_path, schema("strangers"), record(1, "strangers"))

    with pytest.raises(PermanentFailure, match="did not tell of it, and gave rows of `strangers`"):
        read(tap)


def test_discovery_fails_with_what_the_log_says(tmp_path: Path) -> None:
    unreachable = [{"log": "requests.exceptions.ConnectTimeout: timed out"}, {"exit": 1}]

    with pytest.raises(TransientFailure, match="failed with code 1: requests"):
        connector(tmp_path, discover=unreachable).discover()


def test_a_tap_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "no-program").write_text("")
    cases = {
        "tap-of-nobody": "there is no tap `tap-of-nobody`",
        "taps/tap-x": "there is no tap `taps/tap-x`",
        "./no-program": "the tap `./no-program` is no program",
    }

    for tap, problem in cases.items():
        with pytest.raises(PermanentFailure) as caught:
            connected(tmp_path, {"tap": tap}).open(Read(table="x"))
        assert str(caught.value) == problem
        assert caught.value.hint


def test_a_program_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\x00\x01")
    (tmp_path / "odd").chmod(0o755)

    with pytest.raises(
        PermanentFailure, match="`odd` failed with code 127: it cannot be started: Exec format"
    ):
        connected(tmp_path, {"tap": "./odd"}).discover()


def test_streams_that_are_known_by_longer_names_than_messages_have(tmp_path: Path) -> None:
    """As taps of databases do: `shop-public-orders` in the catalog, `public-orders` in the messages."""
    longer = {**entry("shop-public-things"), "stream": "things"}
    tap = connector(tmp_path, schema("public-things"), record(1, "public-things"), streams=[longer])

    assert [row["id"] for row in rows(read(tap, "shop-public-things"))] == [1]


def test_a_tap_without_streams_has_no_tables(tmp_path: Path) -> None:
    tap = connector(tmp_path, discover=[say(streams=[])])

    assert tap.discover() == ()
    with pytest.raises(PermanentFailure, match="has no stream `things`") as caught:
        tap.discover(["things"])
    assert caught.value.hint == "it has none at all"
