"""The rooms stack as `.importlinter` says, and nothing stands outside its contracts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import MappingProxyType

from importlinter.api import read_configuration

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hakiri"
CONTRACTS = read_configuration(str(ROOT / ".importlinter"))["contracts_options"]

# Libraries that are not in pyproject.toml because one that is there always brings them.
COMES_WITH = MappingProxyType(
    {"numpy": "pandas", "pydantic_core": "pydantic", "pygments": "rich", "shellingham": "typer"}
)
# Libraries that only some users need, and the extra of pyproject.toml that brings them.
EXTRA_OF = MappingProxyType(
    {
        "adbc_driver_manager": "sql",
        "adbc_driver_postgresql": "sql",
        "adbc_driver_sqlite": "sql",
        "hypothesis": "testing",
        "psycopg": "postgres",
        "pytest": "testing",
    }
)
# Libraries whose package has another name than what is imported.
PACKAGE_OF = MappingProxyType({"google": "protobuf", "opentelemetry": "opentelemetry_sdk"})


def libraries_in(source: str) -> set[str]:
    """The packages that a module imports, at its top or anywhere inside, and that are not Python's own."""
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module)
    return {name.partition(".")[0] for name in imported} - sys.stdlib_module_names - {"hakiri"}


def names_of(dependencies: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in dependencies}


def test_the_contracts_hold() -> None:
    lint = Path(sys.executable).parent / "lint-imports"

    done = subprocess.run(
        [lint, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_folder_of_the_package_is_a_room_of_the_contract() -> None:
    layers = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
    rooms = {room for row in layers for room in re.findall(r"\w+", row)}

    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}

    assert folders <= rooms


def test_every_module_of_the_package_lies_in_a_room() -> None:
    assert [path.name for path in PACKAGE.glob("*.py")] == ["__init__.py"]


def test_every_library_that_is_imported_belongs_to_a_room() -> None:
    owned = {name for contract in CONTRACTS for name in contract.get("protected_modules", ())}

    imported = {name for path in PACKAGE.rglob("*.py") for name in libraries_in(path.read_text("utf-8"))}

    assert imported == owned


def test_every_library_that_is_imported_is_a_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = names_of(project["dependencies"])
    owned = {name for contract in CONTRACTS for name in contract.get("protected_modules", ())}
    imported = {PACKAGE_OF.get(name, name) for name in owned}

    undeclared = imported - declared

    assert undeclared == COMES_WITH.keys() | EXTRA_OF.keys()
    assert set(COMES_WITH.values()) <= declared
    extras = project["optional-dependencies"]
    assert [name for name, extra in EXTRA_OF.items() if name not in names_of(extras[extra])] == []
