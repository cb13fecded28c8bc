"""Which connectors there are, without loading any: each says what it is in a line of its own source text."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from hakiri.sources.registry import BUILT_IN, ENTRY_POINTS, Known, Origin, known_connectors

# A package may give its class on through some modules, as `from pkg.connector import ShopConnector`.
MOST_HOPS = 4
SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A connector that can be named. `problem` says why its file cannot even be read."""

    name: str
    origin: Origin
    where: str
    summary: str
    problem: str = ""


def list_connectors(root: Path | None) -> tuple[Listed, ...]:
    """Every connector by name; a broken one is listed like the others. `root` is the project's folder."""
    packaged = {point.name: (point.module, point.attr) for point in entry_points(group=ENTRY_POINTS)}
    return tuple(_listed(known, root, packaged) for known in known_connectors(root).values())


def _listed(known: Known, root: Path | None, packaged: dict[str, tuple[str, str]]) -> Listed:
    summary = problem = ""
    try:
        if known.origin is Origin.PROJECT and root is not None:
            summary = _summary_of_any(root / known.where)
        elif known.origin is Origin.PACKAGE:
            summary = _summary_of(*packaged[known.name])
        else:
            module, _, attribute = BUILT_IN[known.name].partition(":")
            summary = _summary_of(module, attribute)
    except (OSError, SyntaxError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
    return Listed(name=known.name, origin=known.origin, where=known.where, summary=summary, problem=problem)


def _summary_of_any(path: Path) -> str:
    """The summary of the last class that has one: a base class stands before what is built on it."""
    tree = ast.parse(path.read_bytes(), path.name)
    found = [_summary_in(node) for node in tree.body if isinstance(node, ast.ClassDef)]
    return next((summary for summary in reversed(found) if summary), "")


def _summary_of(module: str, attribute: str, hops: int = MOST_HOPS) -> str:
    path = _file_of(module)
    if path is None or not hops:
        return ""
    for node in ast.parse(path.read_bytes(), path.name).body:
        if isinstance(node, ast.ClassDef) and node.name == attribute:
            return _summary_in(node)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == attribute:
                    return _summary_of(_module_of(node, module, path), alias.name, hops - 1)
    return ""


def _summary_in(node: ast.ClassDef) -> str:
    for step in node.body:
        targets: Sequence[ast.expr] = (
            step.targets
            if isinstance(step, ast.Assign)
            else [step.target]
            if isinstance(step, ast.AnnAssign)
            else ()
        )
        is_summary = any(isinstance(target, ast.Name) and target.id == SUMMARY for target in targets)
        value = getattr(step, "value", None)
        if is_summary and isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    return ""


def _module_of(node: ast.ImportFrom, module: str, path: Path) -> str:
    """The whole name of the module that an import takes from, its dots at the start counted out."""
    if not node.level:
        return node.module or ""
    parts = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _file_of(module: str) -> Path | None:
    """Where the text of a module is. Only the finder of the top package is asked, so nothing is imported."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        path = Path(folder, *rest)
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if candidate.is_file():
                return candidate
    return None
