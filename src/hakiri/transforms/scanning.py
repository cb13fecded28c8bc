"""What can be known of the author's files without running them: which there are, whom they serve, their hash.

`hakiri plan` asks this of a hundred pipelines, so nothing here imports Spark or an author's file.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hakiri.transforms.authoring import Target
from hakiri.transforms.places import FOLDER

PYTHON_SUFFIX, SQL_SUFFIX = ".py", ".sql"
DIRECTIVE = re.compile(r"--\s*@(\w+)\s*:\s*(.*?)\s*$")
DIRECTIVES = ("pipeline", "table")


def transform_files(root: Path) -> list[Path]:
    """The author's files by name, without the hidden ones that editors leave beside them."""
    return sorted(
        path
        for path in (root / FOLDER).glob("*")
        if path.suffix in (PYTHON_SUFFIX, SQL_SUFFIX) and path.is_file() and not path.name.startswith(".")
    )


def sql_directives(text: str) -> list[tuple[int, str, str]]:
    """The comments `-- @name: value` at the head of an SQL file: line, name and value of each."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if match := DIRECTIVE.match(line.strip()):
            found.append((number, match[1], match[2]))
        elif line.strip() and not line.strip().startswith("--"):
            break
    return found


def sql_target(text: str) -> Target | None:
    """Whom an SQL file serves, as its head says; None without a pipeline there."""
    values = {name: value for _, name, value in sql_directives(text)}
    return Target(values["pipeline"], values.get("table")) if values.get("pipeline") else None


def sources_of(root: Path, pipeline: str) -> list[Path]:
    """The files with a step of this pipeline, as far as their text tells, with the helpers they import."""
    serving = [path for path in transform_files(root) if pipeline in set(_pipelines_in(path))]
    return with_helpers(root, serving)


def with_helpers(root: Path, files: Sequence[Path]) -> list[Path]:
    """The files, and every one beside them that they import, directly or not; by name."""
    beside = {path.stem: path for path in transform_files(root) if path.suffix == PYTHON_SUFFIX}
    found: set[Path] = set()
    ahead = list(files)
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            ahead += [beside[name] for name in _imported(path) if name in beside]
    return sorted(found)


def source_hash(root: Path, files: Sequence[Path]) -> str:
    """`sha256:` of the file's bytes; of several files, of the list of their hashes with their names."""
    hashes = {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    if len(hashes) == 1:
        return f"sha256:{next(iter(hashes.values()))}"
    listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return f"sha256:{hashlib.sha256(listed.encode()).hexdigest()}"


def _pipelines_in(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8", errors="replace")
    if path.suffix == SQL_SUFFIX:
        target = sql_target(text)
        if target is not None:
            yield target.pipeline
        return
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and _is_pipeline(decorator.func) and decorator.args:
                    value = decorator.args[0]
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield value.value


def _is_pipeline(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name == "pipeline"


def _imported(path: Path) -> Iterator[str]:
    if path.suffix != PYTHON_SUFFIX:
        return
    for node in ast.walk(_parsed(path.read_text("utf-8", errors="replace"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.module.partition(".")[0]
            else:
                yield from (alias.name for alias in node.names)


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        # Whoever runs the file tells what is wrong with it, and where.
        return ast.Module(body=[], type_ignores=[])
