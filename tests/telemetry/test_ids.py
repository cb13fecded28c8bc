from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tracing import RUN, T0, TRACE, counting_entropy

from hakiri.core.ids import RunId, new_uuid7
from hakiri.telemetry import trace_id_of
from hakiri.telemetry.ids import fresh_span_id, fresh_trace_id


def test_the_trace_of_a_run_has_the_digits_of_its_id() -> None:
    assert trace_id_of(RUN) == TRACE
    assert trace_id_of(RunId(new_uuid7(T0, bytes(8)))) == new_uuid7(T0, bytes(8)).replace("-", "")


@given(st.text())
def test_every_run_has_a_trace_of_32_digits_and_always_the_same(run: str) -> None:
    trace = trace_id_of(RunId(run))

    assert len(trace) == 32
    assert int(trace, 16)
    assert trace == trace_id_of(RunId(run))


def test_fresh_ids_come_from_the_entropy_and_are_never_zero() -> None:
    zeros_first = iter([bytes(8), bytes(8), b"\0" * 7 + b"\5", bytes(8)])

    assert fresh_span_id(counting_entropy()) == 1
    assert fresh_trace_id(lambda: next(zeros_first)) == 5 << 64
