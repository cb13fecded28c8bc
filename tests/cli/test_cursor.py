"""`hakiri cursor`: how far tables were read, moved by hand, and who did that."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.pipelines.operations.scenes import (
    Scene,
    half_failed,
    made_project,
    run_id,
    scene_in,
    stop_the_clock,
    streaming,
    window,
)
from tests.support.terminal import terminal

from hakiri.pipelines.chunks.pieces import Piece, PieceKind

if TYPE_CHECKING:
    from conftest import Outcome, Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
HISTORICAL = "github-issues-historical"
NEVER_READ = (
    "error[pipelines.never_read]: table `orders` of pipeline `orders` was never read, so it has no cursor to "
    "move\nhint: say in the manifest where its history begins: `start_from` of `backfill`\n"
)
NO_JSON = (
    "error[usage]: the cursor is not JSON: expecting property name enclosed in double quotes at "
    """position 2 of `{id: 1}`\nhint: write it like '{"id": 12834782}', in single quotes\n"""
)
NO_OBJECT = (
    "error[pipelines.bad_cursor]: this cannot be the cursor of `orders`: it is not a JSON object\n"
    'hint: write it like the present one: `{"id":400}`\n'
)


@pytest.fixture
def scene(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    stop_the_clock(monkeypatch)
    with scene_in(tmp_path) as scene:
        yield scene


@pytest.fixture
def partitioned(scene: Scene) -> Scene:
    pieces = [window(None, None, field="updated_at", partition={"repo": repo}) for repo in ("a/b", "c/d")]
    scene.declared(HISTORICAL, "github_issues", *pieces)
    run = scene.started(HISTORICAL)
    scene.did(HISTORICAL, run, cursor={"updated_at": "2026-05-11T08:00:00Z"})
    return scene


def validated(name: str, outcome: Outcome) -> dict[str, Any]:
    schema = json.loads((DOCS / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    data: dict[str, Any] = outcome.data
    return data


# Looking ----------------------------------------------------------------------------------------------------


def test_every_stream_is_shown_with_its_cursor(run: Run, partitioned: Scene) -> None:
    outcome = run("cursor", "get", HISTORICAL)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "stream                  cursor                                  since\n"
        'github_issues#repo=a/b  {"updated_at": "2026-05-11T08:00:00Z"}  2026-05-12 08:14:04 UTC\n'
        "github_issues#repo=c/d  none yet\n"
    )


def test_cursors_as_data(run: Run, partitioned: Scene) -> None:
    report = validated("cursor-get", run("cursor", "get", HISTORICAL, "--json"))

    assert report["cursors"] == [
        {
            "stream": "github_issues#repo=a/b",
            "table": "github_issues",
            "partition": {"repo": "a/b"},
            "cursor": {"updated_at": "2026-05-11T08:00:00Z"},
            "updated_at": "2026-05-12T08:14:04Z",
            "run": run_id(1),
            "read_whole_at": None,
        },
        {
            "stream": "github_issues#repo=c/d",
            "table": "github_issues",
            "partition": {"repo": "c/d"},
            "cursor": None,
            "updated_at": None,
            "run": None,
            "read_whole_at": None,
        },
    ]


@pytest.mark.parametrize("kind", [PieceKind.FULL, PieceKind.SEGMENT])
def test_a_table_that_is_read_as_a_whole_says_so_and_when_it_last_was(
    run: Run, scene: Scene, kind: PieceKind
) -> None:
    for number in (1, 2):
        piece = Piece(kind=kind, pass_number=number)
        if number == 1:
            scene.declared("tokens", "tokens", piece, key=())
        else:
            scene.planned("tokens", "tokens", piece)
        scene.did("tokens", scene.started("tokens"))

    outcome = run("cursor", "get", "tokens")

    assert outcome.out == (
        "stream  cursor\ntokens  none: it is read as a whole each time, last at 2026-05-12 08:14:04 UTC\n"
    )
    report = validated("cursor-get", run("cursor", "get", "tokens", "--json"))
    (row,) = report["cursors"]
    assert (row["cursor"], row["read_whole_at"]) == (None, "2026-05-12T08:14:04Z")


@pytest.mark.parametrize(
    ("name", "streams"),
    [
        ("issues", ["github_issues#repo=a/b", "github_issues#repo=c/d"]),
        ("github_issues", ["github_issues#repo=a/b", "github_issues#repo=c/d"]),
        ("github_issues#repo=c/d", ["github_issues#repo=c/d"]),
    ],
)
def test_one_table_or_one_stream_is_shown_by_any_of_its_names(
    run: Run, partitioned: Scene, name: str, streams: list[str]
) -> None:
    report = run("cursor", "get", HISTORICAL, name, "--json").data

    assert [row["stream"] for row in report["cursors"]] == streams


def test_a_table_that_is_not_there_is_told(run: Run, partitioned: Scene) -> None:
    outcome = run("cursor", "get", HISTORICAL, "pulls")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[pipelines.no_such_stream]: pipeline `github-issues-historical` has no table or stream "
        "`pulls`\nhint: it has github_issues#repo=a/b, github_issues#repo=c/d\n"
    )


def test_where_nothing_ran_no_table_has_a_cursor(run: Run, tmp_path: Path) -> None:
    made_project(tmp_path)

    shown, log = run("cursor", "get", "orders"), run("cursor", "log", "orders")
    refused = [
        run("cursor", "set", "orders", "orders", '{"id": 1}', "--as", "ada"),
        run("cursor", "reset", "orders", "orders", "--yes", "--as", "ada"),
    ]

    assert shown.out == "stream  cursor\norders  none yet\n"
    assert log.out == "nobody changed anything about orders yet\n"
    assert [each.code for each in refused] == [2, 2]
    assert [each.err for each in refused] == [NEVER_READ, NEVER_READ]
    assert [path.name for path in tmp_path.iterdir()] == ["hakiri.toml"]


# Setting ----------------------------------------------------------------------------------------------------


def test_a_cursor_is_set_and_what_comes_next_is_told(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")

    outcome = run("cursor", "set", "orders", "orders", '{"id": 120}', "--reason", "RT-481")

    assert outcome.code == 0
    assert outcome.out == 'orders: {"id": 400} -> {"id": 120}\n'
    assert outcome.err == "the next run goes on from there; run `hakiri run orders` for one now\n"
    assert scene.cursor("orders", "orders") == {"id": 120}


def test_a_cursor_that_was_set_as_data(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")

    report = validated("cursor-set", run("cursor", "set", "orders", "orders", '{"id": 120}', "--json"))

    assert report == {
        "schema_version": 1,
        "pipeline_id": "orders",
        "by": "operator:ada",
        "reason": None,
        "cursors": [
            {"stream": "orders", "before": {"id": 400}, "after": {"id": 120}, "chunks": [], "kept": []}
        ],
    }


@pytest.mark.parametrize(("value", "error"), [("{id: 1}", NO_JSON), ('"12"', NO_OBJECT)])
def test_what_cannot_be_a_cursor_is_refused(run: Run, scene: Scene, value: str, error: str) -> None:
    streaming(scene, "orders", "orders")

    outcome = run("cursor", "set", "orders", "orders", value)

    assert (outcome.code, outcome.out, outcome.err) == (2, "", error)
    assert scene.cursor("orders", "orders") == {"id": 400}


def test_without_a_primary_key_setting_is_refused(run: Run, scene: Scene) -> None:
    streaming(scene, "events", "events", key=())

    outcome = run("cursor", "set", "events", "events", '{"id": 1}')

    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err == (
        "error[pipelines.would_double]: table `events` has no primary key, so rows that are read again would "
        "be there twice\n"
        "hint: use `hakiri cursor reset`, which replaces them, or give the table a `primary_key`\n"
    )


# Resetting --------------------------------------------------------------------------------------------------


def test_a_reset_shows_what_is_pulled_again(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")

    outcome = run("cursor", "reset", "orders", "orders", "--yes")

    assert outcome.code == 0
    assert outcome.out == (
        'orders: {"id": 400} -> from the start\n'
        "chunk  table   reads\n"
        "    6  orders  id until 100 and without a value\n"
        "    7  orders  id from 100 until 200\n"
        "    8  orders  id from 200 until 300\n"
        "    9  orders  id from 300 on\n"
    )
    assert outcome.err == "4 chunks will be pulled again; run `hakiri apply orders`\n"


def test_a_reset_as_data(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")

    report = validated("cursor-reset", run("cursor", "reset", "orders", "orders", "--yes", "--json"))

    (moved,) = report["cursors"]
    assert (moved["before"], moved["after"], moved["kept"]) == ({"id": 400}, None, [1, 2, 3, 4, 5])
    assert [chunk["chunk"] for chunk in moved["chunks"]] == [6, 7, 8, 9]


def test_a_reset_that_nobody_can_be_asked_about_needs_yes(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")

    outcome = run("cursor", "reset", "orders", "orders")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[usage]: this pulls everything again, and there is nobody to ask\n"
        "hint: add `--yes` if it is meant\n"
    )
    assert scene.cursor("orders", "orders") == {"id": 400}


class Typed(io.StringIO):
    """What a person types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "is_reset"), [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False)]
)
def test_on_a_terminal_a_reset_asks(
    run: Run, scene: Scene, monkeypatch: pytest.MonkeyPatch, answer: str, is_reset: bool
) -> None:
    streaming(scene, "orders", "orders")
    with terminal() as screen:
        monkeypatch.setattr(sys, "stderr", screen.stream)
        monkeypatch.setattr(sys, "stdin", Typed(answer))
        outcome = run("cursor", "reset", "orders", "orders")
        screen.stream.flush()
        shown = screen.wait_for("hakiri apply" if is_reset else "nothing was changed")

    assert outcome.code == 0
    assert shown.startswith("pull all of `orders` of pipeline `orders` again? [y/N] ")
    assert scene.cursor("orders", "orders") == (None if is_reset else {"id": 400})


# The audit log ----------------------------------------------------------------------------------------------


def test_the_log_has_every_decision_the_newest_first(run: Run, scene: Scene) -> None:
    half_failed(scene)
    run("skip", "orders")
    run("backfill", "rewind", "orders", "--from", "0", "--to", "150", "--reason", "RT-481")
    now = scene.started("orders")
    for cursor in (None, None, {"id": 350}):
        scene.did("orders", now, cursor=cursor)
    run("cursor", "set", "orders", "orders", '{"id": 120}', "--as", "agent:night-watch", "--reason", "again")

    outcome = run("cursor", "log", "orders")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "2026-05-12 10:14:00 UTC  agent:night-watch  cursor orders\n"
        '  {"id": 350} -> {"id": 120}\n'
        "  again\n"
        "2026-05-12 10:14:00 UTC  operator:ada  rewind orders\n"
        "  chunks 2 that were skipped\n"
        "  RT-481\n"
        "2026-05-12 10:14:00 UTC  operator:ada  rewind orders\n"
        "  chunks 1 -> 5\n"
        "  RT-481\n"
        "2026-05-12 10:14:00 UTC  operator:ada  skip\n"
        "  1 chunk\n"
    )


def test_the_log_as_data_is_as_long_as_asked(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")
    for value in (1, 2, 3):
        run("cursor", "set", "orders", "orders", f'{{"id": {value}}}')

    report = validated("cursor-log", run("cursor", "log", "orders", "--limit", "1", "--json"))

    assert report["entries"] == [
        {
            "number": 3,
            "at": "2026-05-12T10:14:00Z",
            "by": "operator:ada",
            "action": "cursor",
            "table": "orders",
            "before": {"id": 2},
            "after": {"id": 3},
            "reason": None,
        }
    ]
