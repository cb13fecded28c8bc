"""Where the process enters: the one place that reads environment, folder, clock and streams."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

import typer

from hakiri.cli.app import App, find_project
from hakiri.cli.commands import root_command
from hakiri.cli.completion import COMPLETION_VARIABLE, answer_shell
from hakiri.cli.console import Console, may_use_colors
from hakiri.cli.failures import as_hakiri_error, asks_for_json, human_text
from hakiri.cli.frame import CURRENT_APP
from hakiri.core.clock import SystemClock
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

PROGRAM = "hakiri"


class Terminated(KeyboardInterrupt):
    """SIGTERM: whoever runs the command wants it to end, and to clean up as after Ctrl-C."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error is told, none escapes."""
    args = list(sys.argv[1:] if argv is None else argv)
    env = MappingProxyType(dict(os.environ))
    # A caller may have closed the streams; Python has None in their place then.
    out, err = _saying_all(sys.stdout), _saying_all(sys.stderr)
    console = Console(
        out=out,
        err=err,
        out_has_colors=may_use_colors(out, env),
        err_has_colors=may_use_colors(err, env),
        env=env,
    )
    with _sigterm_raised():
        code = _run_command(console, args)
    try:
        console.out.flush()
    except BrokenPipeError:
        _forget(console.out, console.err)
    except OSError as error:  # as of a disk that is full
        return _report_failure(console, error, as_json=False)
    return code


def _saying_all(stream: TextIO | None) -> TextIO:
    """A stream that takes every text: signs that its encoding does not have are written as Python does."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")
    return stream or io.StringIO()


@contextmanager
def _sigterm_raised() -> Iterator[None]:
    """Let SIGTERM end the command like Ctrl-C: its Spark job is interrupted, and nothing is left behind."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        # Whoever asks twice means it: cleaning up may itself wait, for example for a stopped terminal.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    is_main = threading.current_thread() is threading.main_thread()  # only that one may have handlers
    if not is_main or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:  # as whoever started us wanted it
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_command(console: Console, args: list[str]) -> int:
    meta: dict[str, Any] = {}
    try:
        command = root_command()
        app = _app_of_this_process(console)
        if app.env.get(COMPLETION_VARIABLE):
            answer_shell(command, program=PROGRAM)
        with command.make_context(PROGRAM, list(args), obj=app) as context:
            meta = context.meta
            result = command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.DONE
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, BrokenPipeError) and _has_reader_gone(console):
            _forget(console.out, console.err)
            return ExitCode.DONE
        latest: App | None = meta.get(CURRENT_APP)
        return _report_failure(latest.console if latest else console, error, as_json=asks_for_json(args))
    return result if isinstance(result, int) else ExitCode.DONE


def _app_of_this_process(console: Console) -> App:
    cwd = Path.cwd()
    return App(
        project_dir=find_project(cwd),
        cwd=cwd,
        env=console.env,
        flags=MappingProxyType({}),
        stdin=sys.stdin or io.StringIO(),
        console=console,
        clock=SystemClock(),
    )


def _report_failure(console: Console, error: BaseException, *, as_json: bool) -> int:
    failure = as_hakiri_error(error)
    if isinstance(error, OSError):
        _forget_what_cannot_be_written(console.out)
    with suppress(OSError):  # nobody listens any more, but the exit code is still read
        if console.is_verbose:
            import traceback

            console.error("".join(traceback.format_exception(error)).rstrip())
        console.error(human_text(failure))
        if as_json:
            from hakiri.cli.reports.failure import error_report

            console.data(error_report(failure))
    return ExitCode.TERMINATED if isinstance(error, Terminated) else failure.exit_code


def _has_reader_gone(console: Console) -> bool:
    """Whether a pipe that we write to is closed; a broken pipe may also be another one, to a server."""
    import select

    streams = select.poll()
    for stream in (console.out, console.err):
        with suppress(OSError, ValueError):  # a stream without a file behind it has no reader
            streams.register(stream.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in streams.poll(0))


def _forget_what_cannot_be_written(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        _forget(stream)


def _forget(*streams: TextIO) -> None:
    # As in `hakiri … | head`: what is still buffered must not fail again when Python ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        with suppress(OSError, ValueError):  # a stream without a file behind it has nothing to forget
            os.dup2(nowhere, stream.fileno())
