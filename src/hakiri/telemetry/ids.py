"""The ids of traces and spans."""

from __future__ import annotations

import re
from collections.abc import Callable

from hakiri.core.ids import RunId

RUN = re.compile(r"(?:run-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
NO_ID = 0
"""OpenTelemetry's word for «none»; no trace and no span has it."""


def trace_id_of(run: RunId) -> str:
    """The trace of a run, as 32 hexadecimal digits: those of its id, so that one leads to the other.

    Run ids are `run-` and a UUID of version 7, whose last 62 bits are random, as samplers expect of a trace
    id. For any other text it is the start of its SHA-256.
    """
    if found := RUN.fullmatch(run):
        return found[1].replace("-", "")
    from hashlib import sha256  # 7 ms, and a run's own ids never need it

    return sha256(run.encode()).hexdigest()[:32]


def fresh_span_id(entropy: Callable[[], bytes]) -> int:
    """64 bits that are not all zero."""
    while (span := int.from_bytes(entropy())) == NO_ID:
        pass
    return span


def fresh_trace_id(entropy: Callable[[], bytes]) -> int:
    """128 bits that are not all zero."""
    return fresh_span_id(entropy) << 64 | int.from_bytes(entropy())
