"""How an error reads: for a person on stderr, and as data on stdout when JSON was asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from hakiri.core.errors import ExitCode, HakiriError, UsageError
from hakiri.core.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence


class Interrupted(HakiriError):
    """Ctrl-C: the person wants the command to end."""

    code = "interrupted"
    exit_code = ExitCode.INTERRUPTED


class SystemRefused(HakiriError):
    """The operating system refused a file or another resource."""

    code = "system"


def as_hakiri_error(error: BaseException) -> HakiriError:
    """Any error in our own words; what nobody foresaw is ours to fix."""
    if isinstance(error, HakiriError):
        return error
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return Interrupted("interrupted")
    if isinstance(error, typer.TyperException):
        return _usage_error(error)
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror.lower()
        return SystemRefused(
            f"{what}: `{error.filename}`" if error.filename else what,
            hint="check that the path is right, that you may use it, and that the disk has room",
        )
    return HakiriError(
        f"{type(error).__name__}: {error}".removesuffix(": "),
        hint=f"run it again with `--verbose` and report what it prints{_where_to_report()}",
    )


def human_text(error: HakiriError) -> str:
    """What a person reads: what is wrong, where, and what to do next."""
    if isinstance(error, Interrupted):
        return "interrupted"
    problems = getattr(error, "problems", ())
    if problems and all(isinstance(problem, HakiriError) for problem in problems):
        return "\n\n".join(human_text(problem) for problem in problems)
    if problems:
        from hakiri.manifest import ManifestInvalid, render_problems

        if isinstance(error, ManifestInvalid):
            return render_problems(error)
    lines = [f"error[{error.code}]: {error}", *(f"  --> {place}" for place in error.places)]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines)


def asks_for_json(args: Sequence[str]) -> bool:
    """Whether `--json` stands among the options; serves also when the rest cannot be parsed."""
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


def _usage_error(error: typer.TyperException) -> UsageError:
    # The vendored click is private to typer, so its errors are told apart by what they carry.
    context: Any = getattr(error, "ctx", None)
    help_hint = f"run `{context.command_path} --help` for what it takes" if context is not None else ""
    if context is None or not hasattr(error, "possibilities"):
        message, choices = _in_our_words(error.format_message())
        return UsageError(message, hint=f"choose one of: {choices}" if choices else help_hint)
    option = str(getattr(error, "option_name", ""))
    known = [name for param in context.command.get_params(context) for name in param.opts if name[:1] == "-"]
    meant = nearest(option, known) if option.startswith("--") else None
    return UsageError(
        f"`{context.command_path}` has no option `{option}`",
        hint=f"did you mean `{meant}`?" if meant else help_hint,
    )


def _in_our_words(text: str) -> tuple[str, str]:
    """A message of typer as one sentence in lower case, and the choices that it lists, if it does."""
    message, _, choices = text.partition(". Choose from:")
    message = re.sub(r"^Got unexpected extra argument\(s\) \((.*)\)$", r"unexpected argument '\1'", message)
    message = re.sub(r"'([^']*)'", r"`\1`", message.replace(": Value error, ", ": ").rstrip("."))
    return message[:1].lower() + message[1:], " ".join(choices.split())


def _where_to_report() -> str:
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("hakiri").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    issues = [url.partition(", ")[2] for url in urls if url.startswith("Issues,")]
    return f" at {issues[0]}" if issues else ""
