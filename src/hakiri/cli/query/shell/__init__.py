"""The shell of `hakiri query`: one question after the other, on a terminal."""

from __future__ import annotations

from hakiri.cli.query.shell.loop import run_shell

__all__ = ["run_shell"]
