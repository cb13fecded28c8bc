"""`hakiri singer`: a tap by hand, without a project."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from conftest import Outcome, Run

ROOT = Path(__file__).resolve().parents[2]
TAPS = ROOT / "tests" / "sources" / "singer" / "taps"
TOKEN = "token-of-the-shop-keeper"
HELP = "run `hakiri singer --help` for what it takes"


def program(path: Path, script: str) -> None:
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{TAPS / script}" "$@"\n')
    path.chmod(0o755)


def validate(outcome: Outcome) -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "singer.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    assert outcome.data.keys() == schema["properties"].keys()


@pytest.fixture
def shop(tmp_path: Path, run: Run) -> Path:
    """A tap in a folder, `./tap-shop`, its config, and some rows."""
    program(tmp_path / "tap-shop", "shop.py")
    orders = [{"id": number, "name": f"order {number}", "odd": number} for number in range(25)]
    (tmp_path / "shop.json").write_text(json.dumps({"orders": orders, "refunds": [{"id": 7}], "none": []}))
    (tmp_path / "config.json").write_text(json.dumps({"shop": "shop.json", "token": TOKEN}))
    return tmp_path


def call(run: Run, *args: str) -> Outcome:
    outcome = run("singer", "./tap-shop", "--config", "config.json", *args)
    assert TOKEN not in outcome.out + outcome.err
    return outcome


@pytest.mark.spec("HP-150")
def test_streams_of_a_tap_are_listed(run: Run, shop: Path) -> None:
    outcome = call(run, "--discover")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "stream   key  cursor  columns\n"
        "orders   id   id      7\n"
        "refunds  id   id      7\n"
        "none     id   id      7\n"
    )


def test_verbose_shows_columns_and_the_log_of_the_tap(run: Run, shop: Path) -> None:
    outcome = call(run, "--discover", "--select", "orders", "--verbose")

    assert "id (int64), name (string), at (timestamp[us, tz=UTC]), price (decimal128(9, 2))," in outcome.out
    assert outcome.err == "INFO starting with ***\n"


@pytest.mark.spec("HP-150")
def test_the_first_rows_of_a_stream_are_shown(run: Run, shop: Path) -> None:
    outcome = call(run, "--select", "orders", "--rows", "2")

    assert outcome.code == 0
    assert [line.split() for line in outcome.out.splitlines()] == [
        ["id", "name", "at", "price", "tags", "about", "_extra"],
        ["0", "order", "0", "∅", "∅", "∅", "∅", '{"odd":0}'],
        ["1", "order", "1", "∅", "∅", "∅", "∅", '{"odd":1}'],
    ]
    assert outcome.err == "\n2 rows of stream `orders`; nothing was written\n"


def test_ten_rows_are_shown_by_default_and_as_data(run: Run, shop: Path) -> None:
    outcome = call(run, "--select", "orders", "--json")

    assert (outcome.code, outcome.err) == (0, "")
    validate(outcome)
    (orders,) = outcome.data["streams"]
    assert (len(orders["rows"]), orders["rows_read"], orders["file"]) == (10, 10, None)
    assert orders["rows"][3] == {
        "id": 3,
        "name": "order 3",
        "at": None,
        "price": None,
        "tags": None,
        "about": None,
        "_extra": '{"odd":3}',
    }
    assert outcome.data["state"] is None


@pytest.mark.spec("HP-150")
def test_all_rows_are_written_as_parquet_and_the_last_state_goes_on(run: Run, shop: Path) -> None:
    first = call(run, "--out", "rows")
    state = json.loads(first.out)
    (shop / "state.json").write_text(first.out)
    rows = json.loads((shop / "shop.json").read_text())
    (shop / "shop.json").write_text(json.dumps({**rows, "orders": [*rows["orders"], {"id": 99}]}))

    second = call(run, "--out", "more", "--state", "state.json", "--state-out", "state.json", "--json")

    assert first.code == 0
    assert first.err == (
        "25 rows of stream `orders` in rows/orders.parquet\n"
        "1 row of stream `refunds` in rows/refunds.parquet\n"
        "0 rows of stream `none` in rows/none.parquet\n"
    )
    assert state == {"bookmarks": {"orders": {"row": 25}, "refunds": {"row": 1}}}
    assert pq.read_table(shop / "rows" / "orders.parquet").column("id").to_pylist() == [*range(25)]
    assert pq.read_table(shop / "rows" / "none.parquet").num_rows == 0
    validate(second)
    assert [stream["rows_read"] for stream in second.data["streams"]] == [1, 0, 0]
    assert pq.read_table(shop / "more" / "orders.parquet").column("id").to_pylist() == [99]
    kept = json.loads((shop / "state.json").read_text())
    assert kept == second.data["state"] == {"bookmarks": {"orders": {"row": 26}, "refunds": {"row": 1}}}


def test_files_that_are_there_are_not_overwritten(run: Run, shop: Path) -> None:
    call(run, "--out", "rows", "--select", "orders")

    outcome = call(run, "--out", "rows")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[usage]: files of these streams are there already\n"
        "  --> rows/orders.parquet\n"
        "hint: choose another folder, or move them away\n"
    )
    assert [file.name for file in (shop / "rows").iterdir()] == ["orders.parquet"]


def test_a_read_that_fails_leaves_no_file(run: Run, shop: Path) -> None:
    (shop / "mood").write_text("")
    program(shop / "tap-shop", "steps.py")
    stream = {"stream": "things", "schema": {"properties": {"id": {"type": "integer"}}}}
    record = {"type": "RECORD", "stream": "things", "record": {"id": 1}}
    steps = [{"say": record}, {"log": f"it broke with {TOKEN}"}, {"exit": 1}]
    config = {"discover": [{"say": {"streams": [stream]}}], "steps": steps, "token": TOKEN}
    (shop / "config.json").write_text(json.dumps(config))

    outcome = call(run, "--out", "rows")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error[sources.transient]: the tap `tap-shop` failed with code 1: it broke with ***\n"
        "hint: run it again; it goes on from the last state that was kept\n"
    )
    assert list((shop / "rows").iterdir()) == []


@pytest.mark.spec("HP-150")
def test_a_pipeline_for_the_manifest_is_printed_and_works(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", TOKEN)

    made = call(run, "--select", "orders", "--init")
    (shop / "hakiri.toml").write_text(f'[project]\nname = "shop"\n\n{made.out}')
    seen = run("source", "sample", "shop", "--rows", "1", "--quiet")

    assert made.code == 0
    assert tomllib.loads(made.out)["pipeline"] == [
        {
            "id": "shop",
            "source": {
                "connector": "singer",
                "config": {"tap": "./tap-shop", "config": {"shop": "shop.json", "token": "${TOKEN}"}},
            },
            "tables": ["orders"],
            "secrets": ["TOKEN"],
        }
    ]
    assert made.err == "\nadd this to hakiri.toml, and export TOKEN=…\n"
    assert (seen.code, seen.err) == (0, "")
    assert seen.out.splitlines()[1].split()[:3] == ["0", "order", "0"]


def test_secrets_by_name_come_from_the_environment(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "config.json").write_text(json.dumps({"shop": "shop.json", "token": "${SHOP_TOKEN}"}))

    missing = call(run, "--discover")
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    found = call(run, "--discover", "--verbose")

    assert missing.code == 2
    assert missing.err == (
        "error[secrets.missing]: secret `SHOP_TOKEN` is not set in the environment, "
        "wanted by the config of `tap-shop`\n"
        "hint: export SHOP_TOKEN=...\n"
    )
    assert (found.code, found.err) == (0, "INFO starting with ***\n")


def test_a_tap_is_found_by_its_name_in_path(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop / "bin").mkdir()
    program(shop / "bin" / "tap-old", "old.py")
    monkeypatch.setenv("PATH", f"{shop / 'bin'}:/usr/bin")

    rows = run("singer", "tap-old", "--properties", "--select", "people", "--rows", "1", "-q")
    made = run("singer", "tap-old", "--properties", "--init", "-q")

    assert (rows.code, rows.err) == (0, "")
    assert rows.out.splitlines()[1].split() == ["0", "people", "0", "∅"]
    assert tomllib.loads(made.out)["pipeline"] == [
        {
            "id": "old",
            "source": {"connector": "singer", "config": {"tap": "bin/tap-old", "properties": True}},
            "tables": ["people", "places"],
        }
    ]


def test_what_was_left_out_is_noted(run: Run, shop: Path) -> None:
    program(shop / "tap-shop", "steps.py")
    stream = {"stream": "things", "schema": {"properties": {"id": {"type": "integer"}}}}
    messages = [{"type": "ACTIVATE_VERSION", "stream": "things"}, {"type": "RECORD", "stream": "things"}]
    steps = [{"say": {**message, "record": {"id": 1}}} for message in messages]
    config = {"discover": [{"say": {"streams": [stream]}}], "steps": steps}
    (shop / "config.json").write_text(json.dumps(config))

    outcome = call(run)

    assert outcome.code == 0
    assert outcome.err.endswith(
        "note: the tap says with ACTIVATE_VERSION that it has given the whole table; "
        "rows that are gone at the source stay in the store\n"
    )


@pytest.mark.parametrize(
    ("args", "problem", "hint"),
    [
        (
            (),
            "the tap has 3 streams, and none was chosen",
            "write `--select` with one of: orders, refunds, none",
        ),
        (("--discover", "--out", "x"), "`--discover` and `--out` exclude each other", "keep one of them"),
        (("--rows", "2", "--out", "x"), "`--out` and `--rows` exclude each other", "keep one of them"),
        (("--init", "--state", "x"), "`--init` and `--state` exclude each other", "keep one of them"),
        (("--state-out", "x"), "`--state-out` is for rows that are kept", "write `--out DIR` as well"),
        (("--rows", "0"), "invalid value for `--rows`: Input should be greater than or equal to 1", HELP),
    ],
)
def test_what_cannot_be_meant_is_refused(
    run: Run, shop: Path, args: tuple[str, ...], problem: str, hint: str
) -> None:
    outcome = call(run, *args)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"error[usage]: {problem}\nhint: {hint}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "error[usage]: `config.json` cannot be read: no such file or directory\n"),
        ('{\n"token": hunter2}', "error[usage]: `config.json` is no JSON\n  --> config.json:2\n"),
        (
            "[]",
            "error[usage]: `config.json` holds no JSON object\nhint: give the tap's config to `--config`\n",
        ),
    ],
)
def test_a_config_that_is_none_is_refused(run: Run, shop: Path, text: str | None, told: str) -> None:
    (shop / "config.json").unlink()
    if text is not None:
        (shop / "config.json").write_text(text)

    outcome = call(run, "--discover")

    assert (outcome.code, outcome.err) == (2, told)


def test_a_stream_or_a_tap_that_is_not_there_is_told(run: Run, shop: Path) -> None:
    stream = call(run, "--select", "order")
    tap = run("singer", "tap-of-nobody", "--discover")

    assert stream.code == 1
    assert stream.err == (
        "error[sources.permanent]: the tap `tap-shop` has no stream `order`\nhint: did you mean `orders`?\n"
    )
    assert tap.code == 1
    assert tap.err.startswith(
        "error[sources.permanent]: there is no tap `tap-of-nobody`\nhint: install it into"
    )
