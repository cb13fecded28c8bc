"""Without a collector every span is a line in a file of its trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.tracing import T0, TRACE, Told, counting_entropy

from hakiri.core.clock import FixedClock
from hakiri.core.errors import UsageError
from hakiri.telemetry import Metric, Telemetry, Trace, open_telemetry, read_trace, trace_path

ROWS = Metric(name="rows", kind="counter", unit="{row}", description="rows")
WAITS = Metric(name="waits", kind="histogram", unit="s", description="waits")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(T0)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def telemetry(tmp_path: Path, clock: FixedClock, told: Told) -> Iterator[Telemetry]:
    with open_telemetry(
        project="shop",
        traces=tmp_path / "traces",
        otlp=None,
        clock=clock,
        tell=told,
        entropy=counting_entropy(),
    ) as telemetry:
        yield telemetry


def lines_of(folder: Path, trace: str = TRACE) -> list[str]:
    return trace_path(folder / "traces", trace).read_text("utf-8").splitlines()


def test_a_span_is_a_line_that_a_person_can_read(
    telemetry: Telemetry, clock: FixedClock, tmp_path: Path
) -> None:
    with telemetry.span("hakiri.run", {"hakiri.pipeline_id": "orders"}, trace=TRACE) as span:
        clock.advance(timedelta(seconds=1.5))
        span.note("schema changed", {"changes": "column `größe` added"})
        clock.advance(timedelta(seconds=2.75))
        span.set({"rows": 7})

    assert lines_of(tmp_path)[0] == (
        '{"name":"hakiri.run","start":"2026-05-12T08:14:00.000000Z","end":"2026-05-12T08:14:04.250000Z",'
        '"seconds":4.25,"status":"ok","attributes":{"hakiri.pipeline_id":"orders","rows":7},'
        '"events":[{"name":"schema changed","at":"2026-05-12T08:14:01.500000Z",'
        '"attributes":{"changes":"column `größe` added"}}],'
        f'"trace":"{TRACE}","span":"0000000000000001","parent":null}}'
    )


def test_a_span_below_another_knows_it_also_from_another_thread(telemetry: Telemetry, tmp_path: Path) -> None:
    with telemetry.span("run", {}, trace=TRACE) as run, ThreadPoolExecutor(4) as threads:
        for number in range(20):
            threads.submit(lambda n=number: telemetry.start("chunk", {"n": n}, parent=run).end())

    trace = read_trace(trace_path(tmp_path / "traces", TRACE))
    assert [span.name for span in trace.spans] == ["chunk"] * 20 + ["run"]
    assert sorted(span.attributes["n"] for span in trace.spans[:-1]) == list(range(20))  # type: ignore[type-var]
    assert {span.parent for span in trace.spans[:-1]} == {trace.spans[-1].span}
    assert len({span.span for span in trace.spans}) == 21


def test_a_span_without_a_trace_begins_one(telemetry: Telemetry, tmp_path: Path) -> None:
    with telemetry.span("compaction", {}) as span:
        assert span.trace_id == "00000000000000010000000000000002"
        assert span.span_id == "0000000000000003"

    assert len(lines_of(tmp_path, span.trace_id)) == 1


def test_an_error_of_ours_is_in_the_span_with_its_code(telemetry: Telemetry, tmp_path: Path) -> None:
    with pytest.raises(UsageError), telemetry.span("run", {}, trace=TRACE):
        raise UsageError("there is no folder `x`")

    (span,) = read_trace(trace_path(tmp_path / "traces", TRACE)).spans
    assert span.error == "there is no folder `x`"
    assert span.attributes == {"error.type": "usage"}
    assert span.events == ()


def test_an_error_that_nobody_planned_for_leaves_its_traceback(telemetry: Telemetry, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), telemetry.span("run", {}, trace=TRACE):
        _ = 1 / 0

    (span,) = read_trace(trace_path(tmp_path / "traces", TRACE)).spans
    assert span.error == "division by zero"
    assert span.attributes == {"error.type": "ZeroDivisionError"}
    assert "_ = 1 / 0" in str(span.events[0].attributes["exception.stacktrace"])
    assert span.events[0].at == T0


def test_the_sums_of_a_trace_are_its_last_line(telemetry: Telemetry, tmp_path: Path) -> None:
    with telemetry.span("run", {}, trace=TRACE):
        for rows, wait in [(100, 2.0), (50, 0.5)]:
            telemetry.measure(ROWS, rows, {"table": "a"}, trace=TRACE)
            telemetry.measure(WAITS, wait, {}, trace=TRACE)
        telemetry.measure(ROWS, 1, {}, trace="f" * 32)
    telemetry.finish(TRACE)

    assert json.loads(lines_of(tmp_path)[-1]) == {
        "trace": TRACE,
        "metrics": {"rows": {"sum": 150}, "waits": {"count": 2, "sum": 2.5, "min": 0.5, "max": 2.0}},
    }
    assert read_trace(trace_path(tmp_path / "traces", TRACE)).metrics == {
        "rows": {"sum": 150},
        "waits": {"count": 2, "sum": 2.5, "min": 0.5, "max": 2.0},
    }


def test_what_is_open_when_telemetry_closes_was_interrupted(
    telemetry: Telemetry, tmp_path: Path, told: Told
) -> None:
    run = telemetry.start("run", {}, trace=TRACE)
    telemetry.start("chunk", {}, parent=run)
    telemetry.measure(ROWS, 3, {}, trace=TRACE)

    telemetry.close()
    telemetry.close()
    run.end()

    trace = read_trace(trace_path(tmp_path / "traces", TRACE))
    assert [(span.name, span.error) for span in trace.spans] == [
        ("chunk", "it was interrupted"),
        ("run", "it was interrupted"),
    ]
    assert trace.metrics == {"rows": {"sum": 3}}
    assert told.texts == []


def test_a_line_that_was_cut_off_is_counted_and_the_others_are_read(
    telemetry: Telemetry, tmp_path: Path
) -> None:
    telemetry.start("first", {}, trace=TRACE).end()
    path = trace_path(tmp_path / "traces", TRACE)
    whole = path.read_bytes()
    path.write_bytes(whole + b"[1]\n7\n" + whole + whole[:60])

    trace = read_trace(path)

    assert [span.name for span in trace.spans] == ["first", "first"]
    assert trace.unreadable_lines == 3
    assert trace.metrics is None


def test_an_empty_file_is_an_empty_trace(tmp_path: Path) -> None:
    (tmp_path / "x").touch()

    assert read_trace(tmp_path / "x") == Trace(spans=(), metrics=None)


def test_a_disk_that_takes_nothing_fails_no_run_and_is_told_once(
    telemetry: Telemetry, tmp_path: Path, told: Told
) -> None:
    (tmp_path / "traces").write_text("a file where the folder should be")

    for _ in range(3):
        telemetry.start("chunk", {}, trace=TRACE).end()
    telemetry.measure(ROWS, 3, {}, trace=TRACE)
    telemetry.close()

    assert told.texts == [
        (
            f"4 lines of traces could not be written to `{tmp_path / 'traces'}`: File exists",
            "make room or give the right to write there; the runs themselves are not touched by it",
        )
    ]


def test_opentelemetry_is_loaded_with_the_first_span(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from hakiri.core.clock import SystemClock
from hakiri.telemetry import open_telemetry, otlp_of, read_trace, trace_id_of
trace = trace_id_of("x")
surroundings = dict(traces=Path(), otlp=otlp_of({}), clock=SystemClock(), tell=print)
with open_telemetry(project="p", **surroundings) as telemetry:
    before = [name for name in sys.modules if name.startswith("opentelemetry")]
    telemetry.start("x", {}, trace=trace).end()
    print(before, "opentelemetry.sdk.trace" in sys.modules, "opentelemetry.sdk.metrics" in sys.modules)
"""

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[] True False\n"
