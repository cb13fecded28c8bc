"""Whose budget is whose."""

from __future__ import annotations

from hakiri.core.ids import PipelineId


def budget_name(pipeline: PipelineId) -> str:
    """Under which name the catalog keeps the budget of a pipeline's source: each pipeline has its own."""
    return f"source/{pipeline}"
