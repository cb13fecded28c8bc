"""One display for all pipelines and chunks in flight: a board on a terminal, lines elsewhere."""

from __future__ import annotations

from hakiri.cli.board.board import Board

__all__ = ["Board"]
