"""A catalog where nothing may be written, as on a disk mounted read-only, shows all or says why not."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.grounds import T0, SqliteGround, opened
from tests.support.rights import become_an_ordinary_user, let_read_only, let_write
from tests.support.victims import in_child

from hakiri.catalog import catalog_place
from hakiri.catalog.errors import CatalogChanged, CatalogNotFolded
from hakiri.catalog.sql.database import Transaction
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId

FILE = "meta.sqlite"


def declare(folder: Path, pipeline: str) -> None:
    with opened(SqliteGround(folder / FILE)) as catalog:
        catalog.pipelines.declare(PipelineId(pipeline), CursorKind.MONOTONIC, T0)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def seen_in(folder: Path, *, is_look: bool) -> list[str]:
    place = catalog_place(f"sqlite:///{FILE}", project="shop", base=folder)
    assert place.version() == place.newest_version()
    with place.open(is_look=is_look) as catalog:
        return [state.pipeline for state in catalog.pipelines.all()]


def seen_without_rights(folder: Path, is_look: bool) -> list[str]:
    become_an_ordinary_user()
    return seen_in(folder, is_look=is_look)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody comes to, with a catalog that knows one pipeline."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        SqliteGround(folder / FILE).migrate()
        declare(folder, "orders")
        yield folder
        let_write(folder)


@pytest.fixture
def crashed(folder: Path) -> Path:
    """The same, with a journal that its writer had no time to fold into the file: `items` is only there."""
    with tempfile.TemporaryDirectory() as aside:
        with opened(SqliteGround(folder / FILE)) as catalog:
            catalog.pipelines.declare(PipelineId("items"), CursorKind.MONOTONIC, T0)
            shutil.copytree(folder, aside, dirs_exist_ok=True)
        shutil.copytree(aside, folder, dirs_exist_ok=True)
    assert {f"{FILE}-wal", f"{FILE}-shm"} <= {*names_in(folder)}
    return folder


@pytest.mark.parametrize("is_look", [True, False])
def test_a_catalog_where_nothing_may_be_written_is_read(folder: Path, is_look: bool) -> None:
    let_read_only(folder)
    before = names_in(folder)

    assert in_child(seen_without_rights, folder, is_look) == ["orders"]

    assert names_in(folder) == before


@pytest.mark.parametrize("is_look", [True, False])
def test_a_journal_that_a_crash_left_is_read_where_nothing_may_be_written(
    crashed: Path, is_look: bool
) -> None:
    let_read_only(crashed)

    assert in_child(seen_without_rights, crashed, is_look) == ["items", "orders"]


@pytest.mark.parametrize("is_look", [True, False])
def test_a_journal_without_its_index_is_refused_and_never_left_out(crashed: Path, is_look: bool) -> None:
    (crashed / f"{FILE}-shm").unlink()
    let_read_only(crashed)

    with pytest.raises(CatalogNotFolded) as caught:
        in_child(seen_without_rights, crashed, is_look)

    assert f"{caught.value}\n{caught.value.hint}" == (
        f"the catalog `sqlite:///{crashed}/{FILE}` cannot be read where nothing may be written: "
        f"`{FILE}-wal` has commits that are not in the file yet\n"
        "run `hakiri catalog check` once where the store may be written, or copy it to such a place"
    )
    let_write(crashed)
    assert seen_in(crashed, is_look=False) == ["items", "orders"]
    let_read_only(crashed)
    assert in_child(seen_without_rights, crashed, is_look) == ["items", "orders"]


@pytest.mark.parametrize("left", [("-wal",), ("-wal", "-shm"), ("-shm",)])
def test_an_empty_journal_hides_nothing(folder: Path, left: tuple[str, ...]) -> None:
    for end in left:
        (folder / f"{FILE}{end}").touch()
    let_read_only(folder)

    assert in_child(seen_without_rights, folder, True) == ["orders"]


def what_is_seen_while_others_write() -> tuple[list[str], str, list[str]]:
    """Before somebody writes, while somebody does, and after that."""
    become_an_ordinary_user()
    folder = Path(tempfile.mkdtemp())
    SqliteGround(folder / FILE).migrate()
    let_read_only(folder)
    database = SqliteGround(folder / FILE).database()

    def names(_: Transaction | None = None) -> list[str]:
        return [row["pipeline_id"] for row in database.all("pipelines")]

    def written_meanwhile(transaction: Transaction) -> None:
        transaction.all("pipelines")
        let_write(folder)
        declare(folder, "orders")
        let_read_only(folder)

    try:
        before, told = names(), ""
        try:
            database.read(written_meanwhile)
        except CatalogChanged as error:
            told = f"{error}\n{error.hint}".replace(str(folder), "")
        return before, told, names()
    finally:
        database.close()
        let_write(folder)
        shutil.rmtree(folder)


def test_who_writes_while_nobody_can_be_kept_from_it_is_noticed() -> None:
    before, told, after = in_child(what_is_seen_while_others_write)

    assert before == []
    assert told == f"the catalog `sqlite:////{FILE}` was written while it was read\nrun the command again"
    assert after == ["orders"]
