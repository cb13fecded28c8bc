"""What all commands share: the global options, help with examples, and did-you-mean.

A command module makes `cli` with `command_door()` or `group_door()` and decorates its functions with
`@cli.command(...)`; its line in `hakiri.cli.commands` makes it known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from hakiri.cli.app import app_of
from hakiri.cli.completion import with_shell_named
from hakiri.cli.options import global_options, take_global_options
from hakiri.cli.texts import spared
from hakiri.core.errors import UsageError
from hakiri.core.nearest import nearest

CURRENT_APP = "hakiri.app"
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Framed:
    """Mixed into typer's commands and groups: reads the global options wherever they stand."""

    def get_params(self, ctx: Any) -> list[Any]:
        own: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        return spared([*own, *global_options()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_shell_named(args))  # type: ignore[misc, no-any-return]

    def invoke(self, ctx: Any) -> Any:
        # The meta data is shared by all levels: whoever reports an error finds the latest app there.
        ctx.meta[CURRENT_APP] = ctx.obj = take_global_options(ctx)
        return super().invoke(ctx)  # type: ignore[misc]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        shared: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            is_shared = param in global_options()
            if record is None or (is_shared and param.is_eager and ctx.parent is not None):
                continue  # the version and completion belong to the help of `hakiri` itself
            if is_shared:
                shared.append(record)
            else:
                (arguments if param.param_type_name == "argument" else options).append(record)
        for title, records in (("Arguments", arguments), ("Options", options), ("Global options", shared)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


class Command(_Framed, TyperCommand):
    """One command, with the global options among its own."""


class Group(_Framed, TyperGroup):
    """A group of commands, with the global options among its own."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is None:
            meant = nearest(args[0], self.list_commands(ctx))
            raise UsageError(
                f"`{ctx.command_path}` has no command `{args[0]}`",
                hint=f"did you mean `{ctx.command_path} {meant}`?"
                if meant
                else f"run `{ctx.command_path} --help` for the commands there are",
            )
        return args[0], command, args[1:]


class Door(typer.Typer):
    """A typer whose commands are all framed."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        return super().command(name, cls=Command, **settings)


def command_door() -> Door:
    """The door of a module that holds one command."""
    return Door(add_completion=False, rich_markup_mode=None)


def group_door(summary: str, *, epilog: str, callback: Callable[..., None] | None = None) -> Door:
    """The door of a module that holds a group of commands.

    `callback` runs when the group is called without a command, if it checks `ctx.invoked_subcommand`; by
    default the group then prints its help.
    """
    return Door(
        cls=Group,
        help=summary,
        epilog=epilog,
        callback=callback or help_when_alone,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
    )


def help_when_alone(ctx: typer.Context) -> None:
    """A group that is called without a command says what it has."""
    if ctx.invoked_subcommand is None:
        app_of(ctx).console.print(ctx.get_help())


def examples(*lines: str) -> str:
    """An epilog that shows `lines` as they are, below `Examples:`."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
