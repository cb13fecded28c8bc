"""Every step of a run with every cursor kind, each on a store of its own. `make nightly` asks for it."""

from __future__ import annotations

import pytest
from tests.support.crashes import Kill
from tests.support.crashes_patient import KINDS, Patient

from hakiri.pipelines.runtime.steps import Step

pytestmark = pytest.mark.spark

# What only a source comes by that is walked by its own tokens.
IN_SEGMENTS = {Step.FOLLOW_UP_PLANNED: ("opaque-token",)}
MATRIX = [(kind, step) for kind in KINDS for step in Step if kind in IN_SEGMENTS.get(step, KINDS)]


@pytest.mark.parametrize(("kind", "step"), MATRIX)
@pytest.mark.spec("HP-040")
def test_every_step_of_every_kind_can_be_the_last(patient: Patient, kind: str, step: Step) -> None:
    patient.prepare(kind)
    # It takes a history that is read to come to a tick.
    before = (Kill(step=Step.RUN_ENDED),) if step is Step.TICK_PLANNED else ()

    patient.die_and_recover([*before, Kill(step=step)])
