"""OpenTelemetry's own variables say where telemetry goes."""

from __future__ import annotations

import pytest

from hakiri.telemetry import OtlpConfig, otlp_of
from hakiri.telemetry.config import OtlpTarget
from hakiri.telemetry.errors import BadOtlpSetting

BASE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize("env", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, {"OTEL_SERVICE_NAME": "etl"}])
def test_without_an_endpoint_there_is_no_collector(env: dict[str, str]) -> None:
    assert otlp_of(env) is None


def test_one_endpoint_serves_both_signals() -> None:
    assert otlp_of(BASE) == OtlpConfig(
        traces=OtlpTarget(endpoint="http://collector:4318/v1/traces"),
        metrics=OtlpTarget(endpoint="http://collector:4318/v1/metrics"),
    )


def test_a_variable_of_a_signal_goes_before_the_one_for_all() -> None:
    env = BASE | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/otel/",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://traces.example.com/in",
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, Tenant = 7 ,",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "api-key=c",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2.5",
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "1",
        "OTEL_SERVICE_NAME": "etl",
    }

    assert otlp_of(env) == OtlpConfig(
        traces=OtlpTarget(
            endpoint="https://traces.example.com/in",
            headers={"api-key": "a b", "tenant": "7"},
            timeout_seconds=1.0,
        ),
        metrics=OtlpTarget(
            endpoint="http://collector:4318/otel/v1/metrics", headers={"api-key": "c"}, timeout_seconds=2.5
        ),
        service="etl",
    )


def test_a_signal_can_be_turned_off() -> None:
    config = otlp_of(BASE | {"OTEL_METRICS_EXPORTER": "none"})

    assert config == OtlpConfig(traces=OtlpTarget(endpoint="http://collector:4318/v1/traces"), metrics=None)


def test_headers_are_not_shown() -> None:
    assert "s3cret" not in repr(otlp_of(BASE | {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=s3cret"}))


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
            "`OTEL_EXPORTER_OTLP_ENDPOINT` is not a URL of HTTP",
        ),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:port"},
            "`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is not a URL of HTTP",
        ),
        (
            BASE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`, and only `http/protobuf` is spoken",
        ),
        (
            BASE | {"OTEL_EXPORTER_OTLP_HEADERS": "s3cret"},
            "`OTEL_EXPORTER_OTLP_HEADERS` holds a part without a name and `=`",
        ),
        (
            BASE | {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"},
            "`OTEL_EXPORTER_OTLP_TIMEOUT` is not a number of seconds above zero",
        ),
        (
            BASE | {"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT": "0"},
            "`OTEL_EXPORTER_OTLP_METRICS_TIMEOUT` is not a number of seconds above zero",
        ),
    ],
)
def test_a_setting_that_cannot_be_followed_is_refused(env: dict[str, str], message: str) -> None:
    with pytest.raises(BadOtlpSetting) as refusal:
        otlp_of(env)

    assert str(refusal.value) == message
    assert refusal.value.hint
