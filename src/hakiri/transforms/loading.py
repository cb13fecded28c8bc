"""Loading the author's files: `transforms/*.py` and `transforms/*.sql` of a project."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.transforms.authoring import PIPELINE_MARK, Transform
from hakiri.transforms.errors import BrokenTransform, UnknownPipelineInTransform
from hakiri.transforms.places import FOLDER, place_of_error, words_of_error
from hakiri.transforms.scanning import SQL_SUFFIX, transform_files
from hakiri.transforms.sql_files import sql_steps
from hakiri.transforms.steps import LoadedTransform

# A package of our own: an author's `email.py` must not stand in for Python's.
_PACKAGE = "hakiri_project_transforms"


def load_transforms(root: Path, pipelines: Collection[str]) -> list[LoadedTransform]:
    """Every step of the project, by file and then by line: the order in which steps compose.

    Runs the author's files, which may import each other, with `from helpers import x` or
    `from .helpers import x`. Raises BrokenTransform with the line that failed, and
    UnknownPipelineInTransform for a step of no pipeline: a misspelt id must not pass for «no transform».
    """
    with _importable(root / FOLDER):
        loaded = [
            step
            for path in transform_files(root)
            for step in (sql_steps(path, root) if path.suffix == SQL_SUFFIX else _steps_in(path, root))
        ]
    for step in loaded:
        if step.pipeline not in pipelines:
            raise UnknownPipelineInTransform(step.place, step.pipeline, nearest(step.pipeline, pipelines))
    return loaded


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let the author's files import each other, and forget them all in the end.

    Another project in this process may have files of the same names. And Spark sends the functions of a
    module that nobody can import along with the plan, so they run where there is no such file.
    """
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(folder)]
    before = set(sys.modules)
    sys.modules[_PACKAGE] = package
    # Last, so that no file of the author's hides a module of Python's or of an installed package.
    sys.path.append(str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = [entry for entry in sys.path if entry != str(folder)]
        for name in set(sys.modules) - before:
            if _is_of(sys.modules[name], folder):
                del sys.modules[name]
        del sys.modules[_PACKAGE]


def _is_of(module: ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).is_relative_to(folder)


def _steps_in(path: Path, root: Path) -> Iterator[LoadedTransform]:
    module = _loaded(path, root)
    # By identity: a step with a second name is still one step.
    marked = {
        id(value): value
        for value in vars(module).values()
        if inspect.isfunction(value) and hasattr(value, PIPELINE_MARK) and value.__module__ == module.__name__
    }
    steps = [(inspect.unwrap(step).__code__.co_firstlineno, step) for step in marked.values()]
    for line, function in sorted(steps, key=lambda step: step[0]):
        place = Place(path.relative_to(root).as_posix(), line)
        references = _references(function, place)
        for target in getattr(function, PIPELINE_MARK):
            yield LoadedTransform(
                target=target, function=function, references=references, language="python", place=place
            )


def _references(function: Transform, place: Place) -> tuple[str, ...]:
    """The parameters after the first: reference tables, by their names."""
    _, *others = inspect.signature(function).parameters.values() or (None,)
    for parameter in others:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise BrokenTransform(place, f"`{parameter.name}` cannot be the name of a reference table")
    return tuple(parameter.name for parameter in others if parameter.default is parameter.empty)


def _loaded(path: Path, root: Path) -> ModuleType:
    name = f"{_PACKAGE}.{path.stem}"
    if name in sys.modules:  # another of the author's files has imported it
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BrokenTransform(Place(path.relative_to(root).as_posix()), "it is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        place = place_of_error(error, root) or Place(path.relative_to(root).as_posix())
        raise BrokenTransform(place, words_of_error(error)) from error
    return module
