"""The options that every command takes, before or after its name."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

from hakiri.cli.app import App, app_of, with_options
from hakiri.cli.completion import INSTALL_COMPLETION, SHOW_COMPLETION

_FIELDS = {
    "global_project_dir": "project_dir",
    "global_quiet": "is_quiet",
    "global_verbose": "is_verbose",
    "global_settings": "settings",
}


def print_version(ctx: typer.Context, value: bool) -> None:
    """Print the version, then end."""
    if value and not ctx.resilient_parsing:
        from hakiri import __version__

        app_of(ctx).console.print(f"hakiri {__version__}")
        raise typer.Exit


def declare_global_options(
    *,
    global_project_dir: Annotated[
        str | None,
        typer.Option("-C", "--project-dir", metavar="DIR", help="Work on the project in this folder."),
    ] = None,
    global_quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Say nothing but errors and what was asked for.")
    ] = False,
    global_verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say more, and show tracebacks.")
    ] = False,
    global_settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set any setting for this call; may be repeated."),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, expose_value=False, help="Print the version."
        ),
    ] = False,
    install: str | None = INSTALL_COMPLETION,
    show: str | None = SHOW_COMPLETION,
) -> None:
    """Only the parameters matter: typer makes the options of every command from them."""


@cache
def global_options() -> tuple[Any, ...]:
    """The options as typer's parser wants them; each command's own parser reads them too."""
    door = typer.Typer(add_completion=False, rich_markup_mode=None)
    door.command()(declare_global_options)
    return tuple(typer.main.get_command(door).params)


def take_global_options(ctx: Any) -> App:
    """The app as the global options at this level ask for it; the command itself never sees them."""
    given = {field: ctx.params.pop(name, None) for name, field in _FIELDS.items()}
    return with_options(app_of(ctx), **{field: value for field, value in given.items() if value is not None})
