"""`hakiri status`: what a person and a program see, while others work and when nobody does."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pyarrow as pa
import pytest
from tests.pipelines.operations.scenes import (
    NOW,
    Scene,
    half_failed,
    made_project,
    run_id,
    scene_in,
    stop_the_clock,
    streaming,
    window,
)
from tests.support.terminal import CONTROL, terminal

from hakiri.catalog.contract.pipelines import Decision
from hakiri.catalog.contract.runs import RunStatus
from hakiri.cli.console import Console
from hakiri.cli.status import WATCH_SECONDS, repeat, watch_lines
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.evolution import Change, ChangeKind, TableShape
from hakiri.pipelines.evolution.decide import refusal
from hakiri.pipelines.refusals import note_refusal

if TYPE_CHECKING:
    from conftest import Outcome, Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
HAKIRI = Path(sys.executable).parent / "hakiri"
HISTORICAL = "github-issues-historical"


@pytest.fixture
def scene(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    stop_the_clock(monkeypatch)
    with scene_in(tmp_path) as scene:
        yield scene


@pytest.fixture
def busy(scene: Scene) -> Scene:
    """One pipeline up to date, one in the middle of its backfill, one that failed, one that never ran."""
    scene.at = NOW - timedelta(days=3)
    streaming(scene, "events", "events")
    scene.at = NOW - timedelta(hours=2)
    half_failed(scene)
    scene.at = NOW - timedelta(seconds=90)
    days = [f"2026-01-{day:02d}T00:00:00Z" for day in range(1, 31)]
    pieces = [window(days[n], days[n + 1], field="updated_at") for n in range(29)]
    scene.declared(HISTORICAL, "github_issues", *pieces)
    now_running = scene.started(HISTORICAL)
    for _ in range(10):
        scene.did(HISTORICAL, now_running, rows=3400, seconds=4)
    scene.claimed(HISTORICAL, now_running)
    scene.called(HISTORICAL, 52)
    return scene


def validated(outcome: Outcome) -> list[dict[str, object]]:
    schema = json.loads((DOCS / "schemas" / "status.json").read_text())
    reports = [json.loads(line) for line in outcome.out.splitlines()]
    for report in reports:
        jsonschema.Draft202012Validator(schema).validate(report)
    return reports


# What a person sees -----------------------------------------------------------------------------------------


def test_all_pipelines_with_what_waits_for_a_decision(run: Run, busy: Scene) -> None:
    outcome = run("status")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "state    pipeline                  phase            chunks  rows  rows/s  left  last run\n"
        "ok       events                    streaming      5/5 100%   500                72 h ago\n"
        "running  github-issues-historical  backfilling  10/29  34%   34K     850  76 s  90 s ago\n"
        "failed   orders                    backfilling    1/4  25%   100                2 h ago\n"
        "new      tokens\n"
        "\n"
        "orders failed 2 h ago: sources.unauthorized\n"
        "  the source answered 401\n"
        "  hakiri retry orders  try again\n"
        "  hakiri skip orders   leave out the chunk that failed\n"
    )


def test_one_pipeline_that_runs(run: Run, busy: Scene) -> None:
    outcome = run("status", HISTORICAL)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "github-issues-historical  running, backfilling\n"
        "  chunks    10 of 29 done (34%), 1 running, 18 pending\n"
        "  rows      34,000 (49.3MB)\n"
        "  speed     850 rows/s, 1.23MB/s\n"
        "  left      76 s\n"
        "  budget    60/min, 87% used\n"
        "  last run  9c210003 running, 2026-05-12 10:12:30 UTC (90 s ago)\n"
    )


@pytest.mark.spec("HP-048")
def test_one_pipeline_that_failed(run: Run, busy: Scene) -> None:
    outcome = run("status", "orders")

    assert outcome.out == (
        "orders  failed, backfilling\n"
        "  chunks    1 of 4 done (25%), 2 pending, 1 failed\n"
        "  rows      100 (145KB)\n"
        "  last run  9c210002 failed, 2026-05-12 08:14:00 UTC (2 h ago), took 5.0 s\n"
        "\n"
        "orders failed 2 h ago: sources.unauthorized\n"
        "  the source answered 401\n"
        "  hakiri retry orders  try again\n"
        "  hakiri skip orders   leave out the chunk that failed\n"
    )


def test_one_pipeline_that_never_ran(run: Run, busy: Scene) -> None:
    assert run("status", "tokens").out == "tokens  new: it never ran\n"


def test_what_was_skipped_is_counted_and_a_decision_is_no_longer_asked_for(run: Run, busy: Scene) -> None:
    busy.catalog.pipelines.decide(PipelineId("orders"), Decision.SKIP, "operator:ada", NOW)

    outcome = run("status", "orders")

    assert outcome.out == (
        "orders  partial, backfilling\n"
        "  chunks    1 of 3 done (33%), 2 pending, 1 skipped\n"
        "  rows      100 (145KB)\n"
        "  last run  9c210002 failed, 2026-05-12 08:14:00 UTC (2 h ago), took 5.0 s\n"
    )


def test_a_failed_pipeline_that_was_changed_since_is_tried_by_the_next_apply(
    run: Run, scene: Scene, tmp_path: Path
) -> None:
    half_failed(scene)
    manifest = tmp_path / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace('incremental = "id"', 'incremental = "no"', 1))

    outcome = run("status", "orders")

    assert outcome.out.splitlines()[-3:] == [
        "orders failed 2 h ago: sources.unauthorized",
        "  the source answered 401",
        "  hakiri apply orders  tries it as it is in the manifest now",
    ]


def test_a_failure_before_any_chunk_leaves_nothing_to_skip(run: Run, scene: Scene) -> None:
    scene.at = NOW
    message = "column `amount` of table `orders` would become int32, and int64 does not fit"
    scene.failed("orders", scene.started("orders"), "evolution.incompatible", message)

    outcome = run("status", "orders")

    assert outcome.out == (
        "orders  failed, planning\n"
        "  rows      0 (0B)\n"
        "  last run  9c210001 failed, 2026-05-12 10:14:00 UTC (just now), took 0.0 s\n"
        "\n"
        "orders failed just now: evolution.incompatible\n"
        f"  {message}\n"
        "  hakiri retry orders  try again\n"
    )


def test_refused_columns_are_told_with_the_decisions_that_fit_them(run: Run, scene: Scene) -> None:
    key = Change(kind=ChangeKind.CHANGE_KEY, column="", before="id", after="id, region", rule="it is a key")
    types = Change(
        kind=ChangeKind.NARROW_TYPE, column="total", before="int64", after="int32", rule="too narrow"
    )
    shape = TableShape(schema=pa.schema({"id": pa.int64()}), primary_key=("id", "region"))
    scene.at = NOW
    attempt = scene.started("orders")
    note_refusal(
        scene.catalog,
        pipeline=PipelineId("orders"),
        table=TableName("orders"),
        incoming=shape,
        refused=[types, key],
        now=NOW,
    )
    error = refusal([types, key], "orders", "orders")
    assert "column `total` changed from int64 to int32 (too narrow)" in str(error)
    scene.failed("orders", attempt, error.code, str(error))

    outcome = run("status", "orders")

    assert outcome.out.splitlines()[-6:] == [
        "orders failed just now: pipelines.schema_incompatible",
        f"  {error}",
        *(
            f"  {command:<78}  {does}"
            for command, does in (
                ("hakiri schema accept --pipeline orders", "let it through as it comes"),
                (
                    "hakiri schema migrate --pipeline orders --table orders --primary-key id,region",
                    "give the table that key",
                ),
                ("hakiri apply orders", "try it with another manifest or transform"),
                ("hakiri retry orders", "try it as it is, once the source is mended"),
            )
        ),
    ]
    (report,) = validated(run("status", "orders", "--json"))
    assert report["ways_on"][0] == {  # type: ignore[index]
        "command": "hakiri schema accept --pipeline orders",
        "does": "let it through as it comes",
    }


def test_a_run_that_was_refused_for_its_declaration_is_told_with_the_reason(run: Run, scene: Scene) -> None:
    scene.at = NOW
    message = "table `orders` cannot have a `lag`: it is not read by the values of a column"
    attempt = scene.started("orders")
    scene.ended("orders", attempt, RunStatus.FAILED, kind="pipelines.lag_unsound", message=message)

    outcome = run("status", "orders")

    assert outcome.out == (
        "orders  partial, planning\n"
        "  rows      0 (0B)\n"
        "  last run  9c210001 failed, 2026-05-12 10:14:00 UTC (just now), took 0.0 s\n"
        "\n"
        "orders did not make it with its last run, just now: pipelines.lag_unsound\n"
        f"  {message}\n"
        "  hakiri apply orders  tries again, once that is mended\n"
    )


def test_a_run_that_nobody_works_on_is_told(run: Run, scene: Scene) -> None:
    scene.declared("orders", "orders", window(None, 100), window(100))
    scene.claimed("orders", scene.started("orders"))

    outcome = run("status")

    assert outcome.out == (
        "state    pipeline                  phase          chunks  rows  last run\n"
        "new      events\n"
        "new      github-issues-historical\n"
        "partial  orders                    backfilling  0/2   0%     0  2 h ago\n"
        "new      tokens\n"
        "\n"
        "orders has a run that nobody works on any more\n"
        "  hakiri apply orders  goes on with it\n"
    )


def test_where_nothing_ran_there_is_no_catalog_and_none_is_made(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_the_clock(monkeypatch)
    made_project(tmp_path)

    told, data = run("status"), run("status", "orders", "--json")

    assert (told.code, told.err) == (0, "")
    assert told.out == (
        "state  pipeline\n"
        "new    events\n"
        "new    github-issues-historical\n"
        "new    orders\n"
        "new    tokens\n"
        "\n"
        "nothing ran yet; `hakiri apply` pulls what there is\n"
    )
    assert validated(data)[0]["light"] == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["hakiri.toml"]


def test_a_pipeline_that_is_not_there_is_told_with_the_one_that_was_meant(run: Run, scene: Scene) -> None:
    outcome = run("status", "ordres")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[manifest.unknown_pipeline]: no pipeline has the id `ordres`\nhint: did you mean `orders`?\n"
    )


def test_on_a_narrow_screen_what_matters_least_is_left_out(
    run: Run, busy: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal() as screen:
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "stdout", screen.stream)
        code = run("status").code
        screen.stream.flush()
        shown = screen.wait_for("leave out the chunk")

    lines = [CONTROL.sub("", line) for line in shown.splitlines()]
    assert code == 0
    assert max(map(len, lines)) <= 80
    assert lines[0] == "state    pipeline                  phase            chunks  left  last run"
    assert lines[2] == "running  github-issues-historical  backfilling  10/29  34%  76 s  90 s ago"


# What a program sees ----------------------------------------------------------------------------------------


@pytest.mark.spec("HP-141")
def test_the_status_of_one_pipeline_as_data(run: Run, busy: Scene) -> None:
    (report,) = validated(run("status", HISTORICAL, "--json"))

    assert report == {
        "schema_version": 1,
        "pipeline_id": "github-issues-historical",
        "phase": "backfilling",
        "chunks": {"done": 10, "running": 1, "pending": 18, "total": 29},
        "throughput": {"rows_per_sec": 850, "bytes_per_sec": 1232500},
        "eta_seconds": 76,
        "started_at": "2026-05-12T10:12:30Z",
        "rate_budget": "60/min",
        "rate_budget_consumed_pct": 87,
        "light": "running",
        "rows": 34000,
        "bytes": 49300000,
        "skipped": 0,
        "is_stalled": False,
        "failure": None,
        "ways_on": [],
        "last_run": {
            "run": run_id(3),
            "short": "9c210003",
            "pipeline": "github-issues-historical",
            "node": "node-1",
            "status": "running",
            "started_at": "2026-05-12T10:12:30Z",
            "ended_at": None,
            "seconds": None,
            "rows": None,
            "bytes": None,
            "error_kind": None,
            "error_message": None,
            "trace": report["last_run"]["trace"],  # type: ignore[index]
        },
    }


@pytest.mark.spec("HP-141")
def test_the_status_of_all_pipelines_as_data_is_a_line_for_each(run: Run, busy: Scene) -> None:
    reports = validated(run("status", "--json"))

    assert [(report["pipeline_id"], report["light"]) for report in reports] == [
        ("events", "ok"),
        (HISTORICAL, "running"),
        ("orders", "failed"),
        ("tokens", "new"),
    ]
    assert reports[2]["chunks"] == {"done": 1, "running": 0, "pending": 2, "failed": 1, "total": 4}
    assert reports[2]["failure"] == {
        "kind": "sources.unauthorized",
        "message": "the source answered 401",
        "at": "2026-05-12T08:14:05Z",
        "run": run_id(2),
    }


# Watching ---------------------------------------------------------------------------------------------------


class Enough(KeyboardInterrupt):
    """Somebody presses Ctrl-C."""


def test_watching_looks_again_after_every_wait() -> None:
    looks: list[str] = []
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise Enough

    with pytest.raises(Enough):
        repeat(lambda: looks.append("look"), wait=wait)

    assert looks == ["look"] * 3
    assert waits == [WATCH_SECONDS] * 3


def test_watching_writes_over_what_it_has_written() -> None:
    frames = iter(["first\nsecond line", "third"])

    def look() -> list[str]:
        try:
            return next(frames).splitlines()
        except StopIteration:
            raise Enough from None

    with terminal() as screen:
        console = Console(
            out=screen.stream, err=io.StringIO(), out_has_colors=True, env={"TERM": "xterm", "COLUMNS": "80"}
        )
        with pytest.raises(Enough):
            watch_lines(console, look, wait=lambda seconds: None)
        screen.stream.flush()
        shown = screen.wait_for("third")

    assert shown.index("second line") < shown.index("third")
    assert "\x1b[1A" in screen.shown  # the cursor went up to the frame before


def test_watching_needs_a_terminal_or_json(run: Run, scene: Scene) -> None:
    outcome = run("status", "--watch")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[usage]: `--watch` writes over what it has written, which only a terminal shows\n"
        "hint: leave it out, or add `--json` for lines every 2 seconds\n"
    )


def test_ctrl_c_ends_watching_without_an_error(tmp_path: Path) -> None:
    made_project(tmp_path)
    watching = subprocess.Popen(
        [HAKIRI, "status", "orders", "--watch", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("HAKIRI_")},
    )
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())

    watching.send_signal(signal.SIGINT)
    rest, told = watching.communicate(timeout=30)

    assert (watching.returncode, told) == (0, "")
    assert first["light"] == "new"
    assert rest == "" or json.loads(rest.splitlines()[0])["light"] == "new"
