"""What the config takes and what it refuses, and a database whose driver is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.errors import Place
from hakiri.sources.config import read_config
from hakiri.sources.errors import BadSourceConfig
from hakiri.sources.sql.config import SqlConfig

PLACE = Place("hakiri.toml", 7)
FORMS = (
    "write `postgresql://user:${PASSWORD}@host/database`, `sqlite:///data/shop.db` "
    "or `duckdb:///data/shop.duckdb`"
)
PATHS = "write `{0}:///data/shop.db` for a file of the project, `{0}:////srv/shop.db` for any other"
BY_NAME = "write `${NAME}` in its place, and NAME in the pipeline's `secrets`"


def config(**keys: Any) -> SqlConfig:
    return read_config(SqlConfig, keys, connector="sql", place=PLACE, secrets=("PASSWORD",))


@pytest.mark.parametrize(
    ("keys", "problem", "hint"),
    [
        ({}, "`url` is missing", FORMS),
        ({"url": "shop.db"}, "`url` names no database that can be read", FORMS),
        ({"url": "oracle://host/x"}, "`url` names no database that can be read", FORMS),
        (
            {"url": "mysql+pymysql://u@host/x"},
            "`url` is of `mysql+pymysql`, for which no Arrow driver can be installed from PyPI",
            "read it by a tap with the connector `singer`, or a dump of it with the connector `files`",
        ),
        ({"url": "postgresql://u:open@host/x"}, "`url` holds a password that is written out", BY_NAME),
        ({"url": "postgresql://u@host/x?password=p"}, "`url` holds a password that is written out", BY_NAME),
        (
            {"url": "sqlite://data/shop.db"},
            "`url` is not the path of a file",
            PATHS.format("sqlite"),
        ),
        (
            {"url": "duckdb:///"},
            "`url` is not the path of a file",
            PATHS.format("duckdb"),
        ),
        (
            {"url": "sqlite:///a.db", "as_text": ["paid_at"]},
            "`as_text` names no column with `paid_at`",
            'write table and column, as in ["orders.paid_at"]',
        ),
        ({"url": "sqlite:///a.db", "shema": "x"}, "unknown key `shema`", "did you mean `schema`?"),
        (
            {"url": "sqlite:///a.db", "schema": "x"},
            "`schema` is given, which SQLite does not know",
            "remove `schema`",
        ),
    ],
)
def test_a_config_that_is_wrong_is_told_with_the_way_out(
    keys: dict[str, Any], problem: str, hint: str
) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        config(**keys)

    assert str(refused.value) == f"the config of connector `sql` is wrong: {problem}"
    assert (refused.value.hint, refused.value.places) == (hint, (PLACE,))


def test_a_path_starts_at_the_project_unless_it_is_absolute() -> None:
    root = Path("/srv/project")

    assert config(url="sqlite:///data/my%20shop.db").file(root) == root / "data/my shop.db"
    assert config(url="duckdb:////var/shop.duckdb").file(root) == Path("/var/shop.duckdb")


def test_every_form_of_a_url_is_taken() -> None:
    for url in (
        "postgresql://u:${PASSWORD}@host:5432/shop?sslmode=require",
        "postgres://u@/shop?host=/run/postgresql",
        "postgresql://u@host/shop?password=${PASSWORD}",
    ):
        assert config(url=url, schema="sales").db_schema == "sales"


def test_columns_to_read_as_text_are_found_by_any_name_of_the_table() -> None:
    taken = config(url="sqlite:///a.db", as_text=["orders.a", "sales.orders.b", "lines.c"])

    assert taken.columns_as_text(("orders", "sales.orders")) == {"a", "b"}


@pytest.mark.parametrize("scheme", ["sqlite", "postgresql"])
def test_a_driver_that_is_not_installed_is_told_with_the_line_that_installs_it(scheme: str) -> None:
    script = f"""
import sys
sys.modules["adbc_driver_manager"] = sys.modules["adbc_driver_sqlite"] = None
sys.modules["adbc_driver_postgresql"] = None
from pathlib import Path
from hakiri.core.errors import MissingExtra
from hakiri.sources.sql import SqlConnector
from hakiri.sources.sql.config import SqlConfig
from hakiri.sources.contract import Context
context = Context(root=Path(), secrets={{}}, budget=None, clock=None, wait=None)
SqlConnector(SqlConfig(url="duckdb:///x"), context)
try:
    SqlConnector(SqlConfig(url="{scheme}:///x"), context)
except MissingExtra as error:
    print(error, error.hint, sep="|")
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert said.stdout == f"reading `{scheme}` needs an optional part|pip install 'hakiri[sql]'\n", (
        said.stderr
    )
