"""A catalog's file that is not what it was: whoever uses it is told, and does not write into the void."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.grounds import T0, SqliteGround, opened
from tests.support.writes import planned

from hakiri.catalog import open_catalog
from hakiri.catalog.errors import CatalogDamaged
from hakiri.core.ids import PipelineId

pytestmark = pytest.mark.spec("AD-009")

PAGE_BYTES = 4096
PIPELINE = PipelineId("p")


@pytest.fixture
def ground(tmp_path: Path) -> SqliteGround:
    ground = SqliteGround(tmp_path / "meta.sqlite")
    ground.migrate()
    with opened(ground) as catalog:
        planned(catalog, "p", 50)
    return ground


def overwrite(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


def overwrite_all_but_the_first_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(PAGE_BYTES)
        file.write(os.urandom(path.stat().st_size - PAGE_BYTES))


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def drop_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE pipeline_state")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (overwrite, "file is not a database"),
        (overwrite_all_but_the_first_page, "database disk image is malformed"),
        (cut_in_half, "database disk image is malformed"),
        (drop_a_table, "no such table: main.pipeline_state"),
    ],
)
def test_a_damaged_file_is_called_so(ground: SqliteGround, damage: Callable[[Path], None], why: str) -> None:
    damage(ground.path)

    with opened(ground) as catalog:
        with pytest.raises(CatalogDamaged) as reading:
            catalog.pipelines.get(PIPELINE)
        with pytest.raises(CatalogDamaged) as writing:
            planned(catalog, "p")

    expected = f"the catalog `sqlite:///{ground.path}` is damaged: {why}"
    assert str(reading.value) == str(writing.value) == expected
    assert reading.value.hint == "restore it from a backup, or run `hakiri context rebuild-catalog`"


@pytest.mark.parametrize("damage", [overwrite, overwrite_all_but_the_first_page, cut_in_half])
def test_a_damaged_file_is_not_opened(ground: SqliteGround, damage: Callable[[Path], None]) -> None:
    damage(ground.path)

    with pytest.raises(CatalogDamaged):
        open_catalog(f"sqlite:///{ground.path}", project="shop", base=Path("/"), now=T0)


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


@pytest.mark.parametrize("change", [remove, replace])
def test_what_is_written_never_goes_to_a_file_that_was_taken_away(
    ground: SqliteGround, change: Callable[[Path], None]
) -> None:
    with opened(ground) as catalog:
        catalog.number("n")
        catalog.pipelines.get(PIPELINE)
        change(ground.path)

        with pytest.raises(CatalogDamaged) as writing:
            catalog.number("n")
        with pytest.raises(CatalogDamaged) as reading:
            catalog.pipelines.get(PIPELINE)

    assert str(writing.value) == str(reading.value)
    assert str(writing.value) == (
        f"the catalog `sqlite:///{ground.path}` is damaged:"
        " its file was removed or replaced while it was open"
    )
