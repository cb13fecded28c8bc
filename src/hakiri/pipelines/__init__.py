"""What is to be done with pipelines: plan it, and look at what it would give.

The names are loaded when they are first used: a plan needs neither Spark nor Arrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.pipelines.plan import Action, Plan, PlannedPipeline, checked_specs, plan_project
    from hakiri.pipelines.preview import Preview, Prospect, preview_rows, ready_to_preview
    from hakiri.pipelines.results import ResultSchema, result_schemas

_HOMES = {
    "Action": "plan",
    "Plan": "plan",
    "PlannedPipeline": "plan",
    "Preview": "preview",
    "Prospect": "preview",
    "ResultSchema": "results",
    "checked_specs": "plan",
    "plan_project": "plan",
    "preview_rows": "preview",
    "ready_to_preview": "preview",
    "result_schemas": "results",
}

__all__ = [
    "Action",
    "Plan",
    "PlannedPipeline",
    "Preview",
    "Prospect",
    "ResultSchema",
    "checked_specs",
    "plan_project",
    "preview_rows",
    "ready_to_preview",
    "result_schemas",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
