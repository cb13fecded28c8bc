"""Connectors of a project and of an installed package: found, listed, described, and refused when broken."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from tests.support.own_connectors import connector_text, installed_package, project_with

from hakiri.core.errors import Place
from hakiri.manifest import parse_pipeline
from hakiri.sources.contract import Read
from hakiri.sources.describing import describe_connector, example_config
from hakiri.sources.errors import BrokenConnector, UnknownConnector
from hakiri.sources.listing import Listed, list_connectors
from hakiri.sources.registry import BUILT_IN, Origin, connector_class
from hakiri.sources.testing import ConnectorContract, Subject, maker, project_connector
from hakiri.sources.testing.reading import read_anew, rows_of

if TYPE_CHECKING:
    from pathlib import Path

PLACE = Place("hakiri.toml", 4)
HALF = """\
from hakiri.sources.contract import Connector


class Half(Connector):
    def discover(self, only=None):
        return []
"""
CONFIG = """\
url: UrlTemplate = Field(description="Where it is, as in `https://${HOST}/v1`.")
token: SecretTemplate | None = Field(None, description="What opens it.")
kind: Literal["fast", "slow"] = Field("fast", description="How it counts.")
every: Duration = Field(Duration.parse("1d"), description="How often.")
headers: dict[str, Template] = Field(default_factory=dict, description="Sent along.")
pages: tuple[Page, ...] = Field(description="What to count.")
auth: Bearer | Basic | None = Field(None, description="Who asks.")
model_config = ConfigDict(arbitrary_types_allowed=True)
"""
MODELS = """\
from typing import Literal
from pydantic import ConfigDict
from hakiri.core.grammar import Duration
from hakiri.sources.config import SourceConfig, Template, UrlTemplate


class Page(SourceConfig):
    number: int = Field(description="Which.", examples=[7])
    is_last: bool = Field(False, description="The end.")


class Bearer(SourceConfig):
    type: Literal["bearer"] = Field(description="How.")
    token: SecretTemplate = Field(description="The token.")


class Basic(SourceConfig):
    type: Literal["basic"] = Field(description="How.")
    user: str = Field(description="Who.")


class NumbersConfig"""


def listed(root: Path | None) -> dict[str, Listed]:
    return {each.name: each for each in list_connectors(root)}


class TestOfAProject(ConnectorContract):
    """Thirty lines in a project pass the suite; what they cannot do is left out."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Subject:
        project_with(tmp_path, "numbers", connector_text())
        return Subject(make=maker(project_connector("numbers", tmp_path), {}), rows={"numbers": 6})


def test_a_connector_of_a_package_is_loaded_by_its_name_and_reads(tmp_path: Path) -> None:
    files = {"acme.py": connector_text()}

    with installed_package(tmp_path, files, "acme-numbers = acme:NumbersConnector"):
        kind = connector_class("acme-numbers", None, PLACE)
        batches = read_anew(Subject(make=maker(kind, {}), rows={"numbers": 6}), Read(table="numbers"))

    assert [row["n"] for row in rows_of(batches)] == [0, 1, 2, 3, 4, 5]


def test_built_in_connectors_are_listed_without_a_project() -> None:
    found = listed(None)

    assert found.keys() >= BUILT_IN.keys()
    assert {found[name].origin for name in BUILT_IN} == {Origin.BUILT_IN}


def test_a_connector_of_the_project_is_listed_with_its_summary(tmp_path: Path) -> None:
    project_with(tmp_path, "numbers", connector_text())

    assert listed(tmp_path)["numbers"] == Listed(
        name="numbers", origin=Origin.PROJECT, where="connectors/numbers.py", summary="counts to five"
    )


def test_a_connector_of_a_package_is_listed_without_importing_it(tmp_path: Path) -> None:
    files = {
        "acme/__init__.py": "raise SystemExit('was imported')\n",
        "acme/sources/__init__.py": "from .numbers import NumbersConnector as Counter\n",
        "acme/sources/numbers.py": connector_text(),
    }

    with installed_package(tmp_path, files, "acme-numbers = acme.sources:Counter"):
        found = listed(None)["acme-numbers"]

    assert found == Listed(
        name="acme-numbers", origin=Origin.PACKAGE, where="acme-connectors", summary="counts to five"
    )


@pytest.mark.parametrize("module", ["nowhere", "acme.nowhere", "sys"])
def test_a_package_that_is_not_whole_is_listed_all_the_same(tmp_path: Path, module: str) -> None:
    with installed_package(tmp_path, {"acme/__init__.py": ""}, f"acme = {module}:Connector"):
        assert listed(None)["acme"].summary == ""


def test_a_file_that_is_no_python_is_listed_with_its_problem(tmp_path: Path) -> None:
    project_with(tmp_path, "numbers", "class Numbers(:\n")

    found = listed(tmp_path)["numbers"]

    assert found.summary == ""
    assert found.problem == "SyntaxError: invalid syntax (numbers.py, line 1)"


def test_the_projects_own_connector_comes_before_one_of_the_same_name(tmp_path: Path) -> None:
    project_with(tmp_path, "files", connector_text())

    assert listed(tmp_path)["files"].origin is Origin.PROJECT
    assert connector_class("files", tmp_path, PLACE).summary == "counts to five"


def test_a_name_with_a_dash_is_a_file_with_an_underscore(tmp_path: Path) -> None:
    project_with(tmp_path, "my-numbers", connector_text())

    assert connector_class("my-numbers", tmp_path, PLACE).summary == "counts to five"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("class Numbers(:\n", "SyntaxError: invalid syntax (numbers.py, line 1)"),
        ("import acme_is_not_installed\n", "ModuleNotFoundError: No module named 'acme_is_not_installed'"),
        ("raise SystemExit('bye')\n", "SystemExit: bye"),
        ("x = 1\n", "no class in it is a Connector"),
        (
            f"{connector_text()}\n\nclass Second(Connector):\n    pass\n",
            "several classes in it are Connectors",
        ),
        (HALF, "`Half` lacks open"),
    ],
    ids=["syntax", "import", "exit", "no class", "two classes", "half a class"],
)
def test_a_broken_connector_of_the_project_is_told_with_its_place(
    tmp_path: Path, text: str, problem: str
) -> None:
    project_with(tmp_path, "numbers", text)

    with pytest.raises(BrokenConnector) as caught:
        connector_class("numbers", tmp_path, PLACE)

    assert str(caught.value) == f"connector `numbers` cannot be loaded: {problem}"
    assert caught.value.places == (PLACE,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("thing = 5\n", "`5` is no Connector"),
        ("import nowhere\n", "ModuleNotFoundError: No module named 'nowhere'"),
        ("", "AttributeError: module 'acme' has no attribute 'thing'"),
    ],
    ids=["another thing", "import", "no such name"],
)
def test_a_package_that_gives_no_connector_is_told_with_its_place(
    tmp_path: Path, text: str, problem: str
) -> None:
    with (
        installed_package(tmp_path, {"acme.py": text}, "acme = acme:thing"),
        pytest.raises(BrokenConnector) as caught,
    ):
        connector_class("acme", None, PLACE)

    assert str(caught.value) == f"connector `acme` cannot be loaded: {problem}"
    assert caught.value.places == (PLACE,)


def test_a_connector_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    project_with(tmp_path, "numbers", connector_text())

    with pytest.raises(UnknownConnector) as caught:
        connector_class("numbres", tmp_path, PLACE)

    assert caught.value.hint == "did you mean `numbers`?"


def test_a_base_class_of_the_author_is_no_second_connector(tmp_path: Path) -> None:
    text = f"{connector_text()}\n\nclass Better(NumbersConnector):\n    summary = 'counts better'\n"
    project_with(tmp_path, "numbers", text)

    assert connector_class("numbers", tmp_path, PLACE).summary == "counts better"
    assert listed(tmp_path)["numbers"].summary == "counts better"


def test_a_description_has_every_key_also_those_inside_others(tmp_path: Path) -> None:
    text = connector_text(config=CONFIG).replace("\nclass NumbersConfig", f"\n{MODELS}", 1)
    project_with(tmp_path, "numbers", text)

    found = describe_connector("numbers", connector_class("numbers", tmp_path, PLACE))

    told = [(key.path, key.type, key.default, key.secrets, key.when) for key in found.keys]
    assert told == [
        ("url", "text", None, "may", ""),
        ("token", "text", None, "must", ""),
        ("kind", "`fast`, `slow`", '"fast"', "no", ""),
        ("every", "duration", '"1d"', "no", ""),
        ("headers", "table of text", "{}", "may", ""),
        ("pages", "list of table", None, "no", ""),
        ("pages[].number", "whole number", None, "no", ""),
        ("pages[].is_last", "true or false", "false", "no", ""),
        ("auth", "table", None, "no", ""),
        ("auth.type", "`bearer`", None, "no", "type = bearer"),
        ("auth.token", "text", None, "must", "type = bearer"),
        ("auth.type", "`basic`", None, "no", "type = basic"),
        ("auth.user", "text", None, "no", "type = basic"),
    ]
    assert [key.path for key in found.keys if key.is_required][:2] == ["url", "pages"]
    assert found.example == (
        "[[pipeline]]\n"
        'id = "numbers-example"\n'
        'source = { connector = "numbers", '
        'config = { url = "https://${HOST}/v1", pages = [{ number = 7 }] } }\n'
        'tables = ["a_table"]\n'
        'secrets = ["HOST"]'
    )


@pytest.mark.parametrize("name", [name for name in BUILT_IN if listed(None)[name].summary])
def test_the_example_of_a_built_in_connector_is_a_pipeline(name: str) -> None:
    kind = connector_class(name, None, PLACE)

    block = tomllib.loads(describe_connector(name, kind).example)["pipeline"][0]

    assert parse_pipeline(block, origin="example").source.config == example_config(kind.Config)


def test_a_connector_is_not_shared_between_projects_of_one_process(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        project_with(tmp_path / name, "numbers", connector_text().replace("to five", f"in {name}"))

    kinds = [connector_class("numbers", tmp_path / name, PLACE) for name in ("one", "two")]

    assert [kind.summary for kind in kinds] == ["counts in one", "counts in two"]
