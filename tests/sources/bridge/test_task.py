"""A connector as a Spark task has it, in this process: its failures are told as they are anywhere else."""

from __future__ import annotations

import shutil
import traceback
from pathlib import Path

import pytest
from tests.sources.bridge.numbers_project import (
    CONNECTOR,
    NumbersProject,
    line_of,
    numbers_project,
    open_numbers,
)
from tests.support.own_connectors import installed_package

from hakiri.core.errors import HakiriError, Place
from hakiri.sources.bridge.failures import TaskFailed, failure_in
from hakiri.sources.bridge.task import connector_in_task
from hakiri.sources.contract import Connector, Read, Window
from hakiri.sources.errors import AuthExpired, BrokenConnector, ConnectorFailed, RateLimited

MARK = "sesame-4711"


@pytest.fixture
def project(tmp_path: Path) -> NumbersProject:
    return numbers_project(tmp_path / "project")


def read_all(connector: Connector) -> None:
    for _ in connector.open(Read(table="numbers", window=Window(field="n", since=0, until=9))):
        pass


def failure_here(project: NumbersProject, fails: str) -> HakiriError:
    with pytest.raises(HakiriError) as caught, open_numbers(project, MARK, fails=fails) as source:
        read_all(source.connector)
    return caught.value


def failure_in_task(project: NumbersProject, fails: str) -> TaskFailed:
    with (
        open_numbers(project, MARK, fails=fails) as source,
        pytest.raises(TaskFailed) as caught,
        connector_in_task(source.task) as connector,
    ):
        read_all(connector)
    return caught.value


def facts_of(error: HakiriError) -> dict[str, object]:
    return {name: fact for name, fact in vars(error).items() if name != "__notes__"}


def arrived(failure: TaskFailed) -> HakiriError:
    """What the driver makes of the text that Spark has of the failure."""
    error = failure_in("".join(traceback.format_exception(failure)))
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("fails", "kind"),
    [("secret", ConnectorFailed), ("limit", RateLimited), ("auth", AuthExpired)],
)
def test_an_error_of_a_task_arrives_as_it_would_leave_this_process(
    project: NumbersProject, fails: str, kind: type[HakiriError]
) -> None:
    here = failure_here(project, fails)

    there = arrived(failure_in_task(project, fails))

    assert type(here) is type(there) is kind
    assert (str(there), facts_of(there)) == (str(here), facts_of(here))


def test_a_fault_of_the_connector_is_told_with_its_line_and_its_traceback(project: NumbersProject) -> None:
    failure = failure_in_task(project, "secret")

    error = arrived(failure)
    (note,) = error.__notes__
    assert error.places == (line_of("no way in with"),)
    assert note.startswith("In a Spark task:\nTraceback (most recent call last):\n")
    assert note.endswith("\nValueError: no way in with ***")
    assert MARK not in note + "".join(traceback.format_exception(failure))


def test_what_an_error_was_caused_by_travels_along_without_secrets(project: NumbersProject) -> None:
    failure = failure_in_task(project, "auth")

    assert arrived(failure).__notes__ == ["In a Spark task:\nLookupError: *** is nobody"]
    assert MARK not in "".join(traceback.format_exception(failure))


def test_an_error_of_whoever_uses_the_connector_in_a_task_is_not_blamed_on_it(
    project: NumbersProject,
) -> None:
    with (
        open_numbers(project, MARK) as source,
        pytest.raises(ZeroDivisionError),
        connector_in_task(source.task),
    ):
        1 / 0  # noqa: B018


def test_a_connector_that_breaks_between_plan_and_task_is_told(project: NumbersProject) -> None:
    with open_numbers(project, MARK) as source:
        (project.root / "connectors" / "numbers.py").write_text("import nowhere\n")
        with pytest.raises(TaskFailed) as caught, connector_in_task(source.task):
            pass

    error = arrived(caught.value)
    assert type(error) is BrokenConnector
    assert error.places == (Place("hakiri.toml", 5),)


def test_a_shipped_connector_is_told_with_the_line_that_its_author_knows(
    project: NumbersProject, tmp_path: Path
) -> None:
    shipped = {"connectors/__init__.py": "", "connectors/numbers.py": CONNECTOR}

    with open_numbers(project, MARK, fails="secret") as source:
        shutil.rmtree(project.root)  # as on another machine
        with (
            installed_package(tmp_path / "shipped", shipped, entry_points=""),
            pytest.raises(TaskFailed) as caught,
            connector_in_task(source.task) as connector,
        ):
            read_all(connector)

    assert arrived(caught.value).places == (line_of("no way in with"),)
