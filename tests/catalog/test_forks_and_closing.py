"""A handle belongs to the process that opened it, and ends when it is closed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.faults import FaultyDatabase
from tests.support.grounds import Ground, catalog_on, new_ground, opened
from tests.support.victims import in_child

from hakiri.catalog.contract import Catalog
from hakiri.catalog.errors import CatalogClosed, CatalogError
from hakiri.core.ids import PipelineId

PIPELINE = PipelineId("p")


@pytest.fixture(params=["sqlite", "postgres"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    return new_ground(request.param, request, tmp_path)


def in_a_fork(act: Callable[[], object]) -> str:
    """The code of the error that an act raises in a fork of this process, or that it is done."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            act()
            answer = "done"
        except CatalogError as error:
            answer = error.code
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        answer = told.read().decode()
    os.waitpid(pid, 0)
    return answer


def use_in_forks(ground: Ground) -> tuple[list[str], list[int]]:
    """What forks get, and what this process gets after each of them from the same handle."""
    with opened(ground) as catalog:
        acts = (lambda: catalog.number("n"), lambda: catalog.pipelines.get(PIPELINE), catalog.close)
        catalog.number("n")
        answers, numbers = [], []
        for act in acts:
            answers.append(in_a_fork(act))
            numbers.append(catalog.number("n"))
        return answers, numbers


def test_a_fork_cannot_use_the_catalog_of_its_parent(ground: Ground) -> None:
    answers, numbers = in_child(use_in_forks, ground)

    assert answers == ["catalog.opened_before_fork", "catalog.opened_before_fork", "done"]
    assert numbers == [2, 3, 4]


def fork_in_the_middle_of_a_write(ground: Ground) -> list[str]:
    database = FaultyDatabase(ground.database())
    with catalog_on(database) as catalog:
        in_the_middle, may_go_on = threading.Event(), threading.Event()

        def stop() -> None:
            in_the_middle.set()
            may_go_on.wait()

        database.fail_at(1, stop)
        writer = threading.Thread(target=catalog.number, args=("n",))
        writer.start()
        in_the_middle.wait()
        answers = [in_a_fork(lambda: catalog.number("n")), in_a_fork(catalog.close)]
        may_go_on.set()
        writer.join()
        assert catalog.number("n") == 2
        return answers


def test_a_fork_in_the_middle_of_a_write_does_not_wait_for_ever(ground: Ground) -> None:
    assert in_child(fork_in_the_middle_of_a_write, ground) == ["catalog.opened_before_fork", "done"]


def uses(catalog: Catalog) -> tuple[Callable[[], object], ...]:
    return (lambda: catalog.number("n"), lambda: catalog.pipelines.get(PIPELINE), catalog.check)


def test_a_closed_catalog_says_so(ground: Ground) -> None:
    catalog = catalog_on(ground.database())
    for use in uses(catalog):
        use()
    catalog.close()

    for use in uses(catalog):
        with pytest.raises(CatalogClosed) as failed:
            use()

    assert failed.value.code == "catalog.closed"
    assert str(failed.value).startswith("the catalog `")
    assert str(failed.value).endswith("` was closed")
    assert failed.value.hint == "open it again, or close it when all work is done"


def test_closing_while_others_work_ends_their_work_between_two_writes(ground: Ground) -> None:
    catalog = catalog_on(ground.database())
    numbers: list[int] = []
    ends: list[type[Exception]] = []
    under_way = threading.Semaphore(0)

    def work() -> None:
        try:
            while True:
                numbers.append(catalog.number("n"))
                catalog.pipelines.get(PIPELINE)
                under_way.release()
        except Exception as error:
            ends.append(type(error))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for _ in range(50):
        under_way.acquire()

    catalog.close()

    for worker in workers:
        worker.join()
    assert ends == [CatalogClosed] * 8
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    with opened(ground) as again:
        assert again.number("n") == len(numbers) + 1
