"""What is to be done with pipelines: plan it, and look at what it would give."""

from hakiri.pipelines.plan import Action, Plan, PlannedPipeline, plan_project
from hakiri.pipelines.preview import Preview, check_preview, preview_pipeline

__all__ = [
    "Action",
    "Plan",
    "PlannedPipeline",
    "Preview",
    "check_preview",
    "plan_project",
    "preview_pipeline",
]
