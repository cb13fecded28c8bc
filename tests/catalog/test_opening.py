"""From a URL to a catalog: which URLs there are, and what is said of those there are not."""

from __future__ import annotations

import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from hakiri.catalog import catalog_place, catalog_url, open_catalog
from hakiri.catalog.errors import (
    BackendTooOld,
    BadCatalogUrl,
    CatalogDamaged,
    CatalogDenied,
    CatalogForeign,
    CatalogUnreachable,
)
from hakiri.core.errors import ExitCode, HakiriError, MissingExtra
from hakiri.core.settings import Settings, resolve_settings

T0 = datetime(2026, 1, 1, tzinfo=UTC)
PASSWORD = "hunter2-marker"


def settings(**env: str) -> Settings:
    return resolve_settings(flags={}, env=env, manifest={}, manifest_places={})


def place(url: str, base: Path = Path()) -> object:
    return catalog_place(url, project="shop", base=base)


def test_the_default_is_a_file_beside_the_tables_of_the_project() -> None:
    assert catalog_url(settings(), "shop") == "sqlite:///.hakiri/context/shop/meta.sqlite"


@pytest.mark.spec("AD-013")
def test_the_setting_alone_chooses_another_backend(tmp_path: Path, postgres_url: str) -> None:
    for url in (f"sqlite:///{tmp_path}/meta.sqlite", postgres_url):
        chosen = catalog_url(settings(HAKIRI_CATALOG_URL=url), "shop")

        with open_catalog(chosen, project="shop", base=tmp_path, now=T0) as catalog:
            assert catalog.number("orders", 3) == 1
            assert catalog.info().backend == url.partition(":")[0]


def test_a_relative_path_begins_at_the_project_and_an_absolute_one_at_the_root(tmp_path: Path) -> None:
    open_catalog("sqlite:///state/a%20b.sqlite", project="shop", base=tmp_path, now=T0).close()
    open_catalog(f"sqlite:///{tmp_path}/there.sqlite", project="shop", base=Path("/nowhere"), now=T0).close()

    assert (tmp_path / "state" / "a b.sqlite").is_file()
    assert (tmp_path / "there.sqlite").is_file()


def test_looking_at_a_place_makes_nothing(tmp_path: Path) -> None:
    there = catalog_place("sqlite:///state/meta.sqlite", project="shop", base=tmp_path)

    assert there.version() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("meta.sqlite", "`catalog.url` is not a URL"),
        ("mysql://host/db", "there is no catalog for `mysql://` URLs"),
        ("postgresq://host/db", "there is no catalog for `postgresq://` URLs; `postgres://` is near"),
        ("sqlite://meta.sqlite", "a `sqlite://` URL needs three slashes and the path of a file"),
        ("sqlite:///", "a `sqlite://` URL needs three slashes and the path of a file"),
        ("sqlite:///state/", "a `sqlite://` URL needs three slashes and the path of a file"),
        ("sqlite:///:memory:", "a catalog in memory would forget everything with the process"),
        (
            "postgresql://host/db?colour=red",
            '`catalog.url` is not a Postgres URL: invalid URI query parameter: "colour"',
        ),
    ],
)
def test_a_url_that_means_no_catalog_is_a_usage_error(url: str, problem: str) -> None:
    with pytest.raises(BadCatalogUrl) as caught:
        place(url)

    assert str(caught.value) == problem
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://user:{PASSWORD}@127.0.0.1:1x/db",
        f"postgresql://user:{PASSWORD}@[::1/db",
        f"postgresql://127.0.0.1:1/db?user=u&password={PASSWORD}",
        f"postgresql://127.0.0.1:1/db?password={PASSWORD}&password",
    ],
)
def test_a_password_is_never_repeated(url: str, tmp_path: Path) -> None:
    with pytest.raises(HakiriError) as caught:
        open_catalog(url, project="shop", base=tmp_path, now=T0)

    told = [str(caught.value), caught.value.hint, repr(vars(caught.value))]
    cause = caught.value.__cause__
    assert not any(PASSWORD in text for text in [*told, repr(cause)])


def test_a_server_that_is_not_there_is_said_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(CatalogUnreachable) as caught:
        open_catalog("postgresql://user@127.0.0.1:1/db", project="shop", base=tmp_path, now=T0)

    assert "`postgresql://127.0.0.1:1/db#hakiri_shop` cannot be reached: " in str(caught.value)
    assert "Connection refused" in str(caught.value)


def test_without_the_library_the_install_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("hakiri.catalog.postgres.")]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(MissingExtra) as caught:
        place("postgresql://host/db")

    assert caught.value.hint == "pip install 'hakiri[postgres]'"


def test_a_file_that_is_no_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "meta.sqlite").write_bytes(b"no database at all\n" * 100)

    with pytest.raises(CatalogDamaged) as caught:
        open_catalog("sqlite:///meta.sqlite", project="shop", base=tmp_path, now=T0)

    assert str(caught.value).endswith("is damaged: file is not a database")


def test_a_folder_in_the_place_of_the_file_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "meta.sqlite").mkdir()

    with pytest.raises(CatalogUnreachable) as caught:
        open_catalog("sqlite:///meta.sqlite", project="shop", base=tmp_path, now=T0)

    assert str(caught.value).endswith("cannot be reached: a folder is in its place")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "theirs.sqlite") as theirs:
        theirs.execute("CREATE TABLE schema_version (id INTEGER)")
    theirs.close()
    before = (tmp_path / "theirs.sqlite").read_bytes()

    with pytest.raises(CatalogForeign) as caught:
        open_catalog("sqlite:///theirs.sqlite", project="shop", base=tmp_path, now=T0)

    assert str(caught.value).endswith("theirs.sqlite` belongs to another program")
    assert caught.value.exit_code is ExitCode.USAGE
    assert (tmp_path / "theirs.sqlite").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(CatalogUnreachable) as caught:
        open_catalog("sqlite:///file/state/meta.sqlite", project="shop", base=tmp_path, now=T0)

    assert str(caught.value).endswith("cannot be reached: its folder cannot be made: Not a directory")


def test_an_administrator_may_make_the_schema_for_a_user_who_may_not(
    postgres_url: str, tmp_path: Path
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute("CREATE ROLE worker LOGIN")
        admin.execute("CREATE SCHEMA hakiri_shop AUTHORIZATION worker")
    try:
        as_worker = postgres_url.replace("postgres@", "worker@")
        with open_catalog(as_worker, project="shop", base=tmp_path, now=T0) as catalog:
            assert catalog.number("n") == 1
        with pytest.raises(CatalogDenied) as caught:
            open_catalog(as_worker, project="other", base=tmp_path, now=T0)
        assert "denies access: permission denied for database" in str(caught.value)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute("DROP OWNED BY worker CASCADE")
            admin.execute("DROP ROLE worker")


def test_a_sqlite_without_json_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 1))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.31.1")

    with pytest.raises(BackendTooOld) as caught:
        open_catalog("sqlite:///meta.sqlite", project="shop", base=tmp_path, now=T0)

    assert str(caught.value) == "SQLite 3.31.1 is too old for a catalog"
    assert caught.value.hint == "use SQLite 3.38.0 or newer"


@pytest.mark.parametrize("project", ["shop", "Shop-1", "a" * 80, "ü" * 60, 'x"y'])
def test_projects_in_one_database_do_not_see_each_other(
    project: str, postgres_url: str, tmp_path: Path
) -> None:
    with (
        open_catalog(postgres_url, project=project, base=tmp_path, now=T0) as ours,
        open_catalog(postgres_url, project=f"{project}2", base=tmp_path, now=T0) as theirs,
    ):
        assert [ours.number("n"), ours.number("n"), theirs.number("n")] == [1, 2, 1]


def test_the_url_may_name_the_schema(postgres_url: str, tmp_path: Path) -> None:
    named = f"{postgres_url}&schema=state"
    with open_catalog(named, project="one", base=tmp_path, now=T0) as first:
        first.number("n")

    with open_catalog(named, project="other", base=tmp_path, now=T0) as second:
        assert second.number("n") == 2
        assert second.info().location.endswith("#state")
