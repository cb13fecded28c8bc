"""Shell completion: `--show-completion [SHELL]` and `--install-completion [SHELL]`."""

from __future__ import annotations

from typing import Any

import typer

from hakiri.core.errors import UsageError

SHELLS = ("bash", "fish", "powershell", "pwsh", "zsh")
COMPLETION_VARIABLE = "_HAKIRI_COMPLETE"
CURRENT_SHELL = "current"
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")


def with_shell_named(args: list[str]) -> list[str]:
    """`args` with a shell after a completion option that ends them, for its value may be left out."""
    return [*args, CURRENT_SHELL] if args and args[-1] in COMPLETION_OPTIONS else args


def show_completion(ctx: typer.Context, param: Any, value: str | None) -> None:
    """Print the script that teaches the shell our commands, then end."""
    if value is None or ctx.resilient_parsing:
        return
    from typer.completion import show_callback

    show_callback(ctx, param, _shell(value, option="--show-completion"))


def install_completion(ctx: typer.Context, param: Any, value: str | None) -> None:
    """Write that script where the shell finds it, then end."""
    if value is None or ctx.resilient_parsing:
        return
    from typer.completion import install_callback

    install_callback(ctx, param, _shell(value, option="--install-completion"))


def answer_shell(command: Any, *, program: str) -> None:
    """Answer the shell that asks for completions through the environment, then end."""
    from typer.completion import get_completion_inspect_parameters

    get_completion_inspect_parameters()  # typer knows its shells only once it has made its own options
    command.main([], prog_name=program, complete_var=COMPLETION_VARIABLE)


SHOW_COMPLETION = typer.Option(
    None,
    "--show-completion",
    metavar="[SHELL]",
    callback=show_completion,
    is_eager=True,
    expose_value=False,
    help="Print the completion script, by default for the current shell.",
)
INSTALL_COMPLETION = typer.Option(
    None,
    "--install-completion",
    metavar="[SHELL]",
    callback=install_completion,
    is_eager=True,
    expose_value=False,
    help="Install completion, by default for the current shell.",
)


def _shell(name: str, *, option: str) -> str:
    if name == CURRENT_SHELL:
        name = _current_shell(option)
    if name not in SHELLS:
        raise UsageError(
            f"there is no completion for the shell `{name}`", hint=f"choose one of: {', '.join(SHELLS)}"
        )
    return name


def _current_shell(option: str) -> str:
    import shellingham  # type: ignore[import-untyped, unused-ignore]  # comes with typer

    try:
        return str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure as error:
        raise UsageError(
            "cannot tell which shell this is", hint=f"name it: `hakiri {option} bash`"
        ) from error
