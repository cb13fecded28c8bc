"""Connectors as their authors write them: texts of files, in a project or in an installed package."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent, indent

import pytest

from hakiri.manifest import Project, load_project

# Connectors that are asked at once meet here; one after the other they would wait in vain.
MEETING = threading.Barrier(3)
HEAD = """\
import pyarrow as pa
from pydantic import Field

from hakiri.sources.config import SecretTemplate, SourceConfig
from hakiri.sources.contract import Batch, Connector, Hint, Table
from hakiri.sources.errors import AuthExpired, PermanentFailure

NUMBERS = Table(name="numbers", schema=pa.schema({"n": pa.int64()}), primary_key=("n",))
"""
METHODS = """\
def discover(self, only=None):
    for name in only or ():
        if name != "numbers":
            raise PermanentFailure(f"there is no table `{name}`")
    return [NUMBERS]

def open(self, read):
    self.discover([read.table])
    for start in range(0, min(read.limit or 6, 6), 2):
        yield Batch(rows=pa.RecordBatch.from_pylist([{"n": start}, {"n": start + 1}], schema=NUMBERS.schema))
"""


def connector_text(*, body: str = "", config: str = "pass", name: str = "Numbers") -> str:
    """The text of a connector that counts to five, with parts of it replaced or added."""
    return (
        f"{HEAD}\n\nclass {name}Config(SourceConfig):\n{indent(dedent(config), '    ')}\n\n\n"
        f'class {name}Connector(Connector):\n    Config = {name}Config\n    summary = "counts to five"\n\n'
        f"{indent(METHODS, '    ')}\n{indent(dedent(body), '    ')}"
    )


def project_with(root: Path, connector: str, text: str, *, config: str = "{}", more: str = "") -> Project:
    """A project with one connector of its own, and one pipeline `p` that reads with it."""
    (root / "connectors").mkdir(exist_ok=True)
    (root / "connectors" / f"{connector.replace('-', '_')}.py").write_text(text)
    (root / "hakiri.toml").write_text(
        f'[project]\nname = "shop"\n\n[[pipeline]]\nid = "p"\n'
        f'source = {{ connector = "{connector}", config = {config} }}\ntables = ["numbers"]\n{more}'
    )
    return load_project(root)


@contextmanager
def installed_package(folder: Path, files: Mapping[str, str], entry_points: str) -> Iterator[None]:
    """A distribution `acme-connectors` with these files, as an installer would leave it on the path."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    info = folder / "acme_connectors-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-connectors\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[hakiri.connectors]\n{entry_points}\n")
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {path.partition("/")[0].removesuffix(".py") for path in files}:
            del sys.modules[name]
