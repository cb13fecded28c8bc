"""The course of a run with several batches at once."""

from __future__ import annotations

import pytest

from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId
from hakiri.pipelines.chunks.states import RunState
from hakiri.pipelines.events import Event, StateChanged
from hakiri.pipelines.runtime.course import Course


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
def course(told: list[Event]) -> Course:
    course = Course(PipelineId("p"), told.append)
    course.trigger()
    course.schema_is_ok()
    told.clear()
    return course


def states(told: list[Event]) -> list[RunState]:
    return [event.after for event in told if isinstance(event, StateChanged)]


@pytest.mark.spec("HP-045")
def test_a_run_writes_as_long_as_any_of_its_batches_does(course: Course, told: list[Event]) -> None:
    with course.reading():
        with course.writing(), course.writing():
            assert course.state is RunState.WRITING
        assert course.state is RunState.READING
    with course.writing():
        pass
    course.wind_up()

    assert states(told) == [
        RunState.WRITING,
        RunState.READING,
        RunState.WRITING,
        RunState.COMMITTING,
        RunState.IDLE,
    ]


def test_a_run_that_begins_anew_comes_to_rest_first(course: Course, told: list[Event]) -> None:
    with course.writing():
        pass

    course.trigger()

    assert states(told) == [
        RunState.WRITING,
        RunState.COMMITTING,
        RunState.IDLE,
        RunState.DISCOVERING,
    ]


def test_what_could_not_be_written_fails_as_a_read(course: Course, told: list[Event]) -> None:
    with course.writing():
        pass

    course.fail(HakiriError("the disk is full"))

    assert states(told) == [RunState.WRITING, RunState.READING, RunState.FAILED]


def test_a_run_that_is_cut_off_while_it_looks_stays_there(told: list[Event]) -> None:
    course = Course(PipelineId("p"), told.append)
    course.trigger()

    course.wind_up()

    assert course.state is RunState.DISCOVERING
