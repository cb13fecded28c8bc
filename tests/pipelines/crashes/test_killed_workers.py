"""Real workers with real Spark, killed at every step of a run, while another process reads all the time."""

from __future__ import annotations

import sys
from random import Random

import pytest
from tests.support.crashes import Kill
from tests.support.crashes_patient import KINDS, Patient
from tests.support.seeds import chosen_seed

from hakiri.pipelines.runtime.steps import Step

pytestmark = pytest.mark.spark

# One store is killed at these, one after the other. `make nightly` has every step with every kind.
STORIES = {
    "monotonic": (
        Step.NODE_KNOWN,
        Step.BACKFILL_PLANNED,
        Step.CHUNKS_CLAIMED,
        Step.JOB_DONE,
        Step.COMMITTED,
        Step.STREAMING_BEGUN,
    ),
    "opaque-token": (
        Step.RUN_RECORDED,
        Step.BACKFILL_BEGUN,
        Step.JOB_STARTED,
        Step.FOLLOW_UP_PLANNED,
        Step.VIEWS_STARTED,
        Step.CHUNKS_ALL_DONE,
    ),
    "snapshot-id": (
        Step.SOURCE_OPENED,
        Step.TABLES_DISCOVERED,
        Step.COUNTS_AGREED,
        Step.MANIFEST_WRITTEN,
        Step.SPEC_NOTED,
        Step.TICK_PLANNED,
    ),
    "partitioned-monotonic": (
        Step.SCHEMA_DECIDED,
        Step.KIND_DECLARED,
        Step.COMMIT_STARTED,
        Step.VIEWS_PUBLISHED,
        Step.RUN_ENDED,
    ),
}
KILLS_BY_THE_CLOCK = 3
LONGEST_LIFE_SECONDS = 1.5


def test_the_stories_are_about_every_step() -> None:
    assert sorted(step for steps in STORIES.values() for step in steps) == sorted(Step)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.spec("HP-040")
@pytest.mark.spec("HP-041")
@pytest.mark.spec("HP-046")
@pytest.mark.spec("HP-100")
@pytest.mark.spec("HP-117")
@pytest.mark.spec("HP-118")
@pytest.mark.spec("HP-119")
@pytest.mark.spec("HP-120")
@pytest.mark.spec("HP-121")
@pytest.mark.spec("HP-123")
def test_a_store_killed_at_one_step_after_the_other_ends_as_if_nothing_had_happened(
    patient: Patient, kind: str
) -> None:
    patient.prepare(kind)

    patient.die_and_recover([Kill(step=step) for step in STORIES[kind]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.spec("HP-040")
def test_a_store_killed_at_random_moments_ends_as_if_nothing_had_happened(
    patient: Patient, kind: str
) -> None:
    seed = chosen_seed()
    sys.stdout.write(f"seed {seed}\n")
    chance = Random(seed)
    patient.prepare(kind)

    lives = [chance.uniform(0, LONGEST_LIFE_SECONDS) for _ in range(KILLS_BY_THE_CLOCK)]
    patient.die_and_recover([Kill(seconds=seconds) for seconds in lives])
