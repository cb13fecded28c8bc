"""With a collector, spans and metrics go there; a collector that is down costs a run nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.collector import collector, no_collector, silent_collector
from tests.support.tracing import T0, TRACE, Told, counting_entropy

from hakiri.core.clock import FixedClock
from hakiri.core.errors import MissingExtra
from hakiri.telemetry import Metric, Telemetry, open_telemetry, opening, otlp_of
from hakiri.telemetry.config import OtlpConfig
from hakiri.telemetry.otlp_outlet import MOST_WAITING_SPANS, OtlpOutlet

ROWS = Metric(name="hakiri.rows", kind="counter", unit="{row}", description="rows")
WAITS = Metric(name="hakiri.wait", kind="histogram", unit="s", description="waits")
HINT = "see that it listens there, or unset `OTEL_EXPORTER_OTLP_ENDPOINT` to have traces in files"


@pytest.fixture(autouse=True)
def no_thread_goes_on() -> Iterator[None]:
    """An outlet that was closed tries no more, whatever the collector does."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive(), thread.name


def config_of(url: str) -> OtlpConfig:
    config = otlp_of({"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=k"})
    assert config is not None
    return config


def hasty_telemetry(url: str, told: Told) -> Telemetry:
    """One that waits a short time only for a collector that does not answer."""
    return Telemetry(
        lambda: OtlpOutlet(config_of(url), project="shop", close_within_seconds=0.3),
        clock=FixedClock(T0),
        entropy=counting_entropy(),
        tell=told,
    )


def test_spans_and_metrics_arrive_at_the_collector(tmp_path: Path) -> None:
    told = Told()
    with (
        collector() as received,
        open_telemetry(
            project="shop",
            traces=tmp_path / "traces",
            otlp=config_of(received.url),
            clock=FixedClock(T0),
            tell=told,
            entropy=counting_entropy(),
        ) as telemetry,
    ):
        with telemetry.span("hakiri.run", {"hakiri.run_id": "r"}, trace=TRACE) as run:
            with telemetry.span("hakiri.chunk", {"hakiri.chunk_id": 7}, parent=run):
                telemetry.measure(ROWS, 100, {"hakiri.pipeline_id": "orders"}, trace=TRACE)
            telemetry.measure(ROWS, 20, {"hakiri.pipeline_id": "orders"}, trace=TRACE)
            telemetry.measure(WAITS, 0.5, {}, trace=TRACE)
        telemetry.finish(TRACE)

    chunk, run_span = received.spans
    assert (chunk.name, run_span.name) == ("hakiri.chunk", "hakiri.run")
    assert chunk.trace_id.hex() == run_span.trace_id.hex() == TRACE
    assert chunk.parent_span_id == run_span.span_id
    assert chunk.start_time_unix_nano == int(T0.timestamp()) * 10**9
    assert {pair.key: pair.value.int_value for pair in chunk.attributes} == {"hakiri.chunk_id": 7}
    about = {
        pair.key: pair.value.string_value for pair in received.traces[0].resource_spans[0].resource.attributes
    }
    assert (about["service.name"], about["hakiri.project"]) == ("hakiri", "shop")
    (rows,) = received.last_metrics["hakiri.rows"].sum.data_points
    assert rows.as_int == 120
    assert received.last_metrics["hakiri.wait"].histogram.data_points[0].sum == 0.5
    assert {headers["api-key"] for headers in received.headers} == {"k"}
    assert told.texts == []
    assert not (tmp_path / "traces").exists()


@pytest.mark.parametrize("kind", ["nobody listens", "no answer", "an error", "busy"])
def test_a_collector_that_is_down_makes_nobody_wait_and_is_told_once(kind: str) -> None:
    told = Told()
    places = {
        "nobody listens": no_collector(),
        "no answer": silent_collector(),
        "an error": collector(status=400),
        "busy": collector(status=503),
    }
    with places[kind] as place:
        url = place if isinstance(place, str) else place.url
        telemetry = hasty_telemetry(url, told)
        telemetry.start("hakiri.chunk", {}, trace=TRACE).end()  # everything is loaded
        before = time.monotonic()
        for _ in range(99):
            telemetry.start("hakiri.chunk", {}, trace=TRACE).end()
        telemetry.measure(ROWS, 100, {}, trace=TRACE)
        worked = time.monotonic()
        telemetry.close()
        closed = time.monotonic()

    # On a busy machine; a single request would be waited for twice as long.
    assert worked - before < 5.0
    assert closed - worked < 5.0
    lost = f"100 of 100 spans for `{url}/v1/traces` and the last metrics for `{url}/v1/metrics`"
    assert told.texts == [(f"{lost} did not reach the collector", HINT)]


def test_spans_that_find_no_room_are_counted() -> None:
    told = Told()
    with silent_collector() as url:
        telemetry = hasty_telemetry(url, told)
        for _ in range(MOST_WAITING_SPANS + 1000):
            telemetry.start("hakiri.chunk", {}, trace=TRACE).end()
        telemetry.close()

    (text, _), *others = told.texts
    assert text.startswith(f"{MOST_WAITING_SPANS + 1000} of {MOST_WAITING_SPANS + 1000} spans")
    assert others == []


def test_a_failing_collector_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with no_collector() as url:
        telemetry = hasty_telemetry(url, Told())
        telemetry.start("hakiri.chunk", {}, trace=TRACE).end()
        telemetry.close()

    assert capfd.readouterr() == ("", "")


def test_only_the_signals_that_have_a_target_are_sent() -> None:
    told = Told()
    with collector() as received:
        config = otlp_of({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{received.url}/v1/metrics"})
        assert config is not None
        with Telemetry(
            lambda: OtlpOutlet(config, project="shop"),
            clock=FixedClock(T0),
            entropy=counting_entropy(),
            tell=told,
        ) as telemetry:
            telemetry.start("hakiri.chunk", {}, trace=TRACE).end()
            telemetry.measure(ROWS, 1, {}, trace=TRACE)

    assert received.traces == []
    assert set(received.last_metrics) == {"hakiri.rows"}
    assert told.texts == []


def test_without_the_library_that_sends_the_door_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(opening, "EXPORTER", "opentelemetry.exporter.pigeon.carrier")

    with pytest.raises(MissingExtra) as refusal:
        open_telemetry(
            project="shop",
            traces=tmp_path,
            otlp=config_of("http://127.0.0.1:1"),
            clock=FixedClock(T0),
            tell=Told(),
        )

    assert refusal.value.hint == "pip install 'hakiri[otlp]'"
