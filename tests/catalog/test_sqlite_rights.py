"""A catalog's file that may be read and not written, by a process that is not root's."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.support.grounds import SqliteGround, opened
from tests.support.rights import become_an_ordinary_user, let_read_only, let_write
from tests.support.victims import held_by_child, in_child, stay_ready

from hakiri.catalog.contract import Catalog
from hakiri.catalog.errors import CatalogReadOnly
from hakiri.core.ids import PipelineId

pytestmark = pytest.mark.spec("AD-009")

DONE = "done"


def refused(ground: SqliteGround) -> str:
    return (
        f"catalog.read_only: the catalog `sqlite:///{ground.path}` cannot be written to\n"
        "give this user the right to write it, or run as the user who owns it"
    )


def answer_to(use: Callable[[], object]) -> str:
    try:
        use()
    except CatalogReadOnly as error:
        return f"{error.code}: {error}\n{error.hint}"
    return DONE


def read_write_read(catalog: Catalog) -> list[str]:
    def read() -> object:
        return catalog.pipelines.get(PipelineId("p"))

    return [answer_to(read), answer_to(lambda: catalog.number("n")), answer_to(read)]


def lose_the_right_to_write() -> tuple[SqliteGround, list[str], list[str], list[str]]:
    """The answers when nobody has the file open, when somebody has, and when the right is given again."""
    become_an_ordinary_user()
    ground = SqliteGround(Path(tempfile.mkdtemp()) / "meta.sqlite")
    ground.migrate()
    try:
        let_read_only(ground.path.parent)
        with opened(ground) as catalog:
            alone = read_write_read(catalog)
            let_write(ground.path.parent)
            again = read_write_read(catalog)
            let_read_only(ground.path.parent)
            with opened(ground) as other:
                beside = read_write_read(other)
    finally:
        let_write(ground.path.parent)
        shutil.rmtree(ground.path.parent)
    return ground, alone, beside, again


def test_a_file_without_the_right_to_write_says_so_until_it_is_given() -> None:
    ground, alone, beside, again = in_child(lose_the_right_to_write)

    assert alone == [DONE, refused(ground), DONE]
    assert beside == [DONE, refused(ground), DONE]
    assert again == [DONE] * 3


@pytest.fixture
def foreign() -> Iterator[SqliteGround]:
    """A catalog of root's that everybody may read."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        ground = SqliteGround(Path(folder) / "meta.sqlite")
        ground.migrate()
        yield ground


def use_as_another_user(ground: SqliteGround) -> list[str]:
    become_an_ordinary_user()
    with opened(ground) as catalog:
        return read_write_read(catalog)


def keep_open(ground: SqliteGround, told: Connection) -> None:
    with opened(ground) as catalog:
        catalog.number("n")
        stay_ready(told)


def test_a_file_of_another_user_says_so(foreign: SqliteGround) -> None:
    assert in_child(use_as_another_user, foreign) == [DONE, refused(foreign), DONE]

    with held_by_child(keep_open, foreign):
        assert in_child(use_as_another_user, foreign) == [DONE, refused(foreign), DONE]

    with opened(foreign) as catalog:
        assert catalog.number("n") == 2
        assert catalog.check() == ()
