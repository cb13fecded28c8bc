"""Where telemetry goes: OpenTelemetry's own variables, as the OTLP specification names them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from hakiri.telemetry.errors import BadOtlpSetting

PREFIX = "OTEL_EXPORTER_OTLP_"
PROTOCOL = "http/protobuf"
DEFAULT_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpTarget:
    """Where one signal is sent. The headers may hold a token, so they are not shown."""

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpConfig:
    """A collector that takes OTLP over HTTP. A signal without a target is not sent."""

    traces: OtlpTarget | None
    metrics: OtlpTarget | None
    service: str = "hakiri"


def otlp_of(env: Mapping[str, str]) -> OtlpConfig | None:
    """The collector that the variables name, or None when they name none. Raises BadOtlpSetting."""
    targets = {signal: _target(env, signal) for signal in ("traces", "metrics")}
    if not any(targets.values()):
        return None
    return OtlpConfig(**targets, service=env.get("OTEL_SERVICE_NAME") or "hakiri")


def _target(env: Mapping[str, str], signal: str) -> OtlpTarget | None:
    if env.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").strip().lower() == "none":
        return None
    variable, endpoint = _setting(env, signal, "ENDPOINT")
    if not endpoint:
        return None
    _check_endpoint(variable, endpoint)
    _check_protocol(env, signal)
    is_for_all = variable == f"{PREFIX}ENDPOINT"
    return OtlpTarget(
        endpoint=f"{endpoint.rstrip('/')}/v1/{signal}" if is_for_all else endpoint,
        headers=_headers(*_setting(env, signal, "HEADERS")),
        timeout_seconds=_timeout(*_setting(env, signal, "TIMEOUT")),
    )


def _setting(env: Mapping[str, str], signal: str, name: str) -> tuple[str, str]:
    """The variable that counts and its value: the one of the signal, else the one for all signals."""
    own, common = f"{PREFIX}{signal.upper()}_{name}", f"{PREFIX}{name}"
    variable = own if env.get(own) else common
    return variable, env.get(variable, "").strip()


def _check_endpoint(variable: str, endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        is_fit = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fit = False
    if not is_fit:
        raise BadOtlpSetting(
            variable, "is not a URL of HTTP", hint="write it like `http://localhost:4318`, or unset it"
        )


def _check_protocol(env: Mapping[str, str], signal: str) -> None:
    variable, protocol = _setting(env, signal, "PROTOCOL")
    if protocol not in ("", PROTOCOL):
        raise BadOtlpSetting(
            variable,
            f"is `{protocol}`, and only `{PROTOCOL}` is spoken",
            hint=f"set `{variable}={PROTOCOL}` and the endpoint to the collector's HTTP port, often 4318",
        )


def _headers(variable: str, text: str) -> dict[str, str]:
    """`name=value` pairs with commas between them; values may be percent-encoded."""
    headers = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        if not (name.strip() and equals):
            # The pair is not repeated: it may be a token.
            raise BadOtlpSetting(
                variable, "holds a part without a name and `=`", hint="write it like `name=value,name=value`"
            )
        headers[name.strip().lower()] = unquote(value.strip())
    return headers


def _timeout(variable: str, text: str) -> float:
    """OpenTelemetry's Python libraries read seconds here, so seconds they are."""
    try:
        seconds = float(text) if text else DEFAULT_TIMEOUT_SECONDS
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise BadOtlpSetting(variable, "is not a number of seconds above zero", hint="write it like `10`")
    return seconds
