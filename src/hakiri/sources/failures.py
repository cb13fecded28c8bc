"""What a connector raises, on its way to a person: without secrets, and a fault of its own with its line."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hakiri.core.errors import HakiriError, Place
from hakiri.core.secrets import Secret, masker
from hakiri.sources.contract import Connector
from hakiri.sources.errors import ConnectorFailed
from hakiri.sources.registry import FOLDER


@contextmanager
def failures_told(
    kind: type[Connector], name: str, root: Path, place: Place, secrets: Iterable[Secret]
) -> Iterator[None]:
    """Let what is raised leave the block without any secret in it or in what it was caused by.

    An error that a connector's own code let through becomes ConnectorFailed, with the line that it came from.
    What did not pass through such code stays what it is, unless a secret in it cannot be masked.
    `place` is where the source is declared.
    """
    masked = masker(secrets)
    try:
        yield
    except HakiriError as error:
        _hide_secrets(error, masked)
        raise
    except Exception as error:
        _hide_secrets(error, masked)
        line, is_clean = _own_line(kind, error, root), _is_clean(error, masked)
        if line is None and is_clean:
            raise
        problem = f"{type(error).__name__}: {masked(str(error))}".removesuffix(": ")
        told = ConnectorFailed(name, " ".join(problem.split()), line or place, is_own_line=line is not None)
        raise told from error if is_clean else None


def _hide_secrets(error: BaseException, masked: Callable[[str], str]) -> None:
    """Mask an error in place, with all it was caused by; a cause that cannot be masked is cut off."""
    error.args = tuple(_masked_part(part, masked) for part in error.args)
    for name, value in vars(error).items():
        setattr(error, name, _masked_part(value, masked))
    for name in ("__cause__", "__context__"):
        cause = getattr(error, name)
        if cause is not None:
            _hide_secrets(cause, masked)
            if not _is_clean(cause, masked):
                setattr(error, name, None)
    for each in _held_by(error):
        _hide_secrets(each, masked)


def _masked_part(part: Any, masked: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return masked(part)
    if isinstance(part, list | tuple) and any(isinstance(item, str) for item in part):
        return type(part)(_masked_part(item, masked) for item in part)
    return part


def _is_clean(error: BaseException, masked: Callable[[str], str]) -> bool:
    """Whether it tells no secret; some errors make their text of more than their arguments."""
    told = "".join(traceback.format_exception_only(error))
    return masked(told) == told and all(_is_clean(each, masked) for each in _held_by(error))


def _held_by(error: BaseException) -> tuple[BaseException, ...]:
    return error.exceptions if isinstance(error, BaseExceptionGroup) else ()


def _own_line(kind: type[Connector], error: BaseException, root: Path) -> Place | None:
    """The last line of the connector's own code that the error passed through; None for code of ours."""
    own = {_package(base.__module__) for base in kind.__mro__ if issubclass(base, Connector)}
    own.discard(_package(__name__))
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if _package(module) in own:
            place = Place(_file_shown(Path(frame.f_code.co_filename), module, root), line)
    return place


def _package(module: str) -> str:
    return module.partition(".")[0]


def _file_shown(path: Path, module: str, root: Path) -> str:
    """The file as its author knows it, also where a task runs what was shipped to it."""
    if path.is_relative_to(root):
        return str(path.relative_to(root))
    return f"{module.replace('.', '/')}.py" if _package(module) == FOLDER else str(path)
