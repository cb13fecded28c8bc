"""Loading the author's files: `transforms/*.py` of a project."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.transforms.authoring import PIPELINE_MARK, Transform
from hakiri.transforms.errors import BrokenTransform, UnknownPipelineInTransform

FOLDER = "transforms"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTransform:
    """One step of one pipeline, and where it is written."""

    pipeline: str
    function: Transform
    place: Place


def transform_files(root: Path) -> list[Path]:
    return sorted((root / FOLDER).glob("*.py"))


def load_transforms(root: Path, pipelines: Collection[str]) -> list[LoadedTransform]:
    """Every step in `transforms/*.py`, by file and then by line: the order in which steps compose.

    Runs the author's files. Raises BrokenTransform with the line that failed, and
    UnknownPipelineInTransform for a step of no pipeline: a misspelt id must not pass for «no transform».
    """
    loaded = [step for path in transform_files(root) for step in _steps_in(path, root)]
    for step in loaded:
        if step.pipeline not in pipelines:
            raise UnknownPipelineInTransform(step.place, step.pipeline, nearest(step.pipeline, pipelines))
    return loaded


def _steps_in(path: Path, root: Path) -> Iterator[LoadedTransform]:
    module = _run(path, root)
    steps = [
        (value.__code__.co_firstlineno, value)
        for value in vars(module).values()
        if hasattr(value, PIPELINE_MARK) and value.__module__ == module.__name__
    ]
    for line, function in sorted(steps, key=lambda step: step[0]):
        place = Place(path.relative_to(root).as_posix(), line)
        yield LoadedTransform(pipeline=getattr(function, PIPELINE_MARK), function=function, place=place)


def _run(path: Path, root: Path) -> ModuleType:
    # A name of our own: two projects in one process may both have a file `orders.py`.
    name = f"hakiri_project_transforms.{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BrokenTransform(Place(str(path)), "it is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BrokenTransform(_place_of(error, path, root), f"{type(error).__name__}: {error}") from error
    finally:
        del sys.modules[name]
    return module


def _place_of(error: Exception, path: Path, root: Path) -> Place:
    """The last line of the author's own file that was on the way to the error."""
    file = path.relative_to(root).as_posix()
    if isinstance(error, SyntaxError):
        return Place(file, error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return Place(file, lines[-1] if lines else None)
