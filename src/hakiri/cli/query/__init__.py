"""`hakiri query`: the store in SQL, one question at a time or in a shell."""

from __future__ import annotations

from hakiri.cli.query.command import cli

__all__ = ["cli"]
