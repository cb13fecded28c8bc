"""What a command is given: everything the process knows, as one value that never changes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import typer

    from hakiri.cli.console import Console
    from hakiri.core.clock import Clock

MANIFEST_NAME = "hakiri.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The surroundings of one command. A command reads these and nothing else of the process."""

    project_dir: Path
    cwd: Path
    """Where relative paths on the command line start: the folder given with `-C`, else the current one."""
    env: Mapping[str, str]
    flags: Mapping[str, str]
    """What `--set KEY=VALUE` gave, by setting."""
    stdin: TextIO
    console: Console
    clock: Clock

    @property
    def is_quiet(self) -> bool:
        return self.console.is_quiet

    @property
    def is_verbose(self) -> bool:
        return self.console.is_verbose


def app_of(ctx: typer.Context) -> App:
    """The surroundings that the frame gave to this command."""
    app = ctx.find_object(App)
    if app is None:
        raise TypeError("this command was not started by the `hakiri` frame")
    return app


def find_project(start: Path) -> Path:
    """The nearest folder from `start` upwards that holds a manifest, else `start` itself."""
    folders = (start, *start.parents)
    return next((folder for folder in folders if os.path.lexists(folder / MANIFEST_NAME)), start)


def with_options(
    app: App,
    *,
    project_dir: str | None = None,
    is_quiet: bool = False,
    is_verbose: bool = False,
    settings: Sequence[str] = (),
) -> App:
    """`app` as the global options ask for it; what they leave out stays as it was."""
    console = replace(
        app.console,
        is_quiet=app.console.is_quiet or is_quiet,
        is_verbose=app.console.is_verbose or is_verbose,
    )
    if console.is_quiet and console.is_verbose:
        raise UsageError("`--quiet` and `--verbose` exclude each other", hint="keep one of them")
    if project_dir is not None:
        folder = _existing_dir(app.cwd / project_dir)
        app = replace(app, cwd=folder, project_dir=folder)
    return replace(
        app,
        flags=MappingProxyType({**app.flags, **dict(_setting(text) for text in settings)}),
        console=console,
    )


def _existing_dir(path: Path) -> Path:
    if not path.is_dir():
        raise UsageError(f"there is no folder `{path}`", hint="give the folder of the project to `-C`")
    return path.resolve()


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise UsageError(
            f"`--set {text}` does not name a setting and its value", hint="write `--set KEY=VALUE`"
        )
    return key.strip(), value
