"""Projects with transforms, compiled as a person would: from files, by the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hakiri.manifest import Project, load_project
from hakiri.transforms import Compiled, compile_project

MANIFEST = """\
[project]
name = "shop"

[[pipeline]]
id = "orders"
source = { connector = "files", config = { path = "data/*.jsonl" } }
tables = ["orders", "items"]
references = { countries = "data/countries.csv" }

[[pipeline]]
id = "refunds"
source = { connector = "files", config = { path = "data/*.jsonl" } }
tables = ["refunds"]
"""
HEAD = "import hakiri as hk\nfrom pyspark.sql import Window, functions as F\n\n\n"
STEP = f'{HEAD}@hk.pipeline("orders")\n'


def project_with(root: Path, texts: Mapping[str, str], manifest: str = MANIFEST) -> Project:
    """A project with these files in `transforms/`; the texts of Python steps begin with HEAD or STEP."""
    (root / "transforms").mkdir(parents=True, exist_ok=True)
    (root / "hakiri.toml").write_text(manifest)
    for name, text in texts.items():
        (root / "transforms" / name).write_text(text)
    return load_project(root)


def compiled_orders(root: Path, texts: Mapping[str, str]) -> Compiled:
    (compiled,) = compile_project(project_with(root, texts))
    return compiled
